"""RE2's regular expressions, and `like` patterns, as Java's: what Spark's `rlike` must be given to find the same.

The two share a notation but not its meaning: `$`, `.`, `\\s`, `\\b`, `(?i)`, `[a&&b]` and more differ. So a pattern is
taken apart; each part that stands for one character (a class, an escape, a letter under `(?i)`) is asked of RE2 itself
for every code point there is, and written out as ranges. The rest - groups, alternatives, repetition - the two share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.spark.sql.values import Untranslatable

_TOKEN = re.compile(
    r"""(?P<quote>\\Q(?:(?!\\E).)*(?:\\E)?)
      | (?P<group>\(\?P?<\w+>|\((?!\?))
      | (?P<flags>\(\?[imsU-]*[:)])
      | (?P<anchor>\\[AzbB]|[\^$])
      | (?P<byte>\\C)
      | (?P<escape>\\(?:x\{[0-9A-Fa-f]+\}|x..|[pP]\{[^}]*\}|[pP].|[0-7]{1,3}|.))
      | (?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
      | (?P<dot>\.)
      | (?P<structure>[|)]|[*+?]\??|\{\d+(?:,\d*)?\}\??)
      | (?P<letter>.)""",
    re.VERBOSE | re.DOTALL,
)
_WORD = "[0-9A-Za-z_]"
_EDGE = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NO_EDGE = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_LINE_START, _LINE_END = r"(?<![^\n])", r"(?![^\n])"
_ANY, _LAST = r"[\x{0}-\x{10FFFF}]", 0x10FFFF


def java_regex(pattern: str) -> str:
    """A pattern of RE2 as one of Java that finds itself in the same texts; Java's flags do not matter.

    >>> print(java_regex("^a.$"), java_regex("(?i)k"))
    \\A\\x{61}[^\\x{A}]\\z [\\x{4B}\\x{6B}\\x{212A}]
    """
    return "".join(_translated(pattern))


def _translated(pattern: str) -> Iterator[str]:
    """Flags hold to the end of their group; a group that ends brings back those before it."""
    flags, outer = "", [""]
    for token in _TOKEN.finditer(pattern):
        kind, text = str(token.lastgroup), token[0]
        if kind == "flags":
            changed = _flags(flags, text)
            if text.endswith(":"):
                outer.append(flags)
                yield "(?:"
            flags = changed
        elif kind == "group":
            outer.append(flags)
            yield "(?:"
        elif text == ")":
            flags = outer.pop()
            yield text
        else:
            yield _part(kind, text, flags)


def _part(kind: str, text: str, flags: str) -> str:
    if kind == "structure":
        return text
    if kind == "anchor":
        return _anchor(text, "m" in flags)
    if kind == "byte":
        raise Untranslatable(r"\C stands for one byte, which Java has no word for")
    if kind == "quote":
        return "".join(_letter(each, flags) for each in text[2:].removesuffix(r"\E"))
    if kind == "dot":
        return _ANY if "s" in flags else r"[^\x{A}]"
    return _letter(text, flags) if kind == "letter" else _members(text, "i" in flags)


def _flags(now: str, text: str) -> str:
    """`(?i-m)` and its like; U only changes which of several matches is taken."""
    on, _, off = text[2:-1].partition("-")
    return "".join(flag for flag in "ims" if (flag in on or flag in now) and flag not in off)


def _anchor(text: str, lines: bool) -> str:
    if text in "^$" and lines:
        return _LINE_START if text == "^" else _LINE_END
    return {"^": r"\A", "$": r"\z", r"\b": _EDGE, r"\B": _NO_EDGE}.get(text, text)


def _letter(letter: str, flags: str) -> str:
    if "i" in flags and (letter.lower() != letter.upper()):
        return _members(letter, True)
    return _point(ord(letter))


@lru_cache(maxsize=1_000)
def _members(text: str, any_case: bool) -> str:
    """What RE2 takes for one character of this kind, as ranges."""
    found = pc.match_substring_regex(_all_letters(), rf"(?s{'i' if any_case else ''})\A(?:{text})\z")
    return character_class(_code_points()[found.to_numpy(zero_copy_only=False)])


def character_class(points: NDArray[np.int64]) -> str:
    """Java's class of these code points, in order.

    >>> character_class(np.array([97, 98, 99, 120]))
    '[\\\\x{61}-\\\\x{63}\\\\x{78}]'
    """
    if not len(points):
        return "(?:(?!))"
    breaks = np.flatnonzero(np.diff(points) > 1)
    firsts, lasts = points[np.r_[0, breaks + 1]].tolist(), points[np.r_[breaks, len(points) - 1]].tolist()
    if len(points) == 1:
        return _point(firsts[0])
    return f"[{''.join(_range(*pair) for pair in zip(firsts, lasts, strict=True))}]"


def _range(first: int, last: int) -> str:
    return _point(first) if first == last else f"{_point(first)}-{_point(last)}"


def _point(point: int) -> str:
    return rf"\x{{{point:X}}}"


@lru_cache(maxsize=1)
def _code_points() -> NDArray[np.int64]:
    """All code points but the surrogates, which no text holds."""
    return np.concatenate([np.arange(0xD800), np.arange(0xE000, _LAST + 1)])


@lru_cache(maxsize=1)
def _all_letters() -> pa.Array:
    return pa.array([chr(point) for point in _code_points().tolist()], pa.string())


def java_like(pattern: str, escape: str, any_case: bool) -> str:
    """A pattern of `like` or `ilike` as a regular expression of Java.

    >>> print(java_like("a!%_%", "!", False))
    \\A\\x{61}\\x{25}[\\x{0}-\\x{10FFFF}][\\x{0}-\\x{10FFFF}]*\\z
    """
    parts, letters = [], iter(pattern)
    for letter in letters:
        if letter == escape:
            parts.append(_like_letter(next(letters), any_case))
        else:
            parts.append({"%": _ANY + "*", "_": _ANY}.get(letter) or _like_letter(letter, any_case))
    return rf"\A{''.join(parts)}\z"


def _like_letter(letter: str, any_case: bool) -> str:
    return character_class(_same_lower()[_lower(letter)]) if any_case else _point(ord(letter))


def _lower(letter: str) -> str:
    """The simple lower case of one code point: the language's `ilike` compares by it."""
    return letter.lower()[0]


class _SameLower(dict[str, NDArray[np.int64]]):
    """The code points of one lower case, by it; most letters have no other."""

    def __missing__(self, letter: str) -> NDArray[np.int64]:
        return np.array([ord(letter)])


@lru_cache(maxsize=1)
def _same_lower() -> _SameLower:
    found: dict[str, list[int]] = {}
    for point in _code_points().tolist():
        if (lower := _lower(chr(point))) != chr(point):
            found.setdefault(lower, [ord(lower)]).append(point)
    return _SameLower({lower: np.unique(points) for lower, points in found.items()})
