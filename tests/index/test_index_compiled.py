"""Rules that are read as columns are stored as if each had been parsed and prepared by itself, and in turn."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from matchwood import Index
from matchwood.language import parse
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading import preparation, sources
from matchwood.matching.loading.report import Report

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


class Unremembered:
    """Stands for the memory of predicates, and has none."""

    def __init__(self, encoder: Any) -> None:
        self.bind = encoder.bind

    def read(self, given: str) -> tuple[Any, None]:
        return parse(given), None


def in_turn(monkeypatch: pytest.MonkeyPatch, index: Index, given: Any, **options: Any) -> Report:
    with monkeypatch.context() as patch:
        patch.setattr(bulk, "LEAST_COMPILED", 10**9)
        patch.setattr(preparation, "KnownPredicates", Unremembered)
        return index.insert_many(given, **options)


def state(index: Index) -> dict[str, Any]:
    parts = {"matcher": index._matcher, "encoder": index._encoder, "table": index._table}
    arrays = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.arrays().items()}
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
    whole = bulk.Batch.with_compiled

    def with_compiled(*given: Any) -> Any:
        taken.append(len(given[-1]))
        return whole(*given)

    monkeypatch.setattr(bulk.Batch, "with_compiled", with_compiled)
    return taken


SCHEMAS: tuple[Any, ...] = (
    None,
    {"n0": "int", "n1": "double", "t0": "date", "t1": "timestamp", "s0": "string", "n2": "any"},
)


@pytest.mark.parametrize("engine", ["scan", "counting", "atree", "auto"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=["inferred", "declared"])
def test_columns_give_what_single_rules_give(engine: str, schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK_RULES", 700)
    given = rules(7, 2_800)
    alone = Index(engine, schema=schema)
    expected = in_turn(monkeypatch, alone, given)
    taken = counted(monkeypatch)
    together = Index(engine, schema=schema)
    report = together.insert_many(given)
    assert str(report) == str(expected)
    assert report.rejected.equals(expected.rejected)
    assert report.rejected.num_rows > 10
    assert sum(taken) > 400
    assert_same(together, alone)


@pytest.mark.parametrize("seed", range(6))
def test_chunks_of_any_rules(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where types are disputed, ids come twice or exist, and rules come one chunk after the other."""
    monkeypatch.setattr(sources, "CHUNK_RULES", 600)
    rng = random.Random(seed)
    given = rules(seed, 1_800, attributes=rng.choice((4, 30, 90)))
    if seed % 3 == 1:
        given[rng.randrange(600)] = given[rng.randrange(600, 1_200)]
    if seed % 3 == 2:
        given[1_000:1_000] = [(f"text {number}", "n0 = 1") for number in range(3)]
    options = {"on_duplicate": rng.choice(("error", "replace"))}
    engine = rng.choice(("scan", "atree"))
    alone, together = Index(engine, strict_schema=False), Index(engine)
    for _ in range(2):
        expected, report = in_turn(monkeypatch, alone, given, **options), together.insert_many(given, **options)
        assert str(report) == str(expected)
        assert report.rejected.equals(expected.rejected)
        assert_same(together, alone)
        given = given[300:900]


