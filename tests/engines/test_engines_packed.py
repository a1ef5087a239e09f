"""Packed candidates: verified together, with the same answers as one by one; what cannot be packed is not."""

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
    encode_events,
    expected,
    found,
    random_conjunctions,
    random_events,
    stored,
)

from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import ConjunctionStore, Engine, Workspace, engine_class
from matchwood.engines.pst._packing_kernels import MOST_ATTRIBUTES, MOST_ENTRIES, MOST_PIECES
from matchwood.errors import CorruptSnapshot

STEP = 2**20
"""A round label."""

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("pstbloom", {"packed": 1}),
    ("pstbloom", {"packed": 3}),
    ("psthash", {"packed": 1, "dense": 0}),
    ("psthash", {"packed": 2, "dense": 3, "access": 3}),
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
def test_packed_candidates_have_the_same_hits(name: str, options: dict[str, Any], step: int) -> None:
    rng = np.random.default_rng(step)
    store, contents = stored(scaled(random_conjunctions(rng, 700 if COMPILED else 60, 5), step))
    units = rng.permutation(store.live_units()).astype(np.int32)
    engine = engine_class(name)(store, options)
    engine.insert(np.sort(units[: len(units) * 3 // 4]))
    engine.insert(np.sort(units[len(units) * 3 // 4 :]))
    events = events_between(rng, random_events(rng, 60 if COMPILED else 8, 5), step)
    assert not COMPILED or engine.stats()["packed_postings"] > (50 if step >= 2**15 else 0)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []
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
    """more candidates than a block holds; some events satisfy nearly all first tests, others nearly none."""
    store, contents = crowd(1_500 if COMPILED else 300)
    rng = np.random.default_rng(1)
    events = [{0: 5 * STEP, **{a: int(rng.integers(110 * STEP)) for a in range(1, 13)}} for _ in range(30)]
    events += [{0: 5 * STEP, **dict.fromkeys(range(1, 13), value * STEP)} for value in range(0, 110, 7)]
    events += [{0: 5 * STEP}, {0: 6 * STEP, 1: 0}]
    packed, apart = built("pstbloom", store), built("pstbloom", store, packed=0)
    assert packed.stats()["packed_postings"] == packed.stats()["postings"] == store.live
    assert apart.stats()["packed_postings"] == 0
    hits = expected(contents, events)
    assert max(map(len, hits)) > store.live / 5 > 20 > min(map(len, hits)) == 0
    assert found(packed, encode_events(events)) == found(apart, encode_events(events)) == hits
    for one, other in zip(work_of(packed, events), work_of(apart, events), strict=True):
        assert one == other


def work_of(engine: Engine, events: list[Event]) -> Any:
    return engine.match(encode_events(events), 0, Workspace()).work


def test_packed_units_that_are_gone_are_not_found() -> None:
    store, contents = crowd(400)
    engine, event = built("pstbloom", store), {0: 5 * STEP, **dict.fromkeys(range(1, 13), 17 * STEP)}
    hits = sorted(found(engine, encode_events([event]))[0])
    assert len(hits) > 10
    engine.remove(np.array(hits[::2], dtype=np.int32))
    assert found(engine, encode_events([event])) == [set(hits[1::2])]
    assert engine.stats()["packed_postings"] == len(contents)


LOW, HIGH = (0, STEP), (STEP, TOP_LABEL)
UNPACKED: dict[str, Conjunction] = {
    "accepts NULL": (Constraint(1, ((2 * STEP, 9 * STEP),), True),),
    "begins between ranks": (Constraint(1, ((2 * STEP + 1, 9 * STEP),)),),
    "ends between ranks": (Constraint(1, ((2 * STEP, 9 * STEP + 7),)),),
    "has many values": (Constraint(1, tuple((2 * k * STEP, (2 * k + 1) * STEP) for k in range(MOST_PIECES + 1))),),
    "has a large attribute": (Constraint(MOST_ATTRIBUTES, ((0, 9 * STEP),)),),
    "has many constraints": tuple(Constraint(a, ((0, 99 * STEP),)) for a in range(1, MOST_ENTRIES + 4)),
}


@pytest.mark.parametrize("why", UNPACKED)
def test_what_cannot_be_packed_is_not(why: str) -> None:
    access = Constraint(0, ((5 * STEP, 6 * STEP),))
    store, contents = stored(
        [(access, *UNPACKED[why]), (access, Constraint(2, (LOW,))), (access, Constraint(3, (HIGH,)))]
    )
    engine = built("pstbloom", store, packed=1)
    assert (engine.stats()["packed_postings"], engine.stats()["postings"]) == (2, 3)
    others = [{}, dict.fromkeys(range(1, MOST_ENTRIES + 4), 4 * STEP), {MOST_ATTRIBUTES: 3}, {1: 2 * STEP + 1}]
    events = [{0: 5 * STEP + 3, **other} for other in others]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


def test_the_edges_of_ranks() -> None:
    rank = 2**15
    tests = [((0, TOP_LABEL),), ((0, rank),), ((TOP_LABEL - rank + 1, TOP_LABEL),), ((7 * rank, 8 * rank),)]
    tests.append(((0, rank), (63 * rank, 64 * rank)))
    tests.append(((0, rank), (64 * rank, 65 * rank)))
    tests.append(((rank, 3 * rank), (2**30, TOP_LABEL)))
    access = Constraint(0, ((0, rank),))
    store, contents = stored([(access, *(Constraint(a, test) for a in (1, 2))) for test in tests] + [(access,)])
    engine = built("pstbloom", store, packed=1)
    assert engine.stats()["packed_postings"] == engine.stats()["postings"]
    edges = sorted({min(max(0, low + off), TOP_LABEL - 1) for t in tests for i in t for low in i for off in (-1, 0, 1)})
    events: list[Event] = [{0: 0}, {0: rank - 1, 1: 0}] + [{0: 0, 1: one, 2: two} for one in edges for two in edges]
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []


def test_only_long_lists_are_packed_and_none_with_signatures() -> None:
    rules = [
        (Constraint(0, ((k // 20 * STEP, (k // 20 + 1) * STEP),)), Constraint(1, ((k * STEP, TOP_LABEL),)))
        for k in range(50)
    ]
    store, _ = stored(rules)
    packed = [built("pstbloom", store, packed=least).stats()["packed_postings"] for least in (0, 1, 10, 11, 20, 21)]
    assert packed == [0, 50, 50, 40, 40, 0]
    assert built("pstbloom", store, packed=1, signatures=True).stats()["packed_postings"] == 0


@pytest.mark.parametrize("name", ["packed_tests", "packed_residuals"])
def test_an_audit_sees_every_word_of_packed_candidates(name: str) -> None:
    store, _ = crowd(40)
    engine = built("pstbloom", store)
    sound = engine.arrays()
    for place in range(len(sound[name])):
        words = sound[name].copy()
        words[place] ^= 1 << (place % 16)
        damaged = engine_class("pstbloom")(store)
        damaged.restore({**sound, name: words}, engine.header())
        try:
            assert damaged.audit() != [], place
        except CorruptSnapshot:
            continue


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_lists_from_before_candidates_were_packed_in_words_are_laid_out_anew(
    name: str, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(5)
    store, contents = stored(scaled(random_conjunctions(rng, 300 if COMPILED else 40, 5), STEP))
    engine = built(name, store, **options)
    arrays = {key: array for key, array in engine.arrays().items() if not key.startswith("packed_")}
    arrays |= {"packs": np.zeros(7, np.int32), "pack_starts": np.zeros(3, np.int64)}
    again = engine_class(name)(store, options)
    again.restore(arrays, engine.header())
    events = events_between(rng, random_events(rng, 20, 5), STEP)
    assert found(again, encode_events(events)) == expected(contents, events)
    assert again.stats()["packed_postings"] == engine.stats()["packed_postings"] > 0
    assert again.audit() == []
    with pytest.raises(CorruptSnapshot, match="options"):
        again.restore(arrays, {**engine.header(), "options": {**engine.header()["options"], "side_by_side": False}})
