"""Text to tokens, one at a time, and the cursor that the grammar reads them with.

Every repetition in the pattern is possessive, so a token costs time linear in its length whatever follows.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from matchwood.errors import ParseError

_QUOTED = r'(?:`[^`]*+(?:``[^`]*+)*+`|"[^"]*+(?:""[^"]*+)*+")'

_TOKEN = re.compile(
    rf"""\s*+(?:
      (?P<word>[^\W\d]\w*+(?:\.\w++)*+)(?!\.[`"])
    | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+)(?![\w.])
    | (?P<string>'[^']*+(?:''[^']*+)*+')
    | (?P<symbol>===|!==|<=>|=>|=<|==|=~|<>|<=|>=|!=|!~|&&|\|\||::|->|--|/\*|[-=<>!&|~^+*/%(),;])
    | (?P<path>(?:[^\W\d]\w*+|{_QUOTED})(?:\.(?:\w++|{_QUOTED}))*+)
    | (?P<misspelt>\.?[0-9][\w.]*+)
    | (?P<unclosed>['`"][^\n]{{0,30}}+)
    | (?P<end>\Z)
    | (?P<other>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_PATH_KEY = re.compile(r'`([^`]*+(?:``[^`]*+)*+)`|"([^"]*+(?:""[^"]*+)*+)"|(\w++)')

END_OF_TEXT = "end of text"
_SHOWN = 40


class Token(NamedTuple):
    """A piece of text. `kind` is the group of the pattern it belongs to; `keyword` the word in lower case, or ''."""

    kind: str
    text: str
    start: int
    end: int
    keyword: str

    def shown(self) -> str:
        """The token as an error shows it."""
        if self.kind == "end":
            return END_OF_TEXT
        return shortened(self.text)


def shortened(text: str) -> str:
    """A piece of a rule, as much of it as a message shows."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def read_token(text: str, position: int) -> Token:
    """The token at or after `position`; at the end of the text a token of kind `end`."""
    found = _TOKEN.match(text, position)
    assert found is not None, "the last alternative takes any character"
    kind = str(found.lastgroup)
    content = found[kind]
    keyword = content.lower() if kind == "word" and content.isascii() else ""
    return Token(kind, content, found.start(kind), found.end(), keyword)


def path_keys(path: str) -> tuple[str, ...]:
    """The keys of a path that has quoted parts."""
    keys = []
    for found in _PATH_KEY.finditer(path):
        if found[1] is not None:
            keys.append(found[1].replace("``", "`"))
        else:
            keys.append(found[3] if found[2] is None else found[2].replace('""', '"'))
    return tuple(keys)


class Cursor:
    """A place in a text and the token that stands there."""

    __slots__ = ("text", "token")

    def __init__(self, text: str, token: Token) -> None:
        self.text = text
        self.token = token

    def advance(self) -> Token:
        """Step over the token and return it."""
        passed = self.token
        self.token = read_token(self.text, passed.end)
        return passed

    def after(self) -> Token:
        """The token behind this one."""
        return read_token(self.text, self.token.end)

    def error(self, expected: str, hint: str | None = None, token: Token | None = None) -> ParseError:
        """What should stand here, or at `token`, instead of what does."""
        return error_at(self.text, token or self.token, expected, hint)


def place_of(text: str, offset: int) -> str:
    """An offset as people count: `line 2, column 5`."""
    return f"line {text.count(chr(10), 0, offset) + 1}, column {offset - text.rfind(chr(10), 0, offset)}"


def error_at(text: str, token: Token, expected: str, hint: str | None = None) -> ParseError:
    return ParseError(text, offset=token.start, found=token.shown(), expected=expected, hint=hint)
