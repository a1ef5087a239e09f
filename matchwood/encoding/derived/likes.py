"""Patterns of `like`: read once, with their escapes resolved, and written in one canonical way.

`%` stands for any run of characters, `_` for exactly one code point. The escape character (a backslash unless
the rule names another) makes `%`, `_` and itself ordinary; before any other character, or at the end, it is
an error, as in Spark.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, TypeAlias

from matchwood.errors import LimitExceeded, ParseError

ANY_RUN: Final = 0
ANY_ONE: Final = 1

LONGEST = 10_000
"""In the worst case matching takes the product of both lengths, so that of the pattern is limited."""

Parts: TypeAlias = tuple[str | int, ...]
"""A pattern in pieces: texts, ANY_RUN and ANY_ONE."""


def read_like(pattern: str, escape: str | None = None) -> Parts:
    """The pattern as texts and wildcards; between two texts any run comes last and only once.

    >>> read_like("50!%_%_%a", "!")
    ('50%', 1, 1, 0, 'a')
    """
    if len(pattern) > LONGEST:
        raise LimitExceeded(f"a pattern of like may have at most {LONGEST:,} characters (got {len(pattern):,})")
    mark = escape or "\\"
    if mark not in pattern and "_" not in pattern:
        return _runs_and_texts(pattern)
    parts: list[str | int] = []
    literal: list[str] = []
    for token in _tokens(mark).finditer(pattern):
        text = token.group()
        if text.startswith(mark):
            literal.append(_escaped(pattern, token.start(), mark))
        elif text[0] in "%_":
            parts += ["".join(literal)] if literal else []
            parts += [ANY_ONE] * text.count("_") + [ANY_RUN] * ("%" in text)
            literal.clear()
        else:
            literal.append(text)
    return (*parts, "".join(literal)) if literal else tuple(parts)


def _runs_and_texts(pattern: str) -> Parts:
    """The parts of a pattern that has no other wildcard than `%`, and no escapes."""
    texts = pattern.split("%")
    parts: list[str | int] = [texts[0]] if texts[0] else []
    for text in texts[1:]:
        if not parts or parts[-1] != ANY_RUN:
            parts.append(ANY_RUN)
        if text:
            parts.append(text)
    return tuple(parts)


def write_like(parts: Parts) -> str:
    """The canonical pattern, with backslashes where they are needed.

    >>> print(write_like(("50%", ANY_RUN)))
    50\\%%
    """
    return "".join("%_"[part] if isinstance(part, int) else _protected(part) for part in parts)


@lru_cache(maxsize=256)
def _tokens(mark: str) -> re.Pattern[str]:
    """An escaped character, a run of wildcards, or a text without either."""
    wild = "".join(character for character in "%_" if character != mark)
    escaped = re.escape(mark)
    return re.compile(f"{escaped}.?|[{wild}]+|[^%_{escaped}]+", re.DOTALL)


def _protected(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _escaped(pattern: str, position: int, mark: str) -> str:
    character = pattern[position + 1 : position + 2]
    if character and character in ("%", "_", mark):
        return character
    raise ParseError(
        pattern,
        offset=position,
        found=mark + character,
        expected=f"%, _ or {mark} after the escape character",
        hint=f"write {mark}{mark} for the character itself",
    )
