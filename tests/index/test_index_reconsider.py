"""An index that watches its own work: exact before, between and after its choices; and empty when emptied."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import matchwood
from matchwood.engines.registry import engine_names
from matchwood.matching.ledger import counters
from tests.conftest import SOAK

CHOOSING = ["pstbloom", "psthash"]
SPACES = ["sorted", "pstree"]


def rule(rng: random.Random) -> str:
    """A conjunction whose predicate on `common` is the narrowest by its width; now and then another shape."""
    low = rng.randrange(400)
    parts = [f"common = {rng.randrange(3)}", f"rare between {low} and {low + rng.randrange(60)}"]
    extra = rng.random()
    if extra < 0.2:
        parts.append(f"other {rng.choice(('<', '>=', '!='))} {rng.randrange(50)}")
    elif extra < 0.3:
        parts.append(f"(name = 'n{rng.randrange(20)}' or other is null)")
    rng.shuffle(parts)
    return " and ".join(parts)


def expected(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Events as one would expect them: values all over the place."""
    return [
        {"common": rng.randrange(100), "rare": rng.randrange(500), "other": rng.randrange(60), "name": "n3"}
        for _ in range(count)
    ]


def surprising(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Events that nearly all pass `common`, and of which few pass `rare`."""
    return [{"common": 1, "rare": 450 + rng.randrange(5_000), "other": rng.randrange(60)} for _ in range(count)]


def hits(index: matchwood.Index, events: list[dict[str, Any]]) -> list[list[Any]]:
    found = index.match_many(events)
    return [found["event"].to_pylist(), found["rule"].to_pylist()]


@pytest.mark.parametrize("spaces", SPACES if SOAK else SPACES[:1])
@pytest.mark.parametrize("engine", CHOOSING)
def test_ten_thousand_surprising_events_change_the_choice_and_no_answer(
    engine: str, spaces: str, tmp_path: Path
) -> None:
    """The window of the issue as it is; `scan` and the oracle answer the same all the time, and so do snapshots."""
    rng = random.Random(f"{engine} {spaces}")
    rules = {number: rule(rng) for number in range(600)}
    index, scan = matchwood.Index(engine, options={"spaces": spaces}), matchwood.Index("scan")
    for each in (index, scan):
        each.insert_many(rules)
    assert counters.WINDOW == 10_000
    early, late = expected(rng, 300), surprising(rng, 9_700)
    assert hits(index, early) == hits(scan, early)
    assert index.stats()["observed_events"] == 300
    index.save(tmp_path / "before")
    for first in range(0, 9_400, 1_175):
        assert hits(index, late[first : first + 1_175]) == hits(scan, late[first : first + 1_175])
    before = work(index, late[:200])
    assert (index.stats()["matching"]["events"], index.stats()["reconsidered"]) == (9_900, 0)
    assert hits(index, late[-300:]) == hits(scan, late[-300:])
    assert index.stats()["reconsidered"] == 1
    assert work(index, late[:200]) < before / 5
    index.save(tmp_path / "after")
    asked = [event for draw in (expected, surprising) for event in draw(rng, 100 if SOAK else 20)]
    oracle = matchwood.Index("oracle")
    oracle.insert_many(rules)
    answer = hits(oracle, asked)
    assert answer[0]
    for each in (index, matchwood.open(tmp_path / "before"), matchwood.open(tmp_path / "after")):
        assert (hits(each, asked), each.audit()) == (answer, [])


def work(index: matchwood.Index, events: list[dict[str, Any]]) -> int:
    """Candidates looked at for these events."""
    before = index.stats()["matching"]["candidates"]
    index.match_many(events)
    return int(index.stats()["matching"]["candidates"] - before)


@pytest.mark.long(1)
@pytest.mark.few
@pytest.mark.parametrize("spaces", SPACES)
@pytest.mark.parametrize("engine", CHOOSING)
def test_rules_come_and_go_while_choices_change(
    engine: str, spaces: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(counters, "WINDOW", 400)
    rng = random.Random(f"{spaces} {engine}")
    index, oracle = matchwood.Index(engine, options={"spaces": spaces}), matchwood.Index("oracle")
    reconsidered = 0
    for turn in range(12):
        rules = {rng.randrange(300): rule(rng) for _ in range(60)}
        for each in (index, oracle):
            each.insert_many(rules, on_duplicate="replace")
        for number in rng.sample(list(index), len(index) // 5):
            del index[number]
            del oracle[number]
        index.match_many(surprising(rng, 500) if turn % 2 else expected(rng, 500))
        asked = expected(rng, 8) + surprising(rng, 8)
        assert (hits(index, asked), index.audit()) == (hits(oracle, asked), [])
        reconsidered = max(reconsidered, index.stats()["reconsidered"])
        if turn % 4 == 3:
            index.save(tmp_path / "index")
            index = matchwood.open(tmp_path / "index")
    assert reconsidered > 0


@pytest.mark.few
@pytest.mark.parametrize("spaces", SPACES)
@pytest.mark.parametrize("engine", engine_names())
def test_an_emptied_index_is_like_a_new_one(engine: str, spaces: str) -> None:
    """After deletion and compaction: no node, posting, list, boundary or byte more than an index that had no rule."""
    rng = random.Random(5)
    index, fresh = (matchwood.Index(engine, options={"spaces": spaces}) for _ in range(2))
    fresh.compact()
    index.insert_many({number: rule(rng) for number in range(200)})
    for number in range(200, 240):
        index[number] = f"({rule(rng)}) or name like '%{number}%' or tags one of ('t{number}') or s = 'ü{number}'"
    assert hits(index, expected(rng, 50))[0]
    assert index.stats()["encoding"]["boundaries"] > 100
    for number in rng.sample(list(index), 240):
        del index[number]
    index.compact()
    # What events were like stays known, and so does the work that was done.
    kept = {"matching", "observed_events", "reconsidered"}
    after, expected_stats = index.stats(), fresh.stats()
    assert {key: value for key, value in after.items() if key not in kept} == {
        key: value for key, value in expected_stats.items() if key not in kept
    }
    assert (after["encoding"]["boundaries"], after["units"], index.audit(), index.types()) == (0, 0, [], {})
    assert hits(index, expected(rng, 5)) == [[], []]
    index["again"] = "common = 1 and name like '%x'"
    assert index.match({"common": 1, "name": "ax"}) == ["again"]
