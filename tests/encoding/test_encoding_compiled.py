"""The conjunctions that kernels make of many rules are those that each rule has by itself."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from matchwood.encoding import CompiledRules, Encoder, RuleReader
from matchwood.encoding.derived.keys import DerivedTest
from matchwood.encoding.rules.number_tests import number_tests
from matchwood.encoding.rules.plain_tests import plain_test
from matchwood.encoding.rules.predicate_book import CutNumbers
from matchwood.errors import MatchwoodError
from matchwood.language import Predicate, parse
from matchwood.logic import (
    ALWAYS,
    ANY_RULE,
    AS_FORMS,
    LEAF,
    NEVER,
    OR_OF_ANDS,
    Clauses,
    Form,
    Leaf,
    dnf_of,
    form_of_rule,
    smaller_of,
)
from matchwood.rules.strings import encode_many
from tests import cases, pools
from tests.encoding.compiled_support import nested


def leaf(read: CompiledRules, number: int) -> Leaf:
    """What the number of a leaf stands for."""
    keys, nulls, ends, cuts = read._expander.leaf_columns()
    values = map(read._book.cuts.cuts.__getitem__, cuts[ends[number] : ends[number + 1]].tolist())
    return Leaf(read._book.keys.keys[keys[number]], tuple(values), bool(nulls[number]))


def conjunctions(texts: list[str], limit: int = 256, taking: int = ANY_RULE) -> list[list[Any] | None]:
    """The conjunctions of each text, None for those that are not taken."""
    utf8 = encode_many(texts)
    read = RuleReader(Encoder()).read(*utf8, np.ones(len(texts), np.bool_), limit, taking)
    counts, lengths, leaves, *_ = read._expanded
    stops = np.cumsum(lengths)
    rows = [
        tuple(leaf(read, number) for number in leaves[stop - length : stop].tolist())
        for length, stop in zip(lengths.tolist(), stops.tolist(), strict=True)
    ]
    assert len(leaves) == lengths.sum()
    held = iter(rows)
    found = [None if count < 0 else [next(held) for _ in range(count)] for count in counts.tolist()]
    assert next(held, None) is None
    return found


def assert_right(texts: list[str], limit: int = 256) -> int:
    taken = 0
    for text, found in zip(texts, conjunctions(texts, limit), strict=True):
        if found is not None:
            taken += 1
            assert found == dnf_of(parse(text), Encoder().bind, limit), text
    return taken


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [256, 16, 1])
def test_nests_over_few_values(seed: int, limit: int) -> None:
    """Leaves of one attribute meet, join, cover each other and decide junctions all the time."""
    rng = random.Random(100 * limit + seed)
    texts = [nested(rng, rng.randint(1, 4)) for _ in range(200)]
    assert assert_right(texts, limit) > 60


@pytest.mark.parametrize("seed", range(4))
def test_every_operator_and_type(seed: int) -> None:
    rng = random.Random(seed)
    texts = [str(cases.expression(rng, pools.palettes(rng), leaves=rng.randint(1, 9))) for _ in range(200)]
    assert assert_right(texts) > 60


@pytest.mark.parametrize(
    "text",
    [
        *("true", "false", "x < 1 or x >= 1", "x < 1 or x >= 1 or x is null", "x = 1 and x = 2", "not (x is null)"),
        *("x in (1, 1.0, 2)", "x not in (1, 2, 3)", "x between 5 and 1", "x in (99999999999999999999999)"),
        " or ".join(f"a{number} = 1" for number in range(100)),
        " and ".join(f"a{number} = 1" for number in range(300)),
        " or ".join(f"x = {number}" for number in range(300)),
        " and ".join(f"(a{number} or b{number})" for number in range(8)),
        "x in (" + ", ".join(map(str, range(400))) + ")",
        " xor ".join(f"x = {number}" for number in range(40)),
    ],
)
def test_shapes(text: str) -> None:
    assert assert_right([text]) == 1


@pytest.mark.parametrize(
    "text", ["x in (1, 'a')", "x = date '2026-13-01'", "x = 1e999", "x rlike '('", "x one of (1.5)"]
)
def test_what_cannot_be_bound_is_not_taken(text: str) -> None:
    assert conjunctions([text, "y = 1"])[0] is None
    with pytest.raises(MatchwoodError):
        dnf_of(parse(text), Encoder().bind, 256)


def test_rules_with_too_many_conjunctions_are_not_taken() -> None:
    text = " and ".join(f"(a{number} or b{number})" for number in range(9))
    assert conjunctions([text]) == [None]
    assert isinstance(dnf_of(parse(text), Encoder().bind, 256), Form)


def test_engines_over_clauses_take_ors_of_ands_alone() -> None:
    rng = random.Random(5)
    texts = [nested(rng, rng.randint(1, 3)) for _ in range(300)]
    taken = [pair for pair in zip(texts, conjunctions(texts, taking=OR_OF_ANDS), strict=True) if pair[1] is not None]
    assert 40 < len(taken) < 290
    for text, found in taken:
        wanted = smaller_of(parse(text), Encoder().bind, 256)
        assert not isinstance(wanted, Clauses)
        assert found == wanted, text


def forms(texts: list[str]) -> list[Form | None]:
    """The form of each text, None for those that are not taken."""
    read = RuleReader(Encoder()).read(*encode_many(texts), np.ones(len(texts), np.bool_), 256, AS_FORMS)
    shapes, leaves = read._expanded.shapes, iter([leaf(read, number) for number in read._expanded.leaves.tolist()])
    assert shapes is not None
    kinds, counts, children = (iter(column.tolist()) for column in shapes[1:])
    sizes = iter(zip(read._expanded.lengths.tolist(), shapes.node_counts.tolist(), strict=True))
    found: list[Form | None] = []
    for count in read._expanded.counts.tolist():
        if count < 1:
            found.append(NEVER if count == 0 else None)
            continue
        held, inner = next(sizes)
        below = (*((),) * held, *(tuple(next(children) for _ in range(next(counts))) for _ in range(inner)))
        form = Form(
            tuple(next(leaves) for _ in range(held)), (LEAF,) * held + tuple(next(kinds) for _ in range(inner)), below
        )
        found.append(form if held else ALWAYS)
    assert [next(each, None) for each in (leaves, kinds, counts, children, sizes)] == [None] * 5
    return found


def assert_right_forms(texts: list[str]) -> int:
    pairs = [pair for pair in zip(texts, forms(texts), strict=True) if pair[1] is not None]
    for text, found in pairs:
        assert found == form_of_rule(parse(text), Encoder().bind), text
    return len(pairs)


@pytest.mark.parametrize("seed", range(6))
def test_forms_of_nests_over_few_values(seed: int) -> None:
    rng = random.Random(700 + seed)
    assert assert_right_forms([nested(rng, rng.randint(1, 5)) for _ in range(200)]) > 150


@pytest.mark.parametrize("seed", range(4))
def test_forms_of_every_operator_and_type(seed: int) -> None:
    rng = random.Random(seed)
    texts = [str(cases.expression(rng, pools.palettes(rng), leaves=rng.randint(1, 12))) for _ in range(200)]
    assert assert_right_forms(texts) > 40


@pytest.mark.parametrize(
    "text",
    [
        *("true", "false", "x = 1", "x = 1 and x = 2", "x is null and true", "x < 1 or x >= 1 or x is null"),
        *("x = 1 and y = 2", "x = 1 or y = 2", "not x = 1", "(x = 1 or y = 2) and (x = 3 or y = 4)"),
        " and ".join(f"(a{number} or b{number})" for number in range(40)),
        " xor ".join(f"a{number}" for number in range(30)),
        " or ".join(f"a{number} and (b{number} or c{number})" for number in range(60)),
    ],
)
def test_forms_of_shapes(text: str) -> None:
    """Rules of too many conjunctions among them, for which there is no limit here."""
    assert assert_right_forms([text]) == 1


def test_forms_of_many_rules_that_need_more_room() -> None:
    text = " or ".join(f"a{number} and (b{number} or c{number})" for number in range(90))
    assert assert_right_forms([f"{text} or d = {number}" for number in range(120)]) == 120


def test_types_that_contradict_each_other_are_not_taken() -> None:
    assert [rows is None for rows in conjunctions(["x = 1 and x = 'a'", "x = 1 and x is null", "x = 1"])] == [
        True,
        False,
        False,
    ]


def test_a_reader_that_forgets_reads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.encoding.rules.compiled_rules.MOST_PREDICATES", 3)
    reader, utf8 = RuleReader(Encoder()), encode_many(["a = 1 and b = 2", "c in (1, 2)", "a = 1 or d = 4"])
    first, second = (reader.read(*utf8, np.ones(3, np.bool_), 256) for _ in range(2))
    assert first.counts.tolist() == second.counts.tolist() == [1, 1, 2]
    assert second.flat().keys == ["a", "b", "c", "d"]


def test_plain_ranges_are_bound_as_the_parser_reads_them() -> None:
    numbers = ["0", "1", "-1", "+7", "2.5", "2.50", "-0", "0.1", "10.", "999999999999999999", "123456789.123456789"]
    ranges = [f"a {word} {low} {and_} {high}" for low in numbers for high in numbers for word, and_ in _SPELLINGS]
    encoder = Encoder()
    texts = [*ranges, "a between 1e3 and 2", "a between 1 and 2 or b", "a not between 1 and 2"]
    for text in ranges:
        found = plain_test(text.removeprefix("a "))
        assert found == ("between", "number", encoder.bind(parse(text)).cuts, None), text
    assert assert_right(texts) == len(texts)


_SPELLINGS = [("between", "and"), ("BETWEEN ", "\tAnd")]


def test_plain_patterns_are_bound_as_the_parser_reads_them() -> None:
    rng, encoder, texts = random.Random(11), Encoder(), []
    words = ("like", "not like", "ilike", "NOT  ILIKE", "Like", "not\tlike")
    for number in range(2_000):
        pattern = "".join(
            rng.choice(("a", "B", "%", "%%", "_", "\\\\", "\\%", "é", "İ", " ")) for _ in range(number % 7)
        )
        texts.append(f"a {words[number % len(words)]} '{pattern}'")
    for text in texts:
        found, read = plain_test(text.removeprefix("a ")), parse(text)
        assert found is not None
        assert isinstance(read, Predicate)
        bound = encoder.bind(read)
        assert (found.op, found.kind, found.cuts) == (read.op, "string", bound.cuts), text
        assert bound.attribute == ("a" if found.pattern is None else DerivedTest("a", *found.pattern).key), text
    refused = ["a like 'x\\'", "a like '\\x'", "a like 'x' escape '!'", "a rlike 'x'"]
    assert [plain_test(text.removeprefix("a ")) for text in refused] == [None] * len(refused)
    assert assert_right([*texts, *refused[2:]]) >= len(texts)


def test_tests_of_several_attributes_have_derived_attributes_of_each() -> None:
    texts = [
        f"{name} {word} '%{text}%'" for name in "abc" for word in ("ilike", "not ilike", "rlike") for text in "xyz"
    ]
    assert assert_right(texts) == len(texts)


def test_numbers_are_bound_in_columns_as_one_by_one() -> None:
    rng, symbols = random.Random(3), ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
    digits = ["".join(rng.choices("0123456789", k=rng.randint(1, 19))) for _ in range(3_000)]
    fractions = ["", ".", *("." + "".join(rng.choices("0123456789", k=length)) for length in range(1, 20))]
    signs, gaps = ("", "-", "+"), ("", " ", "\t")
    texts = [
        "".join((rng.choice(symbols), rng.choice(gaps), rng.choice(signs), whole, rng.choice(fractions)))
        for whole in digits
    ]
    texts += ["= 'x'", "= 1e3", "between 1 and 2", "= - 5", "", "= 0", "= -0", "= 007", "< 12.50", "= 1 ", "= 1\n"]
    read = number_tests(pa.array(texts, pa.large_string()))
    cuts, inner, ends = iter(read.cuts), iter(read.inner.tolist()), iter(read.counts.tolist())
    assert 300 < np.count_nonzero(read.found) < 3_000
    for text, found in zip(texts, read.found.tolist(), strict=True):
        if found:
            wanted = plain_test(text)
            assert wanted is not None
            own = tuple(next(cuts) if next(inner) else () for _ in range(next(ends)))
            assert (own, [type(cut[0]) for cut in own if cut]) == (
                wanted.cuts,
                [type(cut[0]) for cut in wanted.cuts if cut],
            ), text


def test_cuts_are_ranked_as_python_orders_them() -> None:
    rng, known = random.Random(4), CutNumbers()
    plain = [(rng.choice((rng.randrange(-50, 50), rng.uniform(-5, 5))), rng.choice((0, 1, 2))) for _ in range(500)]
    odd = [(2**60 + 1, 0), (2.0**60, 2), (10**400, 0), (float("inf"), 2), (Decimal("0.1000000000000000055"), 0)]
    for cuts in (plain, [("b", 0), ("a", 0)], odd):
        known.of(cuts)
        ranks = known.ranks()
        assert ranks[0] == -1
        for texts in (False, True):
            own = [number for number, cut in enumerate(known.cuts) if cut and isinstance(cut[0], str) == texts]
            by_rank = sorted(own, key=ranks.__getitem__)
            assert by_rank == sorted(own, key=known.cuts.__getitem__)
