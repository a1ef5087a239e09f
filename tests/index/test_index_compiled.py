"""Rules that are read as columns are stored as if each had been parsed and prepared by itself, and in turn."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from matchwood import Index
from matchwood.encoding.rules import compiled_rules
from matchwood.engines import ConjunctionStore
from matchwood.errors import InvalidArgument
from matchwood.matching import EngineMatcher
from matchwood.matching.loading import batches, sources, votes
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading.report import Report
from tests import cases, pools
from tests.conftest import SOAK
from tests.encoding.compiled_support import nested
from tests.language.language_support import load, load_lines

INTEGERS = ("0", "1", "+7", "-3", "41", "999999999999999999", "9007199254740993")
LARGE = ("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 40)
FRACTIONS = ("1.0", "1.50", "-0.0", "5.", "0.1", "9007199254740992.0", "1e3")
STRINGS = (
    "''",
    "'a'",
    "'b'",
    "'it''s'",
    "'a and b'",
    "' and s0 = '",
    "'ß'",
    "'🙂'",
    "'between 1 and 2'",
    "'a%'",
    "'A'",
)
MOMENTS = ("date '2024-02-29'", "timestamp '2024-02-29 12:00:00'", "timestamp '2024-02-29 12:00:00.5+02:00'")
DOUBLES = ("cast('NaN' as double)", "cast('Infinity' as double)", "cast('-Infinity' as double)")
JSON = json.dumps({"and": [{"attr": "n0", "op": ">", "value": 5}, {"attr": "b0", "op": "=", "value": True}]})
JOINTS = (" AND ", "  and ", "\nand ", " and\t", " or ", " xor ")
COMPARED = ("=", "==", "!=", "<>", "<", "<=", ">", ">=")


def constant(rng: random.Random, name: str) -> str:
    """A constant that mostly suits an attribute."""
    kind = name[0] if rng.random() < 0.995 else rng.choice("nsbt")
    if kind == "n":
        return rng.choice(INTEGERS + FRACTIONS if rng.random() < 0.98 else LARGE + DOUBLES)
    if kind == "b":
        return rng.choice(("true", "false"))
    return rng.choice(STRINGS if kind == "s" else MOMENTS)


def predicate(rng: random.Random, attributes: int, plain: bool) -> str:
    name = rng.choice("nnnnnnnnnnssssbt") + str(rng.randrange(attributes))
    draw = rng.random() * (0.87 if plain else 1)
    if draw < 0.55:
        return f"{name} {rng.choice(COMPARED)} {constant(rng, name)}"
    if draw < 0.7:
        constants = ", ".join(constant(rng, name) for _ in range(rng.randint(1, 4)))
        return f"{name} {rng.choice(('in', 'in', 'not in'))} ({constants})"
    if draw < 0.84:
        word = rng.choice(("between", "between", "not between"))
        return f"{name} {word} {constant(rng, name)} and {constant(rng, name)}"
    if draw < 0.87:
        return rng.choice((f"{name} is null", f"{name} is not null", f"b{rng.randrange(attributes)}"))
    return rng.choice(
        (
            f"{constant(rng, name)} < {name}",
            f"{name}>={constant(rng, name)}",
            f"s{rng.randrange(attributes)} {rng.choice(('like', 'not like', 'rlike', 'ilike'))} {rng.choice(STRINGS)}",
            f"tags{rng.randrange(2)} one of ('a', 'b')",
            f"`odd name` = {constant(rng, 'n')}",
            f"a.b.c = {constant(rng, 'n')}",
            f"not {name} = {constant(rng, name)}",
            f"({name} = {constant(rng, name)} or n0 = 1)",
        )
    )


def text(rng: random.Random, attributes: int) -> str:
    plain = rng.random() < 0.8
    joint = " and " if plain or rng.random() < 0.5 else rng.choice(JOINTS)
    return joint.join(predicate(rng, attributes, plain) for _ in range(rng.choice((1, 2, 3, 5, 8))))


def rule(rng: random.Random, number: int, attributes: int) -> tuple[Any, ...]:
    given = text(rng, attributes)
    draw = rng.random()
    if draw < 0.01:
        return number, given[: rng.randrange(len(given) + 1)]
    if draw < 0.02:
        return number, rng.choice(("", "true", "false", "n0 = 'x' and n0 = 1", "n1 = '\ud800'", "n1 in (1, 'a')"))
    if draw < 0.03:
        return number, JSON
    if draw < 0.04:
        return number, given, {"weight": 2.0}
    return number, given


def rules(seed: int, count: int, attributes: int = 30) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    return [rule(rng, number, attributes) for number in range(count)]


def refused(report: Report) -> list[dict[str, Any]]:
    """What was refused, and why. How many others say so is as many as were known by then, which is not in turn."""
    return [
        {**row, "error": re.sub(r" and [0-9,]+ other rules?", "", row["error"])} for row in report.rejected.to_pylist()
    ]


def in_turn(monkeypatch: pytest.MonkeyPatch, index: Index, given: Any, **options: Any) -> Report:
    with monkeypatch.context() as patch:
        patch.setattr(bulk, "LEAST_COMPILED", 10**9)
        patch.setattr(votes, "LEAST_COMPILED", 10**9)
        return index.insert_many(given, max_rejected=1.0, **options)


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of these tests are small."""
    monkeypatch.setattr(bulk, "LEAST_COMPILED", 128)
    monkeypatch.setattr(votes, "LEAST_COMPILED", 128)


