"""The judge's patterns, by Python's regular expressions."""

from __future__ import annotations

import re
from functools import cache

REGEXES = {
    "": "",
    "^$": r"\A\Z",
    ".": ".",
    "^.$": r"\A.\Z",
    "a|b": "a|b",
    "^a": r"\Aa",
    "b$": r"b\Z",
    "[a-c]+": "[a-c]+",
    "^[^a]*$": r"\A[^a]*\Z",
    "a.b": "a.b",
    "(?s)e.b": "(?s:e.b)",
    r"\\": r"\\",
    "^(US|ab)$": r"\A(?:US|ab)\Z",
    "%": "%",
    "日": "日",
}
"""Regular expressions of RE2 and the same in Python, whose `$` also holds before a last line break."""

LIKES = [
    "",
    "%",
    "_",
    "a%",
    "%a",
    "%a%",
    "a_b",
    "a\\_b",
    "a%b",
    "a\\%b",
    "%\\%",
    "__",
    "_%_",
    "ab%",
    "U%",
    "%s",
    "%😀%",
    "É%",
]
ESCAPED = ["a!%b", "a!!b", "%!%", "!_%", "a%"]
"""With the escape character `!`."""


def fits(operator: str, pattern: str, escape: str | None, text: str) -> bool:
    """Whether a text fits a pattern of `like`, `ilike` or `rlike`."""
    if operator == "rlike":
        return re.search(REGEXES[pattern], text) is not None
    low = operator == "ilike"
    return _compiled(pattern, escape or "\\", low).match(lowered(text) if low else text) is not None


def lowered(text: str) -> str:
    """Each code point by itself: the first of what it becomes."""
    return "".join(each.lower()[0] for each in text)


@cache
def _compiled(pattern: str, escape: str, low: bool) -> re.Pattern[str]:
    made, quoted = [], False
    for each in pattern:
        if not quoted and each == escape:
            quoted = True
            continue
        wild = {"%": ".*", "_": "."}.get(each) if not quoted else None
        made.append(wild or re.escape(lowered(each) if low else each))
        quoted = False
    return re.compile("".join(made) + r"\Z", re.DOTALL)
