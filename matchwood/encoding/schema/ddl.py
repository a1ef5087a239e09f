"""Types as text: `array<string>`, and whole schemas: `age int, tags array<string>, geo struct<city: string>`."""

from __future__ import annotations

import re
from typing import NamedTuple

from matchwood.errors import InvalidArgument

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^']|'')*')|([^\s<>,:()`']+)|([<>,:()]))", re.UNICODE)
_PARAMETERS = re.compile(r"\s*\([\s\d,]*\)")
_BRACKETED = re.compile(r"(?:list|array)\[(\w+)\]|(\w+)\[\]")


class TypeText(NamedTuple):
    """A type as written: `fields` of a struct, the element of an array (`list`), key and value of a map."""

    spelling: str
    fields: list[tuple[str, TypeText]]

    def __str__(self) -> str:
        return self.spelling


def parse_ddl(text: str) -> list[tuple[str, TypeText]]:
    """The fields of a schema written as DDL.

    >>> [(name, str(kind)) for name, kind in parse_ddl("age int not null, `odd name` array<string>")]
    [('age', 'int'), ('odd name', 'array')]
    """
    return _Reader(text).fields()


def parse_type(text: str) -> TypeText:
    """A single type."""
    fields = parse_ddl(f"x {text}")
    if len(fields) != 1:
        raise InvalidArgument(f"schema: {text!r:.100} is not a type")
    return fields[0][1]


def _bracketed(spelling: str) -> TypeText:
    """A type by its name; `list[int]` and `int[]` are lists too, as Python and DuckDB write them."""
    found = _BRACKETED.fullmatch(spelling)
    if found is None:
        return TypeText(spelling, [])
    return TypeText("list", [("element", TypeText(found[1] or found[2], []))])


class _Reader:
    """Reads fields with an explicit stack, so that no nesting is too deep for it."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def fields(self) -> list[tuple[str, TypeText]]:
        result: list[tuple[str, TypeText]] = []
        if not self._peek():
            return result
        stack: list[tuple[str, list[tuple[str, TypeText]]]] = [("struct", result)]
        while stack:
            spelling, fields = stack[-1]
            name = self._field_name(spelling, len(fields))
            made = _bracketed(self._type_name())
            fields.append((name, made))
            if self._accept("<"):
                stack.append((made.spelling, made.fields))
                continue
            self._close(stack)
        return result

    def _close(self, stack: list[tuple[str, list[tuple[str, TypeText]]]]) -> None:
        """After a type: the next field, or the end of as many brackets as end here."""
        while True:
            self._skip_attributes()
            if self._accept(","):
                return
            if len(stack) == 1:
                if self._peek():
                    raise self._unexpected("a comma")
                stack.pop()
                return
            if not self._accept(">"):
                raise self._unexpected("'>'")
            stack.pop()

    def _field_name(self, outer: str, position: int) -> str:
        if outer != "struct":
            return ("key", "value")[position] if position < 2 else str(position)
        token = self._take("a field name")
        self._accept(":")
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def _type_name(self) -> str:
        spelling = self._take("a type").lower()
        parameters = _PARAMETERS.match(self.text, self.position)
        if parameters:
            self.position = parameters.end()
            spelling += "".join(parameters.group().split())
        return spelling

    def _skip_attributes(self) -> None:
        """`NOT NULL` and `COMMENT '…'`, which say nothing that matters here."""
        while self._peek().lower() in ("not", "null", "comment"):
            if self._take("").lower() == "comment":
                self._take("a comment")

    def _accept(self, sign: str) -> bool:
        if self._peek() != sign:
            return False
        self._take(sign)
        return True

    def _peek(self) -> str:
        found = _TOKEN.match(self.text, self.position)
        return found.group().strip() if found else self.text[self.position :].strip()

    def _take(self, expected: str) -> str:
        found = _TOKEN.match(self.text, self.position)
        if not found or (len(expected) > 1 and found.group().strip() in "<>,:()"):
            raise self._unexpected(expected)
        self.position = found.end()
        return found.group().strip()

    def _unexpected(self, expected: str) -> InvalidArgument:
        found = self._peek() or "the end"
        return InvalidArgument(
            f"schema: expected {expected} at character {self.position + 1} of {self.text!r:.100} (found {found!r:.40})"
        )
