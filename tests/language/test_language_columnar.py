"""Trees that kernels read from bytes are those of the parser; what it refuses, they do not take."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from matchwood.errors import MatchwoodError
from matchwood.language import (
    And,
    Constant,
    Expression,
    Not,
    Or,
    PredicateSpans,
    RuleTrees,
    Truth,
    Xnor,
    Xor,
    parse,
    read_trees,
    read_whole,
)
from matchwood.language.columnar import _tree_kernels as kernels
from matchwood.language.columnar._token_kernels import _digits_in, _quotes_in, _word_bytes_in
from matchwood.language.columnar.trees import AT_ONCE, ROOM
from matchwood.language.tree import TESTS
from matchwood.rules.strings import encode_many
from tests import cases, pools
from tests.language.language_support import load, load_lines

JOINED = {kernels.AND_NODE: And, kernels.OR_NODE: Or, kernels.XOR_NODE: Xor, kernels.XNOR_NODE: Xnor}


def read(texts: list[str]) -> list[Expression | None]:
    """The trees of texts, None for those that are left to the parser."""
    utf8 = encode_many(texts)
    trees, spans = read_all(*utf8, np.ones(len(texts), np.bool_))
    return [tree_of(trees, spans, utf8.data.tobytes(), rule) for rule in range(len(texts))]


def read_all(*texts: Any) -> tuple[RuleTrees, PredicateSpans]:
    """The trees of texts, and their predicates, however many are handed on at a time."""
    found: list[PredicateSpans] = []
    trees = read_trees(*texts, lambda spans: found.append(PredicateSpans._make(column.copy() for column in spans)))
    return trees, PredicateSpans._make(map(np.concatenate, zip(*found, strict=True)))


def tree_of(trees: RuleTrees, spans: PredicateSpans, data: bytes, rule: int) -> Expression | None:
    held: list[Expression] = []
    for node in range(trees.node_ends[rule - 1] if rule else 0, trees.node_ends[rule]):
        kind, argument = int(trees.kinds[node]), int(trees.arguments[node])
        if kind == kernels.PREDICATE_NODE:
            name, test = (
                data[starts[argument] : starts[argument] + lengths[argument]].decode()
                for starts, lengths in ((spans.names, spans.name_lengths), (spans.tests, spans.test_lengths))
            )
            held.append(read_whole(f"{test} {name}" if spans.reversed_[argument] else f"{name} {test}"))
        elif kind == kernels.CONSTANT_NODE:
            held.append(Constant(argument == 1))
        elif kind == kernels.NOT_NODE:
            held.append(Not(held.pop()))
        elif kind == kernels.TRUTH_NODE:
            held.append(Truth(held.pop(), TESTS[argument >> 1], bool(argument & 1)))
        else:
            held[-argument:] = [JOINED[kind](*held[-argument:])]
    assert len(held) < 2
    return held[0] if held else None


def assert_right(texts: list[str]) -> int:
    """Hold what is taken against the parser; how many texts were."""
    taken = 0
    for text, tree in zip(texts, read(texts), strict=True):
        if tree is not None:
            taken += 1
            assert type(tree) is type(parse(text)), text
            assert str(tree) == str(parse(text)), text
    return taken


FIXTURES = [*load_lines("identity.txt", 50), *(given for given, _ in load("canonical.txt", 30))]


def test_fixtures_have_the_trees_of_the_parser() -> None:
    assert assert_right(FIXTURES) > len(FIXTURES) // 2


def test_what_the_parser_refuses_is_not_taken() -> None:
    bad = [given for given, _ in load("bad.txt", 50)]
    assert [text for text, taken in zip(bad, attempted(bad), strict=True) if taken] == []


def is_sound(text: str) -> bool:
    """Whether the parser takes a text."""
    try:
        parse(text)
    except MatchwoodError:
        return False
    return True


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed: int) -> None:
    rng = random.Random(seed)
    texts = [str(cases.expression(rng, pools.palettes(rng), leaves=rng.randint(1, 9))) for _ in range(300)]
    assert assert_right(texts) > 60


@pytest.mark.parametrize("seed", range(4))
def test_whatever_becomes_of_a_text_it_is_read_as_the_parser_does(seed: int) -> None:
    rng = random.Random(seed)
    garbled = [garble(rng, rng.choice(FIXTURES)) for _ in range(3_000)]
    sound = [text for text in garbled if is_sound(text)]
    refused = [text for text in garbled if not is_sound(text)]
    assert assert_right(sound) > 200
    assert [text for text, taken in zip(refused, attempted(refused), strict=True) if taken] == []


def attempted(texts: list[str]) -> list[bool]:
    """Whether each text is taken, and all of its predicates can be read."""
    outcomes = []
    for text in texts:
        try:
            outcomes.append(read([text])[0] is not None)
        except MatchwoodError:
            outcomes.append(False)
    return outcomes


PIECES = (
    *"()'`\".,=<>!+-*%_0a ",
    "''",
    " and ",
    " or ",
    " not ",
    " is ",
    " in ",
    "1e",
    "\n",
    "\x1f",
    "é",
    "date ",
    "--",
)


def garble(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(("", rng.choice(PIECES))) + text[at + rng.randrange(3) :]
    return text


@pytest.mark.parametrize(
    "text",
    [
        *("a", "not a", "not not a", "((a))", "a and b or c xor d xnor e xor f", "a is true is not unknown", "true"),
        *("5<a", "- 5 < a", "'x' in tags", "'x' not in tags", "a IN(1,2)", "a Not Between -1.5e-3 AND +.5", "a.b.c=1."),
        *("date = 5", "date<date '2026-01-31'", "one one of (1)", "unknown", "all all of ('it''s')", "x = 'é🙂'"),
        *("a is not null and b is null", "a\tand\r\nb", "true = a", "s like 'a%' or s not ilike '%b' or s rlike '^c'"),
    ],
)
def test_what_is_taken(text: str) -> None:
    assert assert_right([text]) == 1


@pytest.mark.parametrize(
    "text",
    [
        *(
            "`a` = 1",
            "a.`b` = 1",
            '"a" = 1',
            "é = 1",
            "s like 'a!%' escape '!'",
            "x = cast('NaN' as double)",
            "f(x) = 1",
        ),
        *("{}", "a = 1 --", "a\u00a0= 1", "a = 1\x1f", "(" * 64 + "a" + ")" * 64, "a and " * 4_000 + "a"),
    ],
)
def test_what_is_left_to_the_parser(text: str) -> None:
    assert read([text]) == [None]


NEARLY_PLAIN = [
    *(f"a {op} 5" for op in ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>", "=>", "=<", "===", "!==", "!", "=~")),
    *(f"a = {said}" for said in ("5x", "5.5", "5e3", "1234567", "12345678", "-5", "b", "'it''s'", "'it", "'x' y", "")),
    *(f"a in ({said})" for said in ("1, 2", "1,2", "1 ,2", "1,  2", "1, 'x'", "1, 2.5", "", "1,", "1 2", "1, 2) b")),
    *(f"a between {said}" for said in ("1 and 2", "1  and 2", "1 AND 2", "1 and 2.5", "1 and", "1 or 2", "'x' and 5")),
    *("a= 5", "a =5", "a  = 5", "a\t= 5", "A = 5", "date = 5", "a =", "a ", "5 = a and b", "true and a = 5"),
    *("a in(1)", "a in  (1)", "a IN (1)", "a in (1", "a and b", "a  and b", "a and", "a AND b", "a and(b)", "a andb"),
]


@pytest.mark.parametrize("behind", ["", " ", " and b > 1", " or b", ") and (b", "x", "5", ".5"])
def test_tests_that_are_nearly_plain_are_read_as_all_others(behind: str) -> None:
    """With bytes behind them that are of other texts, and as the last ones of all."""
    texts = [text + behind for text in NEARLY_PLAIN]
    alone = [read([text])[0] for text in texts]
    together = read([*texts, "c = 1 and d in (2, 3) and e between 4 and 5"])[:-1]
    assert list(map(str, together)) == list(map(str, alone))
    assert [text for text, tree in zip(texts, alone, strict=True) if tree is not None and not is_sound(text)] == []
    sound = [text for text in texts if is_sound(text)]
    assert not sound or assert_right(sound) > len(sound) // 2


def test_a_predicate_is_told_by_all_of_its_bytes() -> None:
    text = "a = 1 and  5 < bb or not c and d  in (1, 2)"
    utf8 = encode_many([text])
    _, spans = read_all(*utf8, np.ones(1, np.bool_))
    found = [text[start : start + length] for start, length in zip(spans.starts, spans.lengths, strict=True)]
    assert found == ["a = 1", "5 < bb", "c", "d  in (1, 2)"]


def test_rules_with_more_nodes_than_expected_get_more_room() -> None:
    """Nodes of a few bytes each, and more predicates than are handed on at a time."""
    text = " or ".join("ab"[number % 2] for number in range(ROOM // 50))
    texts = [text] * 120
    taken = read(texts)
    assert taken[0] == taken[-1] == parse(text)
    assert None not in taken


def test_predicates_of_many_rules_are_handed_on_in_parts() -> None:
    """Rules behind the first part name predicates of their own, and one that is not read has none anywhere."""
    texts = [f"a{number} > {number} or not b" for number in range(AT_ONCE - 1)]
    texts += ["`a` = 1", "c = 3 and d = 4", "7 < e", *texts[:5]]
    read_again = read(texts)
    assert read_again[AT_ONCE - 1] is None
    assert all(tree == parse(text) for tree, text in zip(read_again, texts, strict=True) if tree is not None)
    assert read_again.count(None) == 1


def test_texts_that_are_not_given_are_not_read() -> None:
    utf8 = encode_many(["a = 1", "b = 2"])
    trees, _ = read_all(*utf8, np.array([False, True]))
    assert trees.node_ends.tolist() == [0, 1]


def test_any_space_may_stand_between_constants() -> None:
    """`int` takes fewer characters for spaces than the grammar does."""
    assert parse("x in (1\x1f, 2\x1c)") == parse("x in (1, 2)")


EDGES = ("a", "a1", "abcdefg", "abcdefgh", "abcdefghi", "timestamp", "Timestamps", "unknown", "a_b", "_", "a.b", "a.b1")
ENDS = (
    "1",
    "1234567",
    "12345678",
    "123456789",
    "12.5",
    "1e3",
    "'x'",
    "'it''s'",
    "'1234567'",
    "'12345678'",
    "''",
    "'ß'",
)


@pytest.mark.parametrize("around", ["", "a", "nd", "9", ".", "_", "'", " and ", "ß"])
def test_what_stands_around_a_text_is_not_read(around: str) -> None:
    """Names, words and constants of every length, of which eight bytes are looked at together."""
    texts = [f"{name} {compared}{end}" for name in EDGES for compared in ("= ", ">") for end in ENDS]
    texts += [f"{name} between 3 AND {end}" for name in EDGES for end in ENDS]
    texts += [f"{name} {word}" for name in EDGES for word in ("is null", "or x", "", "xor notand", "in (1,22)")]
    for text in texts:
        alone = read([text])[0]
        data = f"{around}{text}{around}".encode()
        start = len(around.encode())
        length = np.array([len(text.encode())], np.int32)
        found = read_all(np.frombuffer(data, np.uint8), np.array([start]), length, np.ones(1, np.bool_))
        assert tree_of(*found, data, 0) == alone, text
        assert alone is None or alone == parse(text)


@pytest.mark.parametrize("seed", range(3))
def test_bytes_are_counted_eight_at_a_time(seed: int) -> None:
    rng = np.random.default_rng(seed)
    likely = np.frombuffer(b"azAZ09_m5'/:@[`{.\x7f\x80\xff\x00 ", np.uint8)
    for _ in range(2_000):
        data = rng.choice(likely, 8) if rng.random() < 0.5 else rng.integers(0, 256, 8).astype(np.uint8)
        text, eight = data.tobytes(), np.uint64(int.from_bytes(data.tobytes(), "little"))
        for counted, pattern in (
            (_digits_in, rb"[0-9]*"),
            (_word_bytes_in, rb"[A-Za-z0-9_]*"),
            (_quotes_in, rb"[^']*"),
        ):
            found = re.match(pattern, text)
            assert found is not None
            assert counted(eight) == found.end()
