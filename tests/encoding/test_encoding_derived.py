"""Derived attributes: list tests and patterns, many at once, against one at a time."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.attribute_table import DERIVED, AttributeTable
from matchwood.encoding.derived.attributes import TRUE_LABEL, DerivedSource, Verdicts
from matchwood.encoding.derived.keys import DerivedTest, list_test
from matchwood.encoding.derived.likes import read_like, write_like
from matchwood.encoding.derived.recent import Recent
from matchwood.encoding.derived.required_literals import required_literal
from matchwood.semantics.patterns import ilike, like, rlike

TEXTS = [
    "", "a", "b", "ab", "abc", "abcabc", "ABC", "xabcx", "é", "É", "aé", "日本語", "日本", "😀", "a😀b",
    "a_c", "a%c", "a\\c", "line\nbreak", "aaaaaaaaab", "abababab", "İ", "ı", "ß", "SS", "the quick brown fox",
]  # fmt: skip
LIKES = [
    "_", "__", "%_", "_%", "%a%", "%b", "a%c", "a_c", "%abc%", "a%b%c", "%a%b%", "_b%", "%é%", "日_語", "%😀%",
    "a\\_c", "a\\%c", "%a\\\\c", "%ab%ab%ab%", "%aab", "the % fox", "%quick%fox", "%x%x%x%", "_é", "___%",
]  # fmt: skip
REGEXES = [
    "",
    "a",
    "^a",
    "c$",
    "a.c",
    "(?i)abc",
    "[xyz]",
    "^$",
    "quick.*fox",
    "日.語",
    "a|b",
    "ab{2}",
    "\\.",
    "(ab)+c",
    "^.$",
]
ILIKES = ["abc", "%ABC%", "É", "i", "%ss", "A_C", "THE%"]


class Fixture:
    """A source with tests, all of whose verdicts are needed."""

    def __init__(self, kind: str) -> None:
        self.table = AttributeTable()
        self.source = DerivedSource("s", kind, self.table)
        self.tests: dict[int, DerivedTest] = {}

    def add(self, test: DerivedTest, true: bool = True, false: bool = False) -> int:
        number = self.table.number(test.key)
        if number < 0:
            number = self.table.add(test.key, DERIVED, 0)
        for column, value in (
            (self.table.references, 1),
            (self.table.needs_true, true),
            (self.table.needs_false, false),
        ):
            column.writable()[number] = value
        self.tests[number] = test
        self.source.add([number])
        return number

    def remove(self, number: int) -> None:
        for column in (self.table.references, self.table.needs_true, self.table.needs_false):
            column.writable()[number] = 0
        del self.tests[number]
        self.source.remove([number])

    def expected(self, value: Any) -> list[tuple[int, int]]:
        pairs = []
        for number, test in sorted(self.tests.items()):
            verdict = single(test, value)
            needed = self.table.needs_true if verdict else self.table.needs_false
            if needed.view()[number]:
                pairs.append((number, TRUE_LABEL if verdict else 0))
        return pairs

    def check(self, values: list[Any], kind: pa.DataType) -> None:
        verdicts = self.source.evaluate(pa.array(values, kind))
        assert [told(verdicts, place) for place in range(len(values))] == [self.expected(value) for value in values]
        for value in values:
            attributes, labels = self.source.evaluate_one(value)
            assert list(zip(attributes.tolist(), labels.tolist(), strict=True)) == self.expected(value)


def told(verdicts: Verdicts, place: int) -> list[tuple[int, int]]:
    start, stop = verdicts.offsets[place], verdicts.offsets[place + 1]
    return list(zip(verdicts.attributes[start:stop].tolist(), verdicts.labels[start:stop].tolist(), strict=True))


def single(test: DerivedTest, value: Any) -> bool:
    if test.op in ("one of", "all of"):
        wanted = json.loads(test.operand)
        return (any if test.op == "one of" else all)(each in value for each in wanted)
    return {"like": like, "ilike": ilike, "rlike": rlike}[test.op](value, test.operand)


def canonical(op: str, pattern: str) -> DerivedTest:
    if op == "rlike":
        return DerivedTest("s", op, pattern)
    text = write_like(read_like(pattern))
    return DerivedTest("s", op, pc.utf8_lower(text).as_py() if op == "ilike" else text)


PATTERNS = [
    canonical(op, each) for op, held in (("like", LIKES), ("rlike", REGEXES), ("ilike", ILIKES)) for each in held
]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_patterns_together_give_what_each_gives_alone(kind: pa.DataType) -> None:
    fixture = Fixture("string")
    for place, test in enumerate(PATTERNS):
        fixture.add(test, true=place % 4 != 3, false=place % 3 == 0)
    fixture.check(TEXTS, kind)
    fixture.check(TEXTS[::-1] * 2, kind)


@pytest.mark.parametrize("seed", range(10))
def test_patterns_come_and_go(seed: int) -> None:
    rng, fixture = random.Random(seed), Fixture("string")
    for _ in range(30):
        if rng.random() < 0.6 or not fixture.tests:
            for test in rng.sample(PATTERNS, rng.choice((1, 3))):
                if test not in fixture.tests.values():
                    fixture.add(test, true=rng.random() < 0.8, false=rng.random() < 0.3)
        else:
            fixture.remove(rng.choice(list(fixture.tests)))
        assert len(fixture.source) == len(fixture.tests)
        fixture.check(rng.sample(TEXTS, 5), pa.string())


letters = st.text(alphabet="abé%_\\", max_size=8)


@given(st.lists(letters, min_size=1, max_size=5), st.lists(st.text(alphabet="abé_%", max_size=6), max_size=5))
def test_like_on_random_patterns(patterns: list[str], texts: list[str]) -> None:
    fixture = Fixture("string")
    for pattern in patterns:
        parts = read_like(pattern.replace("\\", "\\\\"))
        test = DerivedTest("s", "like", write_like(parts))
        if parts and test not in fixture.tests.values():
            fixture.add(test, false=True)
    fixture.check(texts, pa.string())


regexes = st.recursive(
    st.sampled_from(["a", "b", "ab", "bab", ".", "[ab]", "[^a]", "\\.", "\\w", "^", "$", "{", "\\x61", "é"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("(?:{})".format, inner),
        st.builds("{}|{}".format, inner, inner),
        st.builds("{}{}".format, inner, st.sampled_from(["*", "+", "?", "{0}", "{2,3}", "+?", "*?"])),
    ),
    max_leaves=8,
)


@given(regexes, st.lists(st.text(alphabet="ab.é{", max_size=8), min_size=1, max_size=8))
def test_a_required_literal_is_in_every_match(pattern: str, texts: list[str]) -> None:
    try:
        verdicts = pc.match_substring_regex(pa.array(texts), pattern).to_pylist()
    except pa.ArrowInvalid:
        return
    literal = required_literal(DerivedTest("s", "rlike", pattern))
    assert all(literal in text for text, verdict in zip(texts, verdicts, strict=True) if verdict), (pattern, literal)


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("abc", "abc"), ("ab*c", "a"), ("abc+d", "abc"), ("a|bcd", ""), ("(?i)abc", ""), ("(?:ab)cd", "cd"),
        ("x[]abc]yz", "yz"), ("a\\.b\\d+foo", "a.b"), ("\\x41bcd", ""), ("\\pLabc", ""), ("a{2,3}bc", "bc"),
        ("\\Qa.b\\E", ""), ("[[:alpha:]]xyz", "xyz"), ("(a(b)c)defg|x", ""), ("((a)|(b))cd(d|e)f", "cd"),
    ],
)  # fmt: skip
def test_required_literals(pattern: str, literal: str) -> None:
    assert required_literal(DerivedTest("s", "rlike", pattern)) == literal


@pytest.mark.parametrize(
    ("kind", "elements"), [("list<int>", range(8)), ("list<string>", ["a", "b", "é", "", "it's", '"', "日"])]
)
def test_lists_together_give_what_each_gives_alone(kind: str, elements: Any) -> None:
    rng, fixture, pool = random.Random(7), Fixture(kind), list(elements)
    arrow = pa.list_(pa.int64() if kind == "list<int>" else pa.string())
    for _ in range(120):
        test = list_test("s", rng.choice(("one of", "all of")), rng.sample(pool, rng.randint(1, 3)))
        if test not in fixture.tests.values():
            fixture.add(test, true=rng.random() < 0.7, false=rng.random() < 0.3)
        elif rng.random() < 0.5:
            fixture.remove(next(number for number, held in fixture.tests.items() if held == test))
        values = [[rng.choice([*pool, None]) for _ in range(rng.randint(0, 6))] for _ in range(6)]
        fixture.check(values, arrow)
        fixture.check(values, pa.large_list(arrow.value_type))


def test_slices_of_lists_and_integers_that_no_list_can_hold() -> None:
    fixture = Fixture("list<int>")
    possible, impossible = (
        fixture.add(list_test("s", "one of", [1, 2**70])),
        fixture.add(list_test("s", "all of", [1, 2**70])),
    )
    values = pa.array([[9, 1], [1], [], [2]], pa.list_(pa.int64()))
    verdicts = fixture.source.evaluate(values[1:])
    assert [told(verdicts, place) for place in range(3)] == [[(possible, TRUE_LABEL)], [], []]
    assert impossible not in verdicts.attributes


def test_output_that_does_not_fit_is_written_in_parts() -> None:
    fixture = Fixture("list<int>")
    for place in range(3_000):
        fixture.add(list_test("s", "one of", [0, place]))
    verdicts = fixture.source.evaluate(pa.array([[0]] * 50, pa.list_(pa.int64())))
    assert verdicts.offsets.tolist() == [3_000 * place for place in range(51)]
    assert verdicts.attributes[-3_000:].tolist() == list(range(3_000))
    texts = Fixture("string")
    for place in range(1_500):
        texts.add(DerivedTest("s", "like", f"{'_' * (place % 40)}%a{'%b' * (place // 40)}%"))
    verdicts = texts.source.evaluate(pa.array(["b" * 50 + "a" + "b" * 50 + str(place) for place in range(40)]))
    assert verdicts.offsets.tolist() == [1_500 * place for place in range(41)]


def test_only_patterns_whose_gram_is_found_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """RE2 is asked about one text, not about a hundred, when only that one holds what the pattern needs."""
    fixture = Fixture("string")
    for place in range(50):
        fixture.add(DerivedTest("s", "rlike", f"needle{place}x+y"))
    asked: list[int] = []
    real = pc.match_substring_regex

    def counted(texts: pa.Array, pattern: str) -> Any:
        asked.append(len(texts))
        return real(texts, pattern)

    monkeypatch.setattr(pc, "match_substring_regex", counted)
    texts = [f"hay {place}" for place in range(100)] + ["a needle7xxy here"]
    verdicts = fixture.source.evaluate(pa.array(texts))
    assert verdicts.attributes.tolist() == [7]
    assert sum(asked) <= 5
    asked.clear()
    fixture.source.evaluate(pa.array(texts[::-1]))
    assert asked == [], "verdicts are kept across batches"


def test_verdicts_are_kept_within_bounds() -> None:
    fixture = Fixture("string")
    fixture.source._kept, fixture.source._memo = Recent(room=3_000), Recent(room=3_000)
    fixture.add(DerivedTest("s", "like", "%a_"), false=True)
    for start in range(0, 100, 7):
        fixture.check([f"a{place}" for place in range(start, start + 7)], pa.string())
    assert len(fixture.source._kept) <= 10
    assert len(fixture.source._memo) <= 10


def test_attributes_nobody_refers_to_are_cleared_away() -> None:
    fixture = Fixture("list<int>")
    numbers = [fixture.add(list_test("s", "one of", [place])) for place in range(200)]
    fixture.check([[5, 6]], pa.list_(pa.int64()))
    for number in numbers[:190]:
        fixture.remove(number)
    fixture.check([[5, 195]], pa.list_(pa.int64()))
    assert sum(len(table.attributes) for table in fixture.source._tables) < 100
    fixture.add(list_test("s", "one of", [5]))
    fixture.check([[5, 195]], pa.list_(pa.int64()))


def test_threads_agree() -> None:
    fixture = Fixture("string")
    for test in PATTERNS:
        fixture.add(test, false=True)
    expected = [fixture.expected(text) for text in TEXTS]
    found: list[bool] = []

    def work() -> None:
        for _ in range(5):
            verdicts = fixture.source.evaluate(pa.array(TEXTS))
            found.append([told(verdicts, place) for place in range(len(TEXTS))] == expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def test_the_width_counts_what_every_value_is_told() -> None:
    fixture = Fixture("string")
    fixture.add(DerivedTest("s", "like", "%a_"), false=True)
    fixture.add(DerivedTest("s", "like", "%b_"))
    assert fixture.source.width == 1
    assert isinstance(fixture.source.evaluate(pa.array([], pa.string())).offsets, np.ndarray)
