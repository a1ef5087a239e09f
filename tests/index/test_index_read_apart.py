"""Rules whose texts were read by other processes are stored as if the index had read them itself, to the bit."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from matchwood import Index
from matchwood.encoding import RuleReader, packed_rules, unpacked_rules
from matchwood.matching import PackedChunk, ReadRules, RulesApart
from matchwood.matching.loading import load as bulk
from matchwood.matching.loading import read_rules, sources
from tests.conftest import SOAK
from tests.index.test_index_compiled import SCHEMAS, assert_same, mixed_texts, one_typed, refused, text

CHUNK = 700


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "LEAST_COMPILED", 128)
    monkeypatch.setattr(sources, "CHUNK_RULES", CHUNK)


def table(texts: list[str | None]) -> pa.Table:
    """Every seventh rule has a weight, and a few have weights by attribute, which kernels do not take."""
    count = range(len(texts))
    return pa.table(
        {
            "id": pa.array(count, pa.int64()),
            "expression": pa.array(texts, pa.string()),
            "weight": pa.array([2.5 if number % 7 == 0 else None for number in count], pa.float64()),
            "weights": pa.array(['{"n0": 2.0}' if number % 301 == 5 else None for number in count], pa.string()),
        }
    )


def read_apart(rules: pa.Table, seed: int = 3, **settings: Any) -> list[PackedChunk]:
    """The chunks as several processes would read them: in any order, each by one of two readers."""
    rng = random.Random(seed)
    readers = [RulesApart(Index(**settings)) for _ in range(2)]
    batches = rules.combine_chunks().to_batches(max_chunksize=CHUNK)
    order = rng.sample(range(len(batches)), len(batches))
    read = {place: rng.choice(readers).read(batches[place]) for place in order}
    return [PackedChunk(pa.py_buffer(each.rules.to_pybytes()), each.compiled) for _, each in sorted(read.items())]


def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts an index reads itself, call by call."""
    read: list[int] = []
    whole = RuleReader.read

    def counted(self: RuleReader, data: Any, starts: Any, *more: Any) -> Any:
        read.append(len(starts))
        return whole(self, data, starts, *more)

    monkeypatch.setattr(RuleReader, "read", counted)
    return read


@pytest.mark.long(1)
@pytest.mark.few
@pytest.mark.parametrize("engine", ["scan", "kindex", "atree", "auto"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=["inferred", "declared"])
def test_what_was_read_apart_is_stored_the_same(engine: str, schema: Any) -> None:
    """Good rules and bad ones, types that are disputed, NULL for a text: whatever a table may hold."""
    rng = random.Random(8)
    rules = table(
        [*(text(rng, 30) for _ in range(2_300 if SOAK else 900)), None, *mixed_texts()[: 400 if SOAK else 150]]
    )
    settings: dict[str, Any] = {"engine": engine, "schema": schema}
    alone, together = Index(**settings), Index(**settings)
    expected = alone.insert_many(rules, max_rejected=1.0)
    report = together.insert_many(ReadRules(read_apart(rules, **settings)), max_rejected=1.0)
    assert str(report) == str(expected)
    assert refused(report) == refused(expected)
    assert report.rejected.num_rows > 10
    assert_same(together, alone)


@pytest.mark.parametrize("engine", ["scan", "auto"])
def test_nothing_is_read_twice(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = table([*one_typed(2_000)])
    chunks = read_apart(rules, engine=engine)
    alone, together = Index(engine), Index(engine)
    alone.insert_many(rules)
    read = texts_read(monkeypatch)
    assert together.insert_many(ReadRules(chunks)).inserted == 2_000
    assert read == []
    assert_same(together, alone)


def test_what_would_be_too_large_is_read_where_it_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = table([*one_typed(1_400)])
    monkeypatch.setattr(read_rules, "MOST_PACKED", 10)
    chunks = read_apart(rules)
    assert [chunk.compiled for chunk in chunks] == [b"", b""]
    alone, together = Index(), Index()
    alone.insert_many(rules)
    read = texts_read(monkeypatch)
    together.insert_many(ReadRules(chunks))
    assert read == [CHUNK, CHUNK]
    assert_same(together, alone)


def test_the_majority_decides_types_also_of_what_was_read_apart() -> None:
    """The first rules are outvoted by those of the last chunk, so that all are walked again."""
    rules = table([*("kind = 'a' and n > 1" for _ in range(600)), *(f"kind = {number}" for number in range(1_500))])
    alone, together = Index(), Index()
    expected = alone.insert_many(rules, max_rejected=1.0)
    report = together.insert_many(ReadRules(read_apart(rules)), max_rejected=1.0)
    assert refused(report) == refused(expected)
    assert (report.inserted, len(report.rejected)) == (1_500, 600)
    assert together.types() == {"kind": "number"}
    assert_same(together, alone)


def test_only_what_rules_use_travels() -> None:
    """A reader knows the predicates of all chunks that it has read; a chunk takes its own along."""
    reader = RulesApart(Index())
    first = reader.read(table([f"age > {number} and city = 'c{number}'" for number in range(CHUNK)]).to_batches()[0])
    second = reader.read(table(["age > 5 and not vip"] * CHUNK).to_batches()[0])
    assert len(second.compiled) < len(first.compiled) / 2
    carried = unpacked_rules(second.compiled)
    assert carried._book.keys.keys == ["age", "vip"]
    assert packed_rules(carried) == second.compiled


def test_every_kind_of_constant_arrives() -> None:
    """Whole numbers and doubles stay apart; decimals that no double stands for keep their digits."""
    constants = ("3", "3.5", "1e300", "-1e-300", "99999999999999999999", "0.1000000000000000055", "-0.0", "true")
    texts = [f"x{place} {op} {each}" for place, each in enumerate(constants) for op in ("=", "!=") if place < 7]
    texts += ["y = true", "s < 'ä\U0001f600'", "s like 'a\\_%'", "t >= timestamp '2026-01-01 00:00:00'", "s = 'it''s'"]
    rules = table([texts[number % len(texts)] for number in range(400)])
    alone, together = Index(engine="scan"), Index(engine="scan")
    assert not alone.insert_many(rules).rejected.num_rows
    together.insert_many(ReadRules(read_apart(rules, engine="scan")))
    assert_same(together, alone)
