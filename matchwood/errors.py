"""Every error Matchwood raises on purpose.

MatchwoodError
├── ParseError       (ValueError)   a rule's text or JSON cannot be read
├── InvalidArgument  (ValueError)   a call's argument or option cannot be used
├── TypeConflict     (TypeError)    two rules, or a rule and the schema, disagree on a type
├── EventError       (TypeError)    an event's value does not fit its attribute
├── UnknownRule      (KeyError)     no rule has this id
├── LimitExceeded                   the input is larger than a stated limit
├── CorruptSnapshot  (OSError)      a snapshot's files are damaged or incomplete
└── SnapshotNotFound (FileNotFoundError)  no snapshot is at a path
"""

from __future__ import annotations

from typing import Any


def with_article(word: str) -> str:
    """A word behind its article.

    >>> with_article("int"), with_article("str"), with_article("uint8")
    ('an int', 'a str', 'a uint8')
    """
    return f"{'an' if word[:1].lower() in ('a', 'e', 'i', 'o') else 'a'} {word}"


def kind_in_words(value: object) -> str:
    """What a value is, for a message.

    >>> kind_in_words(5)
    'an int'
    """
    return with_article(type(value).__name__)


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "rule"), counted(1200, "rule")
    ('1 rule', '1,200 rules')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def counted_were(count: int, noun: str) -> str:
    """A number of things to which something happened.

    >>> counted_were(1, "rule"), counted_were(1200, "rule")
    ('1 rule was', '1,200 rules were')
    """
    return f"{counted(count, noun)} {'was' if count == 1 else 'were'}"


class MatchwoodError(Exception):
    """The root of all errors that Matchwood raises on purpose."""


class ParseError(MatchwoodError, ValueError):
    """A rule that cannot be read; points at the place and says what was expected.

    >>> error = ParseError("age => 18", offset=4, found="=>", expected="an operator", hint="write >=")
    >>> error.line, error.column
    (1, 5)
    >>> print(error)
    line 1, column 5: found '=>', expected an operator (write >=)
        age => 18
            ^
    """

    def __init__(self, text: str, *, offset: int, found: str, expected: str, hint: str | None = None) -> None:
        self.text, self.offset = text, offset
        self.found, self.expected, self.hint = found, expected, hint
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(self._message())

    def _message(self) -> str:
        advice = f" ({self.hint})" if self.hint else ""
        head = f"line {self.line}, column {self.column}: found {self.found!r}, expected {self.expected}{advice}"
        return f"{head}\n{self._highlight()}"

    def _highlight(self) -> str:
        """The offending line, cut to a window around the place, with a caret below it."""
        line = self.text.split("\n")[self.line - 1]
        start = max(0, self.column - 1 - 60)
        window = line[start : self.column - 1 + 60].replace("\t", " ")
        return f"    {window}\n    {' ' * (self.column - 1 - start)}^"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_parse_error, (self.text, self.offset, self.found, self.expected, self.hint)


def _rebuild_parse_error(text: str, offset: int, found: str, expected: str, hint: str | None) -> ParseError:
    return ParseError(text, offset=offset, found=found, expected=expected, hint=hint)


class InvalidArgument(MatchwoodError, ValueError):
    """An argument or option that cannot be used; the message names the accepted ones."""


class _ValueMisfit(MatchwoodError, TypeError):
    """What does not fit, where it stands, what was got, and what was expected."""

    def __init__(self, what: str, *, where: str, got: str, expected: str, hint: str | None = None) -> None:
        self.what, self.where, self.got, self.expected, self.hint = what, where, got, expected, hint
        advice = f": {hint}" if hint else ""
        super().__init__(f"{where}: {what!r} must be {expected} (got {got}){advice}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_misfit, (type(self), self.what, self.where, self.got, self.expected, self.hint)


def _rebuild_misfit(
    kind: type[_ValueMisfit], what: str, where: str, got: str, expected: str, hint: str | None = None
) -> _ValueMisfit:
    return kind(what, where=where, got=got, expected=expected, hint=hint)


class TypeConflict(_ValueMisfit):
    """A predicate whose constant contradicts the attribute's declared or inferred type."""


class EventError(_ValueMisfit):
    """An event's value that its attribute's type cannot hold."""


class UnknownRule(MatchwoodError, KeyError):
    """No live rule has this id."""

    def __init__(self, rule_id: object) -> None:
        self.rule_id = rule_id
        super().__init__(rule_id)

    def __str__(self) -> str:
        return f"no rule has the id {self.rule_id!r}"


class LimitExceeded(MatchwoodError):
    """Input beyond a stated limit: refused whole, never half processed."""


class CorruptSnapshot(MatchwoodError, OSError):
    """A snapshot that is damaged, incomplete or not one; names the file and what is wrong with it."""


class SnapshotNotFound(MatchwoodError, FileNotFoundError):
    """No snapshot is at a path: nothing is there, or something else."""
