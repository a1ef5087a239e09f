"""What the tests of the language share: the loader of the text fixtures, and strategies for trees and texts."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from matchwood.language.names import RESERVED, join_path
from matchwood.language.operators import (
    COMPARISONS,
    NO_CONSTANT,
    PATTERNS,
    SEVERAL_CONSTANTS,
    TWO_CONSTANTS,
    WITH_ESCAPE,
)
from matchwood.language.tree import TESTS, And, Constant, Expression, Not, Or, Predicate, Truth, Xnor, Xor

FIXTURES = Path(__file__).parent / "fixtures"


def load_pairs(text: str, least: int) -> list[tuple[str, str]]:
    """The pairs of a fixture: a line `< given` and below it a line `> wanted`; ⏎ stands for a line break.

    Lines that begin with # and empty lines separate pairs. Anything else, a line without its partner, and fewer than
    `least` pairs are errors: a fixture that silently tests nothing is worse than none.
    """
    pairs: list[tuple[str, str]] = []
    given: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        mark, content = line[:2].rstrip(), line[2:].replace("⏎", "\n")
        if mark == "<" and given is None:
            given = content
        elif mark == ">" and given is not None:
            pairs.append((given, content))
            given = None
        elif given is not None or (line and mark[:1] != "#"):
            raise ValueError(f"line {number} has no partner: {line!r}")
    if given is not None:
        raise ValueError(f"the last entry has no partner: {given!r}")
    if len(pairs) < least:
        raise ValueError(f"only {len(pairs)} pairs, expected {least} or more")
    return pairs


def load(name: str, least: int) -> list[tuple[str, str]]:
    return load_pairs((FIXTURES / name).read_text(encoding="utf-8"), least)


def load_lines(name: str, least: int) -> list[str]:
    """The lines of a fixture that has one rule a line."""
    lines = (FIXTURES / name).read_text(encoding="utf-8").split("\n")
    rules = [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]
    if len(rules) < least:
        raise ValueError(f"only {len(rules)} rules, expected {least} or more")
    return rules


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
keys = st.one_of(
    st.sampled_from(
        ["age", "a", "odd name", "a.b", "`", "``x", "x`y", '"', "é", "名前", "1st", "date", "NOT", *RESERVED]
    ),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=6),
)
attributes = st.lists(keys, min_size=1, max_size=3).map(lambda path: join_path(tuple(path)))
offsets = st.integers(-1439, 1439).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
constants: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    texts,
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=offsets),
)


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    """Any predicate that the language can say."""
    attr = draw(attributes)
    op = draw(st.sampled_from((*COMPARISONS, "contains", "not contains", *NO_CONSTANT, *SEVERAL_CONSTANTS)))
    if draw(st.booleans()):
        op = draw(st.sampled_from((*PATTERNS, *TWO_CONSTANTS)))
    escape = draw(st.none() | st.sampled_from("!\\'%é")) if op in WITH_ESCAPE else None
    return Predicate(attr, op, draw(_value(op)), escape)


def _value(op: str) -> st.SearchStrategy[Any]:
    if op in NO_CONSTANT:
        return st.none()
    if op in PATTERNS:
        return texts
    if op in TWO_CONSTANTS:
        return st.tuples(constants, constants)
    return st.lists(constants, min_size=1, max_size=4) if op in SEVERAL_CONSTANTS else constants


def _combined(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(below, min_size=2, max_size=4)
    return st.one_of(
        st.builds(lambda kind, operands: kind(*operands), st.sampled_from([And, Or, Xor, Xnor]), several),
        st.builds(Not, below),
        st.builds(Truth, below, st.sampled_from(TESTS), st.booleans()),
    )


leaves: st.SearchStrategy[Expression] = st.one_of(predicates(), predicates(), st.booleans().map(Constant))
expressions: st.SearchStrategy[Expression] = st.recursive(leaves, _combined, max_leaves=12)

PIECES = (
    *(
        "age",
        "x",
        "a.b",
        "`odd`",
        '"q"',
        "and",
        "or",
        "xor",
        "xnor",
        "not",
        "in",
        "is",
        "null",
        "true",
        "false",
        "unknown",
    ),
    *("between", "like", "ilike", "rlike", "escape", "one of", "all of", "none of", "date", "timestamp", "cast", "as"),
    *("=", "==", "!=", "<>", "<", "<=", ">", ">=", "(", ")", ",", "+", "-", ".", "'", "`", '"', ";", "=>", "&&", "\\"),
    *(
        "0",
        "5",
        "-7",
        "12.5",
        ".5",
        "5.",
        "1e3",
        "1e999",
        "12345678901234567890",
        "'a'",
        "'it''s'",
        "''",
        "'2026-01-31'",
    ),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\u00a0",
        "é",
        "IN",
        "And",
        "NOT",
        "Is",
        "NULL",
        "LIKE",
        "\u017f",
        "i\u017f",
        "li\u212ae",
        "\u200b",
        "_",
        "x1",
    ),
)

_words = st.sampled_from(("name", "x", "price_2", "a.b", "é", "vip"))
_numbers = st.one_of(
    st.integers(-(10**20), 10**20).map(str), st.decimals(-1000, 1000, places=2).map(str), st.just("1e3")
)
_strings = st.sampled_from(("''", "'a'", "'it''s'", "'é %'", "'x y'"))
_literals = st.one_of(_numbers, _strings, st.sampled_from(("true", "date '2026-01-31'", "cast('NaN' as double)")))
_gaps = st.sampled_from((" ", " ", " ", "  ", "\n", "\t ", "\u00a0"))
_maybe_gaps = st.sampled_from(("", "", " ", " ", "\n"))


def _cased(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from((word, word, word.upper(), word.title()))


@st.composite
def predicate_texts(draw: st.DrawFn) -> str:
    """A valid predicate in any spelling: case, spaces, signs, forms."""
    name, gap, loose = draw(_words), draw(_gaps), draw(_maybe_gaps)
    symbol = draw(st.sampled_from(("=", "==", "!=", "<>", "<", "<=", ">", ">=")))
    negation = draw(st.sampled_from(("", "not ", "NOT  ")))
    items = f"{loose},{gap}".join(draw(st.lists(_literals, min_size=1, max_size=3)))
    form = draw(st.integers(0, 9))
    if form < 4:
        return f"{name}{loose}{symbol}{loose}{draw(_literals)}"
    if form == 4:
        return f"{draw(_literals)}{loose}{symbol}{loose}{name}"
    if form == 5:
        word = draw(st.sampled_from((f"{negation}in", "one of", "All  Of", "none of")))
        return f"{name}{gap}{word}{loose}({loose}{items}{loose})"
    if form == 6:
        return f"{name}{gap}{negation}{draw(_cased('between'))}{gap}{draw(_literals)}{gap}and{gap}{draw(_literals)}"
    if form == 7:
        escape = draw(st.sampled_from(("", "", f"{gap}escape{gap}'!'", "ESCAPE '!'")))
        return f"{name}{gap}{negation}{draw(_cased('like'))}{loose}{draw(_strings)}{escape}"
    if form == 8:
        return f"{name}{gap}{draw(_cased('is'))}{gap}{negation}{draw(_cased('null'))}"
    return name


@st.composite
def rule_texts(draw: st.DrawFn) -> str:
    """A valid rule in any spelling."""
    parts: list[str] = []
    closing = 0
    for number in range(draw(st.integers(1, 6))):
        if number:
            parts += [
                draw(_gaps),
                draw(_cased(draw(st.sampled_from(("and", "and", "or", "xor", "xnor"))))),
                draw(_gaps),
            ]
        for opener in draw(st.lists(st.sampled_from(("(", "( ", "not ", "NOT\n")), max_size=3)):
            parts.append(opener)
            closing += opener[0] == "("
        parts.append(draw(predicate_texts()))
        while closing and draw(st.booleans()):
            parts.append(draw(_maybe_gaps) + ")")
            closing -= 1
        if draw(st.integers(0, 5)) == 0:
            parts.append(f" is {draw(st.sampled_from(('', 'not ')))}{draw(_cased(draw(st.sampled_from(TESTS))))}")
    return "".join(parts) + ")" * closing
