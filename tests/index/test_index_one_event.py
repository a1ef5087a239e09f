"""One event after the other: kept ready while nothing changes, made anew when something does, the same answers."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

import matchwood as mw
from matchwood.choosing import rehearse_changes, rehearse_reading
from matchwood.engines.shared import one_event
from matchwood.matching.engine_matcher import EngineMatcher
from matchwood.matching.one_event import OneEventMatching
from matchwood.rules import ids

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("auto", {}),
    ("pstbloom", {}),
    ("pstbloom", {"signatures": True}),
    ("pstbloom", {"side_by_side": False}),
    ("psthash", {"dense": 0, "access": 3, "most_spaces": 64}),
    ("psthash", {"as_published": True}),
    ("pstbloom", {"spaces": "pstree"}),
    ("counting", {}),
    ("scan", {}),
    ("kindex", {}),
    ("kindex", {"direct": False, "compressed": True}),
    ("kindex", {"as_published": True}),
    ("betree", {}),
    ("betree", {"as_published": True}),
    ("atree", {}),
    ("atree", {"zero_suppression": False}),
    ("hem", {}),
]


def rule(rng: random.Random) -> str:
    parts = [
        f"a >= {rng.randrange(20)}",
        f"b in ({rng.randrange(9)}, {rng.randrange(9)}, {20 + rng.randrange(9)})",
        f"c != 'c{rng.randrange(4)}'",
        f"d between {rng.randrange(9)}.5 and {9 + rng.randrange(9)}",
        "e is null",
        f"name like 'n{rng.randrange(3)}%'",
    ]
    return rng.choice((" and ", " and ", " or ")).join(rng.sample(parts, rng.randrange(1, 4)))


def event(rng: random.Random) -> dict[str, Any]:
    given = {
        "a": rng.randrange(25),
        "b": rng.randrange(30),
        "c": f"c{rng.randrange(5)}",
        "d": rng.choice((3, 4.5, 12, None)),
        "e": rng.choice((None, True)),
        "name": f"n{rng.randrange(4)}x",
        "unknown": 1,
    }
    return {name: given[name] for name in rng.sample(list(given), rng.randrange(len(given) + 1))}


def pair(engine: str, options: dict[str, Any], rng: random.Random, ids: Any = str) -> tuple[mw.Index, mw.Index]:
    rules = {ids(number): rule(rng) for number in range(120)}
    made = mw.Index(engine, options=options), mw.Index("oracle")
    for index in made:
        index.insert_many(rules)
    return made


def agree(index: mw.Index, oracle: mw.Index, rng: random.Random, count: int = 12) -> None:
    for _ in range(count):
        given = event(rng)
        assert index.match(given) == oracle.match(given), given


@pytest.mark.long(6)
@pytest.mark.parametrize(("engine", "options"), SETTINGS)
def test_single_events_are_answered_by_the_rules_as_they_are(engine: str, options: dict[str, Any]) -> None:
    rng = random.Random(f"{engine} {options}")
    index, oracle = pair(engine, options, rng)
    agree(index, oracle, rng)
    for number in range(6):
        for each in (index, oracle):
            each[f"new {number}"] = f"a >= {3 * number} and b < {number + 4}"
        agree(index, oracle, rng, 4)
        for each in (index, oracle):
            del each[str(7 * number)]
        agree(index, oracle, rng, 4)
    index.insert_many({"0": "a < 5", "many": "(a > 3 or b = 2) and (c = 'c1' or d > 4)"}, on_duplicate="replace")
    oracle.insert_many({"0": "a < 5", "many": "(a > 3 or b = 2) and (c = 'c1' or d > 4)"}, on_duplicate="replace")
    agree(index, oracle, rng)
    index.compact()
    oracle.compact()
    agree(index, oracle, rng)
    for each in (index, oracle):
        each.clear()
        each["alone"] = "a >= 3"
    agree(index, oracle, rng)
    assert index.audit() == []


@pytest.mark.parametrize("engine", ["auto", "pstbloom", "scan", "atree"])
def test_attributes_that_are_numbered_anew_keep_what_is_known_of_their_own_numbers(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many([(number, f"a{number} = 1") for number in range(10)])
    everything = {f"a{number}": 1 for number in range(10)}
    assert index.match(everything) == list(range(10))
    for number in range(8):
        del index[number]
    index.compact()
    assert index.match(everything) == [8, 9]
    for number, text, event in ((100, "a9 = 5", {"a9": 5}), (101, "a8 > 1", {"a8": 4}), (102, "a9 > 9", {"a9": 10})):
        index[number] = text
        assert index.match(event) == index.match_many([event])["rule"].to_pylist() == [number]


def kept(index: mw.Index) -> Any:
    matcher = index._matcher
    assert isinstance(matcher, EngineMatcher)
    return matcher.one_event


@pytest.mark.parametrize(
    "engine", ["pstbloom", "psthash", "auto", "scan", "counting", "kindex", "betree", "atree", "hem"]
)
def test_what_is_kept_ready_is_used_until_something_changes(engine: str) -> None:
    index, _ = pair(engine, {}, random.Random(1))
    ready = kept(index)
    assert ready.ids({"a": 3}) == index.match_many([{"a": 3}])["rule"].to_pylist() != []
    assert kept(index) is ready
    index.match_many([{"a": 3}, {"a": 24}])
    assert kept(index) is ready
    for change in (
        lambda: index.__setitem__("x", "a > 1"),
        lambda: index.__delitem__("x"),
        index.compact,
        index._matcher.reconsider,
        lambda: index._matcher.rebuild(),
    ):
        ready = kept(index)
        change()
        assert kept(index) is not ready


def test_rules_beside_the_first_part_go_the_way_of_batches() -> None:
    index = mw.Index("pstbloom", dnf_limit=2)
    index["whole"] = "(a > 3 or b = 2) and (c = 'c1' or d > 4)"
    index["plain"] = "a > 3"
    assert kept(index).ids({"a": 4, "d": 5}) is None
    assert index.match({"a": 4, "d": 5}) == ["whole", "plain"]


def test_an_event_with_more_pairs_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_event, "MOST_PAIRS", 0)
    index = mw.Index("pstbloom")
    index["a"] = "x = 1"
    search = kept(index)._search
    assert search.hits(bytes(8)) is not None
    assert search.hits(bytes(16)) is None


def test_values_that_do_not_fit_are_told_as_before() -> None:
    index = mw.Index("pstbloom", schema={"a": "int"})
    index["big"] = "a > 3"
    assert index.match({"a": 4}) == ["big"]
    with pytest.raises(mw.EventError, match="'a' must be int"):
        index.match({"a": "x"})
    assert index.match({"a": "x"}, on_error="null") == []
    with pytest.raises(mw.EventError, match="no 'a'"):
        index.match({}, missing="error")
    assert index.stats()["misfits"] == {"a": 1}


def test_every_thread_keeps_its_own() -> None:
    rng = random.Random(5)
    index, oracle = pair("pstbloom", {}, rng)
    given = [event(rng) for _ in range(60)]
    wanted, wrong = [oracle.match(each) for each in given], []

    def ask() -> None:
        wrong.extend(place for place in range(60) if index.match(given[place]) != wanted[place])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("kind", [int, str])
def test_ids_are_the_same_once_they_are_kept(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "KEPT_SHARE", 1)
    rng = random.Random(6)
    index, oracle = pair("pstbloom", {}, rng, kind)
    agree(index, oracle, rng, 40)
    assert index._table._ids._kept == (120 if kind is str else 0)
    for each in (index, oracle):
        each.insert_many({kind(1_000 + number): "a >= 0" for number in range(5)})
        del each[kind(3)]
    agree(index, oracle, rng, 40)
    index.compact()
    agree(index, oracle, rng, 20)
    assert sorted(index) == sorted(oracle)


@pytest.mark.parametrize("rehearse", [rehearse_changes, rehearse_reading])
def test_the_short_way_is_rehearsed(rehearse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its kernels are compiled while others wait."""
    answered, ids = set(), OneEventMatching.ids

    def watched(kept: OneEventMatching, event: Any) -> Any:
        found = ids(kept, event)
        answered.add(found is not None)
        return found

    monkeypatch.setattr(OneEventMatching, "ids", watched)
    rehearse(mw.Index("pstbloom"))
    assert True in answered
