"""A text that every match of a pattern contains: what the prefilter looks for before a pattern is tried."""

from __future__ import annotations

import re

from matchwood.encoding.derived.keys import DerivedTest
from matchwood.encoding.derived.likes import read_like

_TOKEN = re.compile(
    r"""
      (?P<escape>  \\ .? )
    | (?P<klass>   \[ \^? \]? (?: \\. | \[:\^?\w+:\] | [^\]\\] )* \] )
    | (?P<open>    \( )
    | (?P<close>   \) )
    | (?P<either>  \| )
    | (?P<repeat>  [*?] | \{ \d+ (?: , \d* )? \} )
    | (?P<plus>    \+ )
    | (?P<other>   [.^$] )
    | (?P<text>    [^\\\[()|*?{+.^$] | [\[{] )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLASS_ESCAPES = frozenset("dDwWsSbBAz")


def required_literal(test: DerivedTest) -> str:
    """The longest such text that is easily found; empty when there is none.

    >>> required_literal(DerivedTest("s", "like", "%abc_de%"))
    'abc'
    >>> required_literal(DerivedTest("s", "rlike", "^x(a|b)+yz*end[0-9]$"))
    'end'
    """
    if test.op == "rlike":
        return _regex_literal(test.operand)
    return max((part for part in read_like(test.operand) if isinstance(part, str)), key=len, default="")


def _regex_literal(pattern: str) -> str:
    """Only what stands outside of groups counts, and a pattern with anything unusual has no literal: never a wrong one.

    Flags, as in (?i), may change what a text means; \\Q, \\x41, \\pL and the like are not worth reading.
    """
    if "\\Q" in pattern or re.search(r"\(\?(?!:|P?<\w)", pattern):
        return ""
    runs, depth = [""], 0
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token.group()
        if kind == "escape":
            if text[1:].isalnum() and text[1:] not in _CLASS_ESCAPES:
                return ""
            kind, text = ("other", "") if text[1:].isalnum() else ("text", text[1:])
        depth += (kind == "open") - (kind == "close")
        if kind == "either" and depth == 0:
            return ""
        if kind == "text" and depth == 0:
            runs[-1] += text
        elif depth == 0 or kind == "open":
            runs[-1] = runs[-1][:-1] if kind == "repeat" else runs[-1]
            runs.append("")
    return max(runs, key=len)
