"""The oracle's patterns: `like` and `ilike` by hand, over code points; `rlike` by RE2.

In `like`, `%` stands for any run of characters, `_` for exactly one code point, and the escape character
(a backslash unless `escape` names another) makes `%`, `_` and itself ordinary. Before any other character,
or at the end, it is an error, as in Spark; DuckDB and Arrow read it in other ways, each its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.errors import ParseError

ANY_ONE: Final = "one"
ANY_RUN: Final = "run"

SHORT: Final = 1_024
"""Results are kept for texts and patterns of that many characters: 10,000 of a megabyte would fill the memory."""


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    """Whether the whole text fits the pattern.

    >>> like("50% off", "50\\\\% %"), like("50 off", "50\\\\% %"), like("a_c", "a!_c", "!")
    (True, False, True)
    """
    return _fits(text, _read(pattern, escape or "\\"))


def ilike(text: str, pattern: str, escape: str | None = None) -> bool:
    """As `like`, after each code point of both was lowercased on its own.

    >>> ilike("STRASSE", "str%"), ilike("İ", "i")
    (True, True)
    """
    tokens = tuple(token if token in (ANY_ONE, ANY_RUN) else _lower(token) for token in _read(pattern, escape or "\\"))
    return _fits("".join(map(_lower, text)), tokens)


def rlike(text: str, pattern: str) -> bool:
    """Whether RE2 finds the pattern anywhere in the text.

    >>> rlike("mango", "^m.*o$"), rlike("mango", "x")
    (True, False)
    """
    return (_found_before if len(text) + len(pattern) <= SHORT else _found)(text, pattern)


def _found(text: str, pattern: str) -> bool:
    try:
        return bool(pc.match_substring_regex(pa.scalar(text, pa.string()), pattern).as_py())
    except pa.ArrowInvalid as error:
        raise ParseError(pattern, offset=0, found=pattern, expected=f"a regular expression of RE2 ({error})") from None


_found_before = lru_cache(maxsize=10_000)(_found)


def _read(pattern: str, escape: str) -> tuple[str, ...]:
    return (_read_before if len(pattern) <= SHORT else _tokens)(pattern, escape)


def _tokens(pattern: str, escape: str) -> tuple[str, ...]:
    """The pattern cut into ordinary characters and the two wildcards, which are longer than a character."""
    tokens, position = [], 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            character = pattern[position : position + 1]
            if character not in ("%", "_", escape):
                raise ParseError(
                    pattern,
                    offset=position - 1,
                    found=escape + character,
                    expected=f"%, _ or {escape} after the escape character",
                    hint=f"write {escape}{escape} for the character itself",
                )
            tokens.append(character)
        else:
            tokens.append({"%": ANY_RUN, "_": ANY_ONE}.get(character, character))
        position += 1
    return tuple(tokens)


_read_before = lru_cache(maxsize=10_000)(_tokens)


def _fits(text: str, tokens: tuple[str, ...]) -> bool:
    """Greedy from left to right; on a dead end the last run of any characters takes one more."""
    at, token, run, resume = 0, 0, -1, 0
    while at < len(text):
        if token < len(tokens) and tokens[token] == ANY_RUN:
            run, resume = token, at
            token += 1
        elif token < len(tokens) and tokens[token] in (ANY_ONE, text[at]):
            at, token = at + 1, token + 1
        elif run >= 0:
            resume += 1
            at, token = resume, run + 1
        else:
            return False
    return all(rest == ANY_RUN for rest in tokens[token:])


def _lower(character: str) -> str:
    """The simple lower case of one code point: `İ` has two in Python's full mapping, of which the first counts."""
    return character.lower()[0]
