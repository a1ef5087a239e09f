"""JSON text around the JSON form: reading it strictly, and finding the place that a path leads to.

Python's reader is used as it is, made strict: a repeated key, NaN and numbers beyond a double are errors. Positions
are not kept while reading; when something is wrong, the text is walked once more to the path that the error names.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from matchwood.errors import LimitExceeded, ParseError
from matchwood.language.limits import MAX_DIGITS, MAX_JSON_TEXT
from matchwood.language.numbers import read_decimal
from matchwood.language.operators import OPERATORS

_SHOWN = 40
_ALIASES = {"==": "=", "<>": "!=", "=>": ">=", "=<": "<=", "eq": "=", "ne": "!=", "regexp": "rlike", "nin": "not in"}
_TOKEN = re.compile(
    r"""(?P<space>\s*+)(?:(?P<string>"(?:[^"\\]|\\.)*+")(?P<colon>\s*+:)?|(?P<bracket>[{}\[\],])|[^\s{}\[\],"]++)""",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*+")
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*+")


class JsonPath(NamedTuple):
    """A path into a JSON value, as a list linked from its end: going deeper costs nothing."""

    above: Any
    key: str | int

    def below(self, key: str | int) -> JsonPath:
        return JsonPath(self, key)

    def keys(self) -> list[str | int]:
        keys: list[str | int] = []
        place = self
        while place.above is not None:
            keys.append(place.key)
            place = place.above
        return keys[::-1]

    def __str__(self) -> str:
        return "$" + "".join(map(_step, self.keys()))


ROOT = JsonPath(None, "$")


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


class MisplacedJson(Exception):
    """Something in a JSON value that is no part of an expression, with the path to it."""

    def __init__(self, place: JsonPath, found: object, expected: str, hint: str | None = None) -> None:
        super().__init__(str(place))
        self.place, self.found, self.expected, self.hint = place, found, expected, hint

    def error(self, source: object) -> ParseError:
        """The error that a caller sees, pointing into the JSON text; a value gets the text it would have."""
        text = source if isinstance(source, str) else _dumped(source)
        offset = locate(text, self.place.keys())
        expected = f"{self.expected} at {shortened(str(self.place), 200)}"
        return ParseError(text, offset=offset, found=shown(self.found), expected=expected, hint=self.hint)


def shown(value: object) -> str:
    """A value as an error shows it: its JSON, cut to a line."""
    return value if isinstance(value, str) and len(value) <= _SHOWN else shortened(_dumped(value), _SHOWN)


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _dumped(value: object) -> str:
    """The JSON text of any value; deep, cyclic and foreign ones in as many words as they need."""
    try:
        return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__name__}>", skipkeys=True)
    except (RecursionError, ValueError):
        return f"<{type(value).__name__}>"


def operator_hint(op: object) -> str | None:
    """What was probably meant by an operator that does not exist."""
    if not isinstance(op, str):
        return None
    word = op.strip().lower()
    near = [_ALIASES[word]] if word in _ALIASES else get_close_matches(word, OPERATORS, n=1)
    return f"did you mean {near[0]!r}?" if near else None


def load(text: str) -> Any:
    """The value of a JSON text, read strictly."""
    if len(text) > MAX_JSON_TEXT:
        raise LimitExceeded(f"the JSON text has {len(text):,} characters; the limit is {MAX_JSON_TEXT:,}")
    try:
        return json.loads(
            text,
            parse_int=_integer,
            parse_float=_double,
            parse_constant=_constant,
            object_pairs_hook=_distinct,
        )
    except RecursionError:
        raise LimitExceeded("the JSON text nests deeper than Python's reader goes; write the rule as text") from None
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, error.msg)
    except _Unreadable as error:
        message, hint, place = error.args
        _refuse(text, max(0, text.find(place)), message, hint)


class _Unreadable(Exception):
    """JSON that Python reads but the language does not: a message, a hint, and the text where it stands."""


def _refuse(text: str, offset: int, message: str, hint: str | None = None) -> NoReturn:
    found = text[offset : offset + _SHOWN] or "end of text"
    raise ParseError(text, offset=offset, found=found, expected=f"JSON ({message})", hint=hint) from None


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits")
    return int(digits)


def _double(digits: str) -> float | Decimal:
    if len(digits) > MAX_DIGITS:
        raise LimitExceeded(f"a number has more than {MAX_DIGITS:,} digits")
    value = read_decimal(digits)
    if math.isinf(value):
        raise _Unreadable(f"{shortened(digits, _SHOWN)} is beyond a double", 'write {"double": "Infinity"}', digits)
    return value


def _constant(name: str) -> NoReturn:
    raise _Unreadable(f"{name} is not JSON", f'write {{"double": "{name}"}}', name)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Unreadable(f"the key {repeated!r} occurs twice in one object", None, json.dumps(repeated))
    return value


def locate(text: str, keys: list[str | int]) -> int:
    """The offset of the value that a path leads to in a JSON text; as far along the path as the text goes."""
    position = 0
    for key in keys:
        found = _member(text, position, key) if isinstance(key, str) else _element(text, position, key)
        if found is None:
            break
        position = found
    gap = _SPACE.match(text, position)
    return gap.end() if gap else position


def _member(text: str, position: int, key: str) -> int | None:
    """The offset behind the colon of a key, in the object that begins at `position`."""
    depth = 0
    for found in _TOKEN.finditer(text, position):
        if depth == 1 and found["colon"] and json.loads(found["string"]) == key:
            return found.end()
        depth += (found["bracket"] in ("{", "[")) - (found["bracket"] in ("}", "]"))
        if depth <= 0:
            return None
    return None


def _element(text: str, position: int, index: int) -> int | None:
    """The offset of an element, in the array that begins at `position`."""
    depth = commas = 0
    for found in _TOKEN.finditer(text, position):
        if depth == 1 and commas == index and found["bracket"] not in (",", "]"):
            return found.start() + len(found["space"])
        commas += depth == 1 and found["bracket"] == ","
        depth += (found["bracket"] in ("{", "[")) - (found["bracket"] in ("}", "]"))
        if depth <= 0:
            return None
    return None
