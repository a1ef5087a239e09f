"""Every shard is matched by the engine that was built, over its saved arrays, whatever of it is dead."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sharding_support import write_shards

import matchwood as mw
from matchwood.engines import engine_names
from matchwood.sharding import ShardSet, open_shards

EVERY = ["oracle", "auto", *engine_names()]
CLAUSES = "(a = 1 or b = 1 or c = 1) and (a < 3 or b < 3 or c < 4) and (a >= 0 or b > 1 or c > 1)"
STEPS = {"a": 1, "b": 3, "c": 5}
EVENTS = pa.table({name: [number * step % 7 for number in range(60)] for name, step in STEPS.items()})


def rules_of(count: int, seed: int = 1) -> dict[int, str]:
    """Conjunctions, and one rule that is small as clauses and large as conjunctions."""
    rng = random.Random(seed)
    texts = [f"a = {rng.randrange(7)} and b >= {rng.randrange(7)} and c != {rng.randrange(7)}" for _ in range(count)]
    return {**dict(enumerate(texts)), count: CLAUSES}


def written(path: Path, engine: str, dead: bool, **settings: Any) -> tuple[ShardSet, mw.Index]:
    """Three shards, and one index with their live rules."""
    rules = rules_of(40)
    groups = [{number: text for number, text in rules.items() if number % 3 == group} for group in range(3)]
    gone = {0: [0, 3], 1: [1]} if dead else {}
    write_shards(path, groups, gone, engine=engine, dnf_limit=8, **settings)
    whole = mw.Index("scan")
    whole.insert_many({number: text for number, text in rules.items() if number not in (0, 1, 3) or not dead})
    return open_shards(path), whole


def lists(index: mw.Index) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(len(EVENTS))]
    for hit in index.match_many(EVENTS).to_pylist():
        found[hit["event"]].append(hit["rule"])
    return found


@pytest.mark.few
@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize("engine", EVERY)
def test_the_engine_that_was_built_matches(tmp_path: Path, engine: str, dead: bool) -> None:
    shards, whole = written(tmp_path, engine, dead)
    assert shards.match_lists(EVENTS).to_pylist() == lists(whole)
    for shard in shards.walk():
        assert shard.matcher.setting == engine
        assert shard.matcher is shard.index._matcher
        told = shard.index.stats()["matching"]
        assert told["events"] == len(EVENTS)
        assert told["matched"] > 0


@pytest.mark.parametrize("engine", EVERY)
def test_ranking_by_the_engine_that_was_built(tmp_path: Path, engine: str) -> None:
    shards, whole = written(tmp_path, engine, dead=True)
    request = shards.best(2, {"a": 2.0})
    found = [(rule, score) for part in shards.answers(EVENTS, request=request) for rule, score in listed(part)]
    ranked = whole.top_many(EVENTS, 2, weights={"a": 2.0})
    assert found == list(zip(ranked["rule"].to_pylist(), ranked["score"].to_pylist(), strict=True))
    assert all(shard.index.stats()["matching"]["scored"] > 0 for shard in shards.walk())


def listed(part: Any) -> list[tuple[int, float]]:
    return list(zip(part.ids.to_pylist(), part.scores.tolist(), strict=True))


def test_kindex_takes_clauses_as_they_were_built(tmp_path: Path) -> None:
    shards, _ = written(tmp_path, "kindex", dead=True)
    held: Any = [shard.matcher for shard in shards.walk()]
    assert any(matcher.parts[0].store.has_clauses() for matcher in held)


def test_tombstones_do_not_disable_pruning(tmp_path: Path) -> None:
    """A dead rule would be the best of all; of the others only the heaviest few are worth a score."""
    rules = {number: (f"a >= {-number}", {"weight": float(number)}) for number in range(300)}
    write_shards(tmp_path, [rules], dead={0: [299, 298]}, engine="kindex")
    shards = open_shards(tmp_path)
    (answered,) = shards.answers(EVENTS.slice(0, 1), request=shards.best(2, None))
    assert listed(answered) == [(297, 298.0), (296, 297.0)]
    assert next(shards.walk()).index.stats()["matching"]["scored"] <= 20


@pytest.mark.parametrize("events", [EVENTS, EVENTS.to_pylist(), EVENTS.to_pandas()], ids=["arrow", "dicts", "pandas"])
def test_the_oracle_reads_events_of_every_kind_shard_by_shard(tmp_path: Path, events: Any) -> None:
    shards, whole = written(tmp_path, "oracle", dead=True)
    assert shards.match_lists(events).to_pylist() == lists(whole)


def test_shards_agree_on_types_with_the_oracle(tmp_path: Path) -> None:
    """To one shard `a` may be anything; a value that does not fit the other's is missing in both."""
    write_shards(tmp_path, [{1: "a is null", 2: "b = 1"}, {3: "a = 5"}], dead={0: [2]}, engine="oracle")
    events = pa.table({"a": ["x", None], "b": ["no", "number"]})
    assert open_shards(tmp_path).match_lists(events, on_error="null").to_pylist() == [[1], [1]]


def test_shards_stay_open_as_far_as_there_is_room(tmp_path: Path) -> None:
    _, whole = written(tmp_path, "counting", dead=True)
    snapshot = open_shards(tmp_path).snapshot
    first, second = (snapshot.sizes[f"base-{number}"] for number in range(2))
    for room, kept in ((0, []), (first, ["base-0"]), (first + second, ["base-0", "base-1"])):
        shards = open_shards(tmp_path, room=room)
        assert shards.match_lists(EVENTS).to_pylist() == lists(whole)
        assert sorted(shards.opened) == kept
        before = dict(shards.opened)
        shards.match_lists(EVENTS)
        assert all(shards.opened[name] is shard for name, shard in before.items())


def test_not_more_shards_stay_open_than_a_process_has_maps_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = written(tmp_path, "counting", dead=True)
    monkeypatch.setattr("matchwood.sharding.shards.MOST_OPEN", 1)
    shards = open_shards(tmp_path)
    assert shards.match_lists(EVENTS).to_pylist() == lists(whole)
    assert list(shards.opened) == ["base-0"]