NUMBERED = ("words", "sets", "slots", "set_slots")
"""Arrays of a store that depend on the order in which it met its constraints, and in what portions."""


def state(index: Index) -> dict[str, Any]:
    matcher = index._matcher
    parts = {"matcher": matcher, "encoder": index._encoder, "table": index._table}
    arrays = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.arrays().items()}
    for store in [name.removesuffix("set_slots") for name in arrays if name.endswith(".set_slots")]:
        for name in NUMBERED:
            del arrays[store + name]
    assert isinstance(matcher, EngineMatcher)
    for number, part in enumerate(matcher.parts):
        if isinstance(part.store, ConjunctionStore):
            said = part.store.encoded(np.arange(part.store.count, dtype=np.int32))
            arrays |= {f"said.{number}.{key}": value for key, value in said._asdict().items()}
    return {**arrays, **{f"{name}.header": json.dumps(part.header()) for name, part in parts.items()}}


def assert_same(index: Index, other: Index) -> None:
    mine, theirs = state(index), state(other)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert np.array_equal(value, theirs[name]), name
    assert index._encoder.schema._witnesses == other._encoder.schema._witnesses
    assert index.audit() == []


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rules that were read as columns and stored so, chunk by chunk."""
    taken: list[int] = []
    whole = batches.Batch.with_compiled

    def with_compiled(*given: Any) -> Any:
        taken.append(len(given[-1]))
        return whole(*given)

    monkeypatch.setattr(batches.Batch, "with_compiled", with_compiled)
    return taken


SCHEMAS: tuple[Any, ...] = (
    None,
    {"n0": "int", "n1": "double", "t0": "date", "t1": "timestamp", "s0": "string", "n2": "any"},
)


@pytest.mark.long(3)
@pytest.mark.few
@pytest.mark.parametrize("engine", ["scan", "counting", "kindex", "atree", "auto"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=["inferred", "declared"])
def test_columns_give_what_single_rules_give(engine: str, schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = 700 if SOAK else 200
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    given = rules(7, 4 * chunk)
    alone = Index(engine, schema=schema)
    expected = in_turn(monkeypatch, alone, given)
    taken = counted(monkeypatch)
    together = Index(engine, schema=schema)
    report = together.insert_many(given, max_rejected=1.0)
    assert str(report) == str(expected)
    assert refused(report) == refused(expected)
    assert report.rejected.num_rows > 10
    assert sum(taken) > chunk // 2
    assert_same(together, alone)


@pytest.mark.parametrize("seed", range(6 if SOAK else 3))
def test_chunks_of_any_rules(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where types are disputed, ids come twice or exist, and rules come one chunk after the other."""
    chunk = 600 if SOAK else 250
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    rng = random.Random(seed)
    given = rules(seed, 3 * chunk, attributes=rng.choice((4, 30, 90)))
    if seed % 3 == 1:
        given[rng.randrange(chunk)] = given[rng.randrange(chunk, 2 * chunk)]
    if seed % 3 == 2:
        given[chunk * 5 // 3 : chunk * 5 // 3] = [(f"text {number}", "n0 = 1") for number in range(3)]
    options = {"on_duplicate": rng.choice(("error", "replace"))}
    engine = rng.choice(("scan", "kindex", "atree"))
    alone, together = Index(engine, strict_schema=False), Index(engine)
    for _ in range(2):
        expected, report = (
            in_turn(monkeypatch, alone, given, **options),
            together.insert_many(given, max_rejected=1.0, **options),
        )
        assert str(report) == str(expected)
        assert refused(report) == refused(expected)
        assert_same(together, alone)
        given = given[chunk // 2 : chunk * 3 // 2]


@pytest.mark.long(2)
@pytest.mark.parametrize("engine", ["scan", "pstbloom", "betree", "auto", "atree"])
def test_rules_are_replaced_as_columns(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of them new, a few that kernels do not take, and old ones that these do not take either."""
    texts = one_typed(2_000)
    before = [(number, "`a` = 1" if number % 40 == 0 else texts[number]) for number in range(600)]
    after = [
        (number, "`b` >= 2" if number % 50 == 0 else texts[1_000 + number], {"weight": 2.0})
        for number in range(300, 900)
    ]
    alone, together = Index(engine), Index(engine)
    in_turn(monkeypatch, alone, before)
    together.insert_many(before, max_rejected=1.0)
    taken = counted(monkeypatch)
    expected = in_turn(monkeypatch, alone, after, on_duplicate="replace")
    report = together.insert_many(after, max_rejected=1.0, on_duplicate="replace")
    assert (report.inserted, report.replaced) == (expected.inserted, expected.replaced) == (300, 300)
    assert sum(taken) > 500
    assert_same(together, alone)
    assert together._encoder.schema.counts() == alone._encoder.schema.counts()


def test_old_rules_do_not_make_new_ones_forget_their_predicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predicates are forgotten when there are too many: also between reading new rules and those that they replace."""
    texts = one_typed(1_200)
    before, after = list(enumerate(texts[:600])), list(enumerate(texts[600:]))
    alone, together = Index("scan"), Index("scan")
    in_turn(monkeypatch, alone, before)
    together.insert_many(before, max_rejected=1.0)
    expected = in_turn(monkeypatch, alone, after, on_duplicate="replace")
    monkeypatch.setattr(compiled_rules, "MOST_PREDICATES", 1)
    taken = counted(monkeypatch)
    report = together.insert_many(after, max_rejected=1.0, on_duplicate="replace")
    assert (report.replaced, expected.replaced) == (600, 600)
    assert sum(taken) > 500
    assert_same(together, alone)


def test_a_type_that_only_replaced_rules_had_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules in columns are against those that they replace: all are taken in turn, and each is judged in its place."""
    before = [(number, "a = 1" if number < 200 else "b = 1") for number in range(400)]
    after = [(number, "a = 'x'" if number < 200 else "b = 2") for number in range(400)]
    alone, together = Index("scan"), Index("scan")
    for index in (alone, together):
        index.insert_many(before)
    expected = in_turn(monkeypatch, alone, after, on_duplicate="replace")
    report = together.insert_many(after, on_duplicate="replace", max_rejected=1.0)
    assert str(report) == str(expected)
    assert refused(report) == refused(expected)
    assert_same(together, alone)


def mixed_texts() -> list[str]:
    """Every rule of the language's fixtures, good and bad, and random ones of every operator and type."""
    rng = random.Random(11)
    fixtures = [*load_lines("identity.txt", 50), *(given for name in ("bad", "canonical") for given, _ in pairs(name))]
    expressions = [
        cases.expression(rng, pools.palettes(rng), leaves=rng.randint(1, 9)) for _ in range(400 if SOAK else 60)
    ]
    nests = [nested(rng, rng.randint(1, 3)) for _ in range(400 if SOAK else 60)]
    texts = [*fixtures, *map(str, expressions), *nests]
    rng.shuffle(texts)
    return texts


def pairs(name: str) -> list[tuple[str, str]]:
    return load(f"{name}.txt", 20)


@pytest.mark.long(2)
@pytest.mark.parametrize("engine", ["scan", "kindex", "atree", "auto"])
def test_good_and_bad_rules_of_every_kind_in_one_batch(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = mixed_texts()
    given = pa.table({"id": [f"rule {number}" for number in range(len(texts))], "expression": texts})
    alone, together = Index(engine), Index(engine)
    expected = in_turn(monkeypatch, alone, given)
    report = together.insert_many(given, max_rejected=1.0)
    assert str(report) == str(expected)
    assert refused(report) == refused(expected)
    assert report.rejected.num_rows > 50
    assert_same(together, alone)


def one_typed(count: int) -> list[str]:
    """Nests over attributes that have one type each, so that no rule is against another."""
    rng = random.Random(3)
    return [nested(rng, rng.randint(1, 4)) for _ in range(count)]


@pytest.mark.long(2)
@pytest.mark.parametrize("engine", ["scan", "pstbloom", "betree", "auto", "atree"])
def test_nested_rules_as_columns(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = 500 if SOAK else 200
    monkeypatch.setattr(sources, "CHUNK_RULES", chunk)
    given = pa.table({"id": list(range(2 * chunk + 200)), "expression": one_typed(2 * chunk + 200)})
    alone, together = Index(engine), Index(engine)
    expected = in_turn(monkeypatch, alone, given)
    taken = counted(monkeypatch)
    assert str(together.insert_many(given, max_rejected=1.0)) == str(expected)
    assert_same(together, alone)
    assert sum(taken) > len(given) * 3 // 4


@pytest.mark.parametrize("options", [{}, {"unique": False}, {"reorganise": False}, {"self_adjust": False}])
def test_trees_take_all_rules_as_columns(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of very many conjunctions, constant ones, and beside rules that kernels do not take, with which they
    share leaves."""
    texts = one_typed(300)
    constant = ["q1 = 1 or not q1 = 1 or q1 is null", "false"]
    texts[50:250:50] = [*constant, "`q1` = 1 and q2 >= 2", "`q1` = 1 or (p0 and `q2` = 2)"]
    texts += [" and ".join(f"(p{place} or q{place + number} = 1)" for place in range(12)) for number in range(1, 5)]
    texts += ["q1 = 1 xor (q2 = 1 and (q3 >= 2 or p0))", "`q1` = 1 xor (q2 = 1 and (q3 >= 2 or p0))"]
    given = pa.table({"id": list(range(len(texts))), "expression": texts})
    alone, together = Index("atree", options=options), Index("atree", options=options)
    expected, taken = in_turn(monkeypatch, alone, given), counted(monkeypatch)
    assert str(together.insert_many(given, max_rejected=1.0)) == str(expected)
    assert_same(together, alone)
    assert sum(taken) > len(given) - 10
    assert together.audit() == alone.audit()


def arrow_forms(given: pa.Table) -> dict[str, Any]:
    """The same rules in all the ways in which Arrow has strings, and in batches of odd sizes."""
    texts, ids = given["expression"].combine_chunks(), given["id"].combine_chunks()
    return {
        "table": given,
        "large": given.set_column(1, "expression", texts.cast(pa.large_string())),
        "view": given.set_column(1, "expression", texts.cast(pa.string_view())),
        "dictionary": given.set_column(1, "expression", texts.dictionary_encode()),
        "small batches": pa.Table.from_batches(given.to_batches(max_chunksize=70)).to_reader(max_chunksize=70),
        "sliced": pa.concat_tables([given.slice(0, 3), given]).slice(3),
        "weights that are NULL": given.append_column("weight", pa.nulls(len(given), pa.float64())),
        "tuples": list(zip(ids.to_pylist(), texts.to_pylist(), strict=True)),
    }


def test_all_ways_to_hand_rules_over_are_taken_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", 300)
    given = pa.table({"id": list(range(1_200)), "expression": one_typed(1_200)})
    alone = Index("scan")
    in_turn(monkeypatch, alone, given)
    for name, rules_given in arrow_forms(given).items():
        with monkeypatch.context() as patch:
            taken = counted(patch)
            index = Index("scan")
            index.insert_many(rules_given, max_rejected=1.0)
            assert_same(index, alone)
            assert len(taken) == 4, name
            assert sum(taken) > 900, name


def test_weights_and_missing_texts_beside_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str | None] = [*one_typed(400)]
    texts[7] = None
    weights = [2.5 if number % 50 == 0 else None for number in range(400)]
    given = pa.table({"id": list(range(400)), "expression": texts, "weight": weights})
    alone, together = Index("scan"), Index("scan")
    expected, taken = in_turn(monkeypatch, alone, given), counted(monkeypatch)
    report = together.insert_many(given, max_rejected=1.0)
    assert refused(report) == refused(expected)
    assert report.rejected["id"].to_pylist()[0] == 7
    assert_same(together, alone)
    assert sum(taken) > 300


def test_text_that_is_not_utf8_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    with pytest.raises(InvalidArgument, match="column 'expression' of the rules holds text that is not UTF-8"):
        Index("scan").insert_many(pa.table({"id": [1], "expression": broken}))
    with pytest.raises(InvalidArgument, match="column 'id' of the rules holds text that is not UTF-8"):
        Index("scan").insert_many(pa.table({"id": broken, "expression": ["x = 1"]}))


@pytest.mark.parametrize("strict", [False, True])
def test_declared_types_and_strict_schemas(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"a": "int", "b": "double", "c": "int", "d": "int", "e": "double", "sa": "string", "m": "map<string, int>"}
    texts = [*one_typed(300), "a = 1.5", "a = 'x'", "m = 1", "m.k = 1", "m.k = 'x'", "a in (1, 2.5)", "a in (1, 2.0)"]
    given = list(enumerate(texts))
    alone, together = (Index("scan", schema=schema, strict_schema=strict) for _ in range(2))
    expected, report = in_turn(monkeypatch, alone, given), together.insert_many(given, max_rejected=1.0)
    assert refused(report) == refused(expected)
    assert report.rejected.num_rows >= 3
    assert_same(together, alone)
