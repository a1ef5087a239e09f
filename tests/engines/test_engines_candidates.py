"""Candidates: tested by words in their lists, and verified from the store, for one event or for many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Conjunction,
    Constraint,
    Event,
    check_without,
    encode,
    encode_events,
    expected,
    found,
    random_conjunctions,
    random_events,
    stored,
)

from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import ConjunctionStore, Engine, Workspace, engine_class
from matchwood.errors import CorruptSnapshot

STEP = 2**20
"""A round label."""

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("pstbloom", {}),
    ("pstbloom", {"signatures": True}),
    ("psthash", {"dense": 0}),
    ("psthash", {"dense": 3, "access": 3}),
]


def built(name: str, store: ConjunctionStore, **options: Any) -> Engine:
    engine = engine_class(name)(store, options)
    engine.insert(store.live_units())
    return engine


def scaled(rules: list[Conjunction], step: int) -> list[Conjunction]:
    """The same rules with labels that are multiples of `step`, except for the end of the domain."""

    def label(given: int) -> int:
        return given if given == TOP_LABEL else given * step

    return [
        tuple(rule._replace(intervals=tuple((label(a), label(b)) for a, b in rule.intervals)) for rule in conjunction)
        for conjunction in rules
    ]


def events_between(rng: np.random.Generator, events: list[Event], step: int) -> list[Event]:
    """The same events with labels anywhere from one multiple of `step` to the next."""
    return [{key: value * step + int(rng.integers(step)) for key, value in event.items()} for event in events]


@pytest.mark.few
@pytest.mark.parametrize(("name", "options"), VARIANTS)
@pytest.mark.parametrize("step", [1, 2**14, 2**15, 2**20, 2**24])
def test_hits_are_the_same_however_round_labels_are(name: str, options: dict[str, Any], step: int) -> None:
    """Words, narrow sets, paired ones and wide ones."""
    rng = np.random.default_rng(step)
    store, contents = stored(scaled(random_conjunctions(rng, 700 if COMPILED else 60, 5), step))
    units = rng.permutation(store.live_units()).astype(np.int32)
    engine = engine_class(name)(store, options)
    engine.insert(np.sort(units[: len(units) * 3 // 4]))
    engine.insert(np.sort(units[len(units) * 3 // 4 :]))
    events = events_between(rng, random_events(rng, 60 if COMPILED else 8, 5), step)
    assert store.has_wide_sets is (step < 2**15)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == store.audit() == []
    check_without(engine, units[::3], contents, events)


def crowd(count: int) -> tuple[ConjunctionStore, dict[int, Conjunction]]:
    """Rules in one list that share nothing but their access predicate: ranges and lists of two attributes each."""
    access, rules = Constraint(0, ((5 * STEP, 5 * STEP + 2**15),)), []
    for number in range(count):
        first, second = 1 + number % 7, 8 + number % 5
        low, width = number % 40, 1 + number % 23
        listed = tuple((value * STEP, (value + 1) * STEP) for value in range(low % 3, 6 + 4 * (number % 4) + 90, 17))
        ranged = Constraint(second, ((low * STEP, (low + width + 20 * (number % 3)) * STEP),))
        rules.append((access, Constraint(first, listed), ranged))
    return stored(rules)


def test_many_that_match_and_few_that_match() -> None:
    """More candidates than are looked at together; some events satisfy nearly all tests, others nearly none."""
    store, contents = crowd(1_500 if COMPILED else 300)
    rng = np.random.default_rng(1)
    events = [{0: 5 * STEP, **{a: int(rng.integers(110 * STEP)) for a in range(1, 13)}} for _ in range(30)]
    events += [{0: 5 * STEP, **dict.fromkeys(range(1, 13), value * STEP)} for value in range(0, 110, 7)]
    events += [{0: 5 * STEP}, {0: 6 * STEP, 1: 0}]
    engine = built("pstbloom", store)
    hits = expected(contents, events)
    assert max(map(len, hits)) > store.live / 5 > 20 > min(map(len, hits)) == 0
    assert found(engine, encode_events(events)) == hits
    together = engine.match(encode_events(events), 0, Workspace()).work
    apart = [engine.match(encode_events([event]), 0, Workspace()).work for event in events]
    assert list(together) == [sum(column) for column in zip(*apart, strict=True)]


def test_units_that_are_gone_are_not_found() -> None:
    store, contents = crowd(400)
    engine, event = built("pstbloom", store), {0: 5 * STEP, **dict.fromkeys(range(1, 13), 17 * STEP)}
    hits = sorted(found(engine, encode_events([event]))[0])
    assert len(hits) > 10
    engine.remove(np.array(hits[::2], dtype=np.int32))
    assert found(engine, encode_events([event] * 20)) == [set(hits[1::2])] * 20
    assert engine.stats()["postings"] == len(contents)


UNUSUAL: dict[str, Conjunction] = {
    "accepts NULL": (Constraint(1, ((2 * STEP, 9 * STEP),), True),),
    "only NULL": (Constraint(1, (), True),),
    "begins between ranks": (Constraint(1, ((2 * STEP + 1, 9 * STEP),)),),
    "ends between ranks": (Constraint(1, ((2 * STEP, 9 * STEP + 7),)),),
    "has many values": (Constraint(1, tuple((2 * k * STEP, (2 * k + 1) * STEP) for k in range(9))),),
    "has more than 255": (Constraint(1, tuple((2 * k * 2**15, (2 * k + 1) * 2**15) for k in range(300))),),
    "has a large attribute": (Constraint(70_000, ((0, 9 * STEP),)),),
    "has many constraints": tuple(Constraint(a, ((0, 99 * STEP),)) for a in range(1, 130)),
    "has many sets": tuple(Constraint(a, ((0, STEP), (3 * STEP, 99 * STEP))) for a in range(1, 130)),
}


@pytest.mark.parametrize("why", UNUSUAL)
def test_what_is_unusual_has_the_same_hits(why: str) -> None:
    access = Constraint(0, ((5 * STEP, 6 * STEP),))
    plain = [(access, Constraint(2, ((0, STEP),))), (access, Constraint(3, ((STEP, TOP_LABEL),)))]
    store, contents = stored([(access, *UNUSUAL[why]), *plain, UNUSUAL[why]])
    engine = built("pstbloom", store)
    others: list[Event] = [{}, dict.fromkeys(range(1, 130), 4 * STEP), {70_000: 3}, {1: 2 * STEP + 1}, {1: 9 * STEP}]
    events = [{0: 5 * STEP + 3, **other} for other in others] * 3
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert found(engine, encode_events(events[:2])) == expected(contents, events[:2])
    assert engine.audit() == store.audit() == []


def test_the_edges_of_ranks() -> None:
    rank = 2**15
    tests = [((0, TOP_LABEL),), ((0, rank),), ((TOP_LABEL - rank + 1, TOP_LABEL),), ((7 * rank, 8 * rank),)]
    tests.append(((0, rank), (63 * rank, 64 * rank)))
    tests.append(((0, rank), (64 * rank, 65 * rank)))
    tests.append(((rank, 3 * rank), (2**30, TOP_LABEL)))
    tests.append(((rank + 1, 3 * rank), (2**30, TOP_LABEL - 1)))
    access = Constraint(0, ((0, rank),))
    store, contents = stored([(access, *(Constraint(a, test) for a in (1, 2))) for test in tests] + [(access,)])
    engine = built("pstbloom", store)
    edges = sorted({min(max(0, low + off), TOP_LABEL - 1) for t in tests for i in t for low in i for off in (-1, 0, 1)})
    events: list[Event] = [{0: 0}, {0: rank - 1, 1: 0}] + [{0: 0, 1: one, 2: two} for one in edges for two in edges]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


@pytest.mark.parametrize("name", ["pstbloom", "psthash"])
def test_words_are_divided_anew_when_attributes_have_no_room_in_them(name: str) -> None:
    store, contents = stored(
        [(Constraint(k % 3, ((k * STEP, (k + 1) * STEP),)), Constraint(90, ((0, STEP),))) for k in range(60)]
    )
    engine, bits = built(name, store), [store.rank_bits]
    for attribute in (127, 128, 600, 70_000):
        rule = (Constraint(1, ((3 * STEP, 9 * STEP),)), Constraint(attribute, ((7 * STEP, 8 * STEP),)))
        added = store.add(encode([rule]))
        contents[int(added.units[0])] = rule
        engine.insert(added.new_units)
        bits.append(store.rank_bits)
        events: list[Event] = [
            {1: 4 * STEP, attribute: 7 * STEP, 90: 5},
            {1: 4 * STEP, 90: 5},
            {attribute: 7 * STEP},
        ] * 4
        assert found(engine, encode_events(events)) == expected(contents, events)
        assert found(engine, encode_events(events[:1])) == expected(contents, events[:1])
        assert engine.audit() == store.audit() == []
    assert bits == [11, 11, 10, 9, 6]


def test_an_engine_notices_that_another_has_laid_out_its_store() -> None:
    store, _ = crowd(40)
    engine = built("pstbloom", store)
    other = built("psthash", store)
    with pytest.raises(RuntimeError, match="another engine has laid out the store of this 'pstbloom'"):
        engine.match(encode_events([{0: 5 * STEP}]), 0, Workspace())
    assert len(found(other, encode_events([{0: 5 * STEP}]))) == 1


@pytest.mark.parametrize("name", ["tests", "states"])
def test_an_audit_sees_every_number_of_candidates(name: str) -> None:
    store, _ = crowd(40)
    engine = built("pstbloom", store)
    sound = engine.arrays()
    for place in range(len(sound[name])):
        numbers = sound[name].copy()
        numbers[place] ^= 1 << (place % (8 * numbers.itemsize))
        damaged = engine_class("pstbloom")(store)
        damaged.restore({**sound, name: numbers}, engine.header())
        try:
            assert damaged.audit() != [], place
        except CorruptSnapshot:
            continue


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_lists_from_before_candidates_were_words_are_laid_out_anew(name: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    store, contents = stored(scaled(random_conjunctions(rng, 300 if COMPILED else 40, 5), STEP))
    engine = built(name, store, **options)
    arrays = {key: array for key, array in engine.arrays().items() if key not in ("tests", "states")}
    arrays |= {"heads": np.zeros(7, np.int32), "tails": np.zeros(3, np.int32), "access": np.zeros(9, np.uint16)}
    header = {**engine.header(), "options": {**engine.header()["options"], "packed": 16}}
    again = engine_class(name)(store, options)
    again.restore(arrays, header)
    events = events_between(rng, random_events(rng, 20, 5), STEP)
    assert found(again, encode_events(events)) == expected(contents, events)
    assert again.stats()["postings"] > 0
    assert again.audit() == []
    with pytest.raises(CorruptSnapshot, match="options"):
        again.restore(arrays, {**header, "options": {**header["options"], "side_by_side": False}})
