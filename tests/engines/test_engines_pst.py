"""The engines by access predicates: the paper's examples, what their options do, how their lists grow and shrink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Conjunction,
    Constraint,
    check_without,
    encode,
    encode_events,
    expected,
    found,
    random_conjunctions,
    random_events,
    stored,
)
from test_engines_counting import check_ranges, one_sided, part

from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import ConjunctionStore, Engine, Workspace, engine_class
from matchwood.engines.base import Work
from matchwood.errors import CorruptSnapshot, InvalidArgument
from tests.conftest import SOAK

ENGINES = ["pstbloom", "psthash"]
RANGES = 20_000 if COMPILED else 200


def built(name: str, store: ConjunctionStore, **options: Any) -> Engine:
    engine = engine_class(name)(store, options)
    engine.insert(store.live_units())
    return engine


def access_of(engine: Any, unit: int) -> list[int]:
    """The attributes that give access to a unit, the best one first."""
    wanted = np.array([unit], dtype=np.int32)
    attributes: list[int] = engine.store.as_stored(wanted).attributes.tolist()
    return attributes[: int(engine._given(wanted)[0])]


def work_of(engine: Engine, *events: dict[int, int]) -> Work:
    return engine.match(encode_events(events), 0, Workspace()).work


class Seen:
    """A history of events that are all alike: the share of each attribute's labels that lie in an interval."""

    def __init__(self, labels: dict[int, list[int]], events: int = 10_000) -> None:
        self.labels, self.events, self.asked = labels, events, 0

    def shares(self, attributes: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        self.asked += len(attributes)
        pairs = zip(attributes.tolist(), low.tolist(), high.tolist(), strict=True)
        shares = [np.mean([first <= each < last for each in self.labels.get(a, [-1])]) for a, first, last in pairs]
        return np.array(shares, dtype=np.float64)


# ------------------------------------------------------------------ the paper's examples


def label(value: int) -> int:
    """Bytes from -128 to 127 as labels."""
    return (value + 128) * 2**23


def between(attribute: int, low: int, high: int) -> Constraint:
    return Constraint(attribute, ((label(low), TOP_LABEL if high == 127 else label(high + 1)),))


def test_the_three_subscriptions_of_pstbloom() -> None:
    """5.1: the bounded ranges give access; the others are entered into the signatures of their spaces."""
    one = (between(1, -128, -6), between(2, 1, 5))
    two = (between(1, -5, -1), between(2, -128, 0))
    three = (between(1, -5, -1), between(2, 6, 127))
    store, contents = stored([one, two, three])
    engine = built("pstbloom", store, signatures=True)
    assert [access_of(engine, unit) for unit in range(3)] == [[2], [1], [1]]
    events = [{1: label(-100), 2: label(3)}, {1: label(-3), 2: label(0)}, {1: label(-3), 2: label(99)}]
    assert found(engine, encode_events(events)) == expected(contents, events) == [{0}, {1}, {2}]
    assert work_of(engine, {1: label(-3), 2: label(3)}) == Work(candidates=3, verified=0, matched=0)


def test_the_four_subscriptions_of_psthash() -> None:
    """6.1: S1 and S2 share a combination, and the event finds these two and S2 in them."""

    def subscription(first: Constraint, second: Constraint, third: Constraint) -> Conjunction:
        return first, second, third

    store, contents = stored(
        [
            subscription(between(1, 1, 1), between(2, -1, -1), between(3, -128, -1)),
            subscription(between(1, 1, 1), between(2, -1, -1), between(3, 1, 127)),
            subscription(between(1, 1, 1), between(2, -128, -2), between(3, 0, 0)),
            subscription(between(1, -128, 0), between(2, -1, -1), between(3, 0, 0)),
        ]
    )
    engine = built("psthash", store, dense=0)
    assert [sorted(access_of(engine, unit)) for unit in range(4)] == [[1, 2], [1, 2], [1, 3], [2, 3]]
    event = {1: label(1), 2: label(-1), 3: label(2)}
    assert found(engine, encode_events([event])) == expected(contents, [event]) == [{1}]
    assert work_of(engine, event) == Work(candidates=2, verified=1, matched=1)


# ------------------------------------------------------------------ access predicates


def test_among_attributes_with_as_many_values_shares_rank_operators_as_the_paper() -> None:
    """3.3: =, in, a bounded range, an open one, !=, with 64 values an attribute. Otherwise `ranking` decides."""
    step = 2**25
    equal = Constraint(0, ((7 * step, 8 * step),))
    listed = Constraint(1, ((3 * step, 4 * step), (9 * step, 10 * step)))
    bounded = Constraint(2, ((5 * step, 15 * step),))
    one_sided_range = Constraint(3, ((60 * step, TOP_LABEL),))
    different = Constraint(4, ((0, 7 * step), (8 * step, TOP_LABEL)))
    ranked = [equal, listed, bounded, one_sided_range, different]
    for better in range(4):
        store, _ = stored([tuple(ranked[better:])])
        assert access_of(built("pstbloom", store), 0) == [better]


def test_wider_predicates_are_less_selective() -> None:
    """3.3: [1, 10] is less selective than [1, 5]."""
    store, _ = stored([(Constraint(0, ((10, 100),)), Constraint(1, ((10, 50),)))])
    assert access_of(built("pstbloom", store), 0) == [1]


@pytest.mark.parametrize(("wide", "chosen"), [(9 * 2**20, 1), (24 * 2**20, 0)])
def test_fewer_lists_outweigh_a_small_difference_in_shares(wide: int, chosen: int) -> None:
    """Eight values in as many lists, and a range of an eighth more, or three times as much, in few."""
    values = tuple((16 * step * 2**20, (16 * step + 1) * 2**20) for step in range(1, 9))
    store, _ = stored([(Constraint(0, values), Constraint(1, ((2**30, 2**30 + wide),)))])
    assert access_of(built("pstbloom", store), 0) == [chosen]


def test_constraints_that_accept_null_never_give_access() -> None:
    narrow, wide = Constraint(0, ((5, 6),), True), Constraint(1, ((0, 2**30),))
    store, contents = stored([(narrow, wide), (narrow,), ()])
    for name in ENGINES:
        engine = built(name, store)
        assert [access_of(engine, unit) for unit in range(3)] == [[1], [], []]
        assert engine.stats()["always_candidates"] == 2
        events = [{}, {1: 3}, {0: 5, 1: 3}, {0: 9, 1: 3}]
        assert found(engine, encode_events(events)) == expected(contents, events)


@pytest.mark.parametrize("name", ENGINES)
def test_observed_events_decide_where_there_are_any(name: str) -> None:
    narrow, wide = Constraint(0, ((10, 11),)), Constraint(1, ((0, 2**30),))
    store, contents = stored([(narrow, wide)])
    engine = engine_class(name)(store)
    engine.event_statistics = Seen({0: [10], 1: [2**30 + 1]})
    engine.insert(store.live_units())
    assert access_of(engine, 0)[0] == 1
    assert work_of(engine, {0: 10, 1: 2**30 + 1}).candidates == 0
    events = [{0: 10, 1: 3}, {0: 9, 1: 3}, {0: 10}]
    assert found(engine, encode_events(events)) == expected(contents, events)


def test_a_few_observed_events_do_not_outweigh_everything() -> None:
    store, _ = stored([(Constraint(0, ((10, 11),)), Constraint(1, ((0, 2**30 + 2**29),)))])
    engine = engine_class("pstbloom")(store)
    engine.event_statistics = Seen({0: [10], 1: [2**30 + 2**29 + 1]}, events=1)
    engine.insert(store.live_units())
    assert access_of(engine, 0) == [0]


@pytest.mark.parametrize("name", ENGINES)
def test_reconsidering_takes_what_was_observed_since(name: str) -> None:
    rules = [(Constraint(0, ((10, 11),)), Constraint(1, ((low, low + 50),))) for low in range(0, 400, 4)]
    store, contents = stored(rules)
    engine, event = built(name, store), {0: 10, 1: 2**30}
    engine.event_statistics = Seen({0: [10], 1: [2**30]})
    before = work_of(engine, event).candidates
    engine.reconsider()
    assert (before, work_of(engine, event).candidates) == (100, 0)
    assert engine.stats()["reconsidered"] == 1
    assert found(engine, encode_events([{0: 10, 1: 60}])) == expected(contents, [{0: 10, 1: 60}])
    assert engine.audit() == []


def test_events_are_looked_up_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.access._CHUNK", 7)
    rng = np.random.default_rng(1)
    store, contents = stored(random_conjunctions(rng, 100))
    engine = engine_class("pstbloom")(store)
    engine.event_statistics = Seen({attribute: [5, 30] for attribute in range(12)})
    engine.insert(store.live_units())
    events = random_events(rng, 20)
    assert engine.event_statistics.asked == len(store.encoded(store.live_units()).low)
    assert found(engine, encode_events(events)) == expected(contents, events)


# ------------------------------------------------------------------ options

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("pstbloom", {"signatures": True}),
    ("pstbloom", {"signatures": True, "signature_bits": 1}),
    ("psthash", {"dense": 0}),
    ("psthash", {"dense": 3, "access": 1}),
    ("psthash", {"dense": 5, "access": 3}),
    ("psthash", {"dense": 0, "access": 4, "most_spaces": 1024}),
    ("psthash", {"dense": 1, "access": 4, "most_spaces": 1}),
    ("psthash", {"dense": 0, "access": 3, "useless": 0.0}),
    ("pstbloom", {"side_by_side": False}),
    ("psthash", {"side_by_side": False, "dense": 5, "access": 3}),
    ("pstbloom", {"ranking": "operators", "reconsider": False}),
    ("pstbloom", {"as_published": True}),
    ("psthash", {"as_published": True}),
]


@pytest.mark.long(12)
@pytest.mark.parametrize(("name", "options"), VARIANTS)
@pytest.mark.parametrize(("attributes", "top"), [(6, 40), (12, 10**6)])
def test_every_option_gives_the_same_hits(name: str, options: dict[str, Any], attributes: int, top: int) -> None:
    rng = np.random.default_rng(3)
    store, contents = stored(random_conjunctions(rng, (900 if SOAK else 400) if COMPILED else 60, attributes, top))
    engine = engine_class(name)(store, options)
    events = random_events(rng, (40 if SOAK else 20) if COMPILED else 8, attributes, top)
    for units in np.array_split(rng.permutation(store.live_units()).astype(np.int32), 9):
        engine.insert(units)
    assert found(engine, encode_events(events)) == expected(contents, events)
    assert engine.audit() == []
    check_without(engine, rng.choice(store.live_units(), size=store.live // 3, replace=False), contents, events)


def dense_rules(rng: np.random.Generator, count: int, attributes: int = 4) -> list[Conjunction]:
    """Rules of three narrow constraints on few attributes."""
    made = []
    for _ in range(count):
        named = np.sort(rng.choice(attributes, size=3, replace=False)).tolist()
        lows = rng.integers(0, 15, size=3).tolist()
        made.append(
            tuple(Constraint(a, ((low * 2**27, (low + 1) * 2**27),)) for a, low in zip(named, lows, strict=True))
        )
    return made


def test_more_access_predicates_mean_fewer_candidates() -> None:
    rng = np.random.default_rng(4)
    store, _ = stored(dense_rules(rng, 3_000))
    event = dict.fromkeys(range(4), 5 * 2**27)
    candidates = [
        work_of(built("psthash", store, access=n, dense=0, most_spaces=1024), event).candidates for n in (1, 2, 3)
    ]
    assert candidates[0] > 3 * candidates[1] > 3 * candidates[2]


def test_lists_split_only_when_they_are_dense() -> None:
    store, _ = stored(dense_rules(np.random.default_rng(5), 2_000 if COMPILED else 100))
    lists = [built("psthash", store, dense=dense).stats()["lists"] for dense in (0, 33 if COMPILED else 2, 10**6)]
    assert lists[0] > lists[1] > lists[2]
    assert built("psthash", store, dense=10**6).stats()["lists"] == built("pstbloom", store).stats()["lists"]


def test_a_unit_with_too_many_combinations_uses_fewer_access_predicates() -> None:
    store, contents = stored(
        [(Constraint(0, ((1, 2**20),)), Constraint(1, ((1, 2**20),)), Constraint(2, ((1, 2**29),)))]
    )
    sizes = [built("psthash", store, dense=0, most_spaces=most).stats()["postings"] for most in (16, 1024)]
    assert sizes == [20, 400]
    assert access_of(built("psthash", store, dense=0), 0) == [0]
    events = [{0: 5, 1: 7, 2: 9}, {0: 5, 1: 0, 2: 9}]
    assert found(built("psthash", store, dense=0, most_spaces=1024), encode_events(events)) == expected(
        contents, events
    )


def test_signatures_drop_candidates_before_they_are_verified() -> None:
    """A second test would fail as well, but a signature tells first."""
    first, second = Constraint(0, ((5, 6),)), Constraint(1, ((1, 2**20),))
    rules = [(first, second, Constraint(2, ((2**25 * k, 2**25 * k + 2**27),))) for k in range(60)]
    store, contents = stored(rules)
    event = {0: 5, 1: 3, 2: 2**30}
    plain, signed = built("pstbloom", store.copy()), built("pstbloom", store, signatures=True)
    assert work_of(plain, event)._replace(verified=0) == work_of(signed, event)._replace(verified=0)
    assert found(signed, encode_events([event])) == expected(contents, [event])
    assert work_of(plain, event).verified > work_of(signed, event).verified >= work_of(signed, event).matched


def test_more_bits_make_fewer_false_positives() -> None:
    rng = np.random.default_rng(6)
    store, _ = stored(random_conjunctions(rng, 3_000 if COMPILED else 200))
    stats = [built("pstbloom", store, signatures=True, signature_bits=bits).stats() for bits in (1, 4, 16)]
    rates = [each["signature_false_positives"] for each in stats]
    assert rates[0] > 2 * rates[1] > 2 * rates[2]
    assert stats[0]["bytes_signatures"] < stats[2]["bytes_signatures"]
    assert built("pstbloom", store).stats()["bytes_signatures"] == 0


def test_signatures_grow_with_their_load() -> None:
    rng = np.random.default_rng(7)
    store, _ = stored(random_conjunctions(rng, 1_500 if COMPILED else 150))
    engine = engine_class("pstbloom")(store, {"signatures": True})
    for unit in store.live_units():
        engine.insert(np.array([unit], dtype=np.int32))
    assert engine.audit() == []
    assert engine.stats()["signature_false_positives"] < 0.1


@pytest.mark.parametrize(
    ("name", "option", "value", "message"),
    [
        ("pstbloom", "signatures", 1, "must be True or False"),
        ("pstbloom", "signature_bits", 0, "must be from 1 to 64"),
        ("pstbloom", "signature_bits", "8", "must be an integer"),
        ("pstbloom", "access", 2, "has no option 'access'"),
        ("psthash", "access", 0, "must be from 1 to 4"),
        ("psthash", "access", True, "must be an integer"),
        ("psthash", "access", 2.0, "must be an integer"),
        ("psthash", "most_spaces", 4097, "must be from 1 to 4096"),
        ("psthash", "useless", 1.5, "must be from 0.0 to 1.0"),
        ("psthash", "useless", 1, "must be a float"),
        ("pstbloom", "ranking", "width", "must be one of 'shares', 'operators'"),
        ("pstbloom", "side_by_side", 1, "must be True or False"),
        ("psthash", "dense", -1, "must be from 0 to"),
    ],
)
def test_options_are_checked(name: str, option: str, value: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        engine_class(name)(ConjunctionStore(), {option: value})


def test_options_are_saved_and_must_be_the_same() -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(8), 20))
    engine = built("psthash", store, access=3)
    assert engine.header()["options"] == {
        "access": 3, "most_spaces": 16, "dense": 4096, "useless": 0.5,
        "side_by_side": True, "ranking": "shares", "reconsider": True,
    }  # fmt: skip
    with pytest.raises(CorruptSnapshot, match="options"):
        engine_class("psthash")(store).restore(engine.arrays(), engine.header())


def test_lists_from_before_an_option_was_there_open_with_its_default() -> None:
    store, contents = stored(random_conjunctions(np.random.default_rng(8), 20))
    engine, events = built("psthash", store), random_events(np.random.default_rng(9), 10)
    older = {**engine.header(), "options": {"access": 2, "most_spaces": 16, "dense": 4096, "packed": 16}}
    opened = engine_class("psthash")(store)
    opened.restore(engine.arrays(), older)
    assert found(opened, encode_events(events)) == expected(contents, events)
    with pytest.raises(CorruptSnapshot, match="options"):
        engine_class("psthash")(store, {"ranking": "operators"}).restore(engine.arrays(), older)


# ------------------------------------------------------------------ growing and shrinking


@pytest.mark.parametrize("name", ENGINES)
def test_ranges_are_never_enumerated(name: str) -> None:
    encoded, store = one_sided(RANGES), ConjunctionStore()
    units = store.add(encoded).units
    engine = built(name, store)
    assert engine.stats()["postings"] <= 31 * len(units)
    assert engine.stats()["bytes_index"] < 1_000 * len(units) + 2**16
    check_ranges(engine, encoded, units)
    assert engine.audit() == []


@pytest.mark.parametrize("name", ENGINES)
def test_ranges_inserted_one_by_one_cost_the_same_room(name: str) -> None:
    encoded, store = one_sided(RANGES // 10 + 10), ConjunctionStore()
    engine, units = engine_class(name)(store), []
    for place in range(encoded.count):
        added = store.add(part(encoded, place, place + 1))
        engine.insert(added.new_units)
        units.append(added.units)
    bulk = built(name, store.copy())
    assert engine.stats()["postings"] == bulk.stats()["postings"]
    assert engine._candidates.room <= 4 * engine._candidates.total
    check_ranges(engine, encoded, np.concatenate(units))
    assert engine.audit() == bulk.audit() == []


@pytest.mark.parametrize("name", ENGINES)
def test_lists_that_grew_bit_by_bit_are_laid_out_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.tombstones.SPARE", 10)
    rng = np.random.default_rng(9)
    store, contents = stored(random_conjunctions(rng, 400, attributes=3, top=30))
    engine, laid_out = engine_class(name)(store), set()
    for unit in store.live_units():
        engine.insert(np.array([unit], dtype=np.int32))
        laid_out.add(engine.header()["laid_out"])
    assert 3 <= len(laid_out) <= 6
    assert engine.audit() == []
    events = random_events(rng, 20, 3, 30)
    assert found(engine, encode_events(events)) == expected(contents, events)


@pytest.mark.parametrize("name", ENGINES)
def test_lists_made_at_once_have_no_gaps_and_units_in_their_order(name: str) -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(10), 500))
    engine = built(name, store)
    assert engine._candidates.room == engine._candidates.total
    units = engine._candidates.units()
    first = np.sort(np.unique(units, return_index=True)[1])
    assert (np.diff(store.view().places[units[first]]) > 0).all()


@pytest.mark.parametrize("name", ENGINES)
def test_removed_units_stay_in_the_lists_until_they_are_too_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.engines.shared.tombstones.SPARE", 10)
    rng = np.random.default_rng(11)
    store, contents = stored(random_conjunctions(rng, 300))
    engine, events, seen = built(name, store), random_events(rng, 10), set()
    for unit in rng.permutation(store.live_units()):
        engine.remove(np.array([unit], dtype=np.int32))
        del contents[int(unit)]
        stats = engine.stats()
        seen.add(stats["stale_postings"] > 0)
        assert 2 * stats["stale_postings"] <= stats["postings"] + 10
        if unit % 10 == 0:
            assert found(engine, encode_events(events)) == expected(contents, events)
    assert seen == {True, False}
    assert engine.stats()["postings"] <= 10


@pytest.mark.parametrize(("name", "options"), [(name, {}) for name in ENGINES] + VARIANTS)
def test_nothing_is_left_when_everything_is_gone(name: str, options: dict[str, Any]) -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(12), 300))
    engine = built(name, store, **options)
    units = store.live_units()
    engine.remove(units)
    store.free(store.drop(np.repeat(units, store.uses[units])))
    store.compact()
    engine.rebuild()
    empty = engine_class(name)(ConjunctionStore(), options)
    assert engine.stats() == empty.stats()
    assert engine.stats()["postings"] == engine.stats()["lists"] == 0


def test_long_lists_of_values_are_not_copied_into_every_candidate() -> None:
    values = tuple((4 * k, 4 * k + 1) for k in range(2_000))
    store, contents = stored([(Constraint(0, values), Constraint(1, values), Constraint(2, ((1, 7),)))])
    for name in ENGINES:
        engine = built(name, store)
        assert engine.stats()["bytes_index"] < 2_000
        events = [{0: 4 * k, 1: 4 * k + shift, 2: 3} for k in (0, 7, 1999) for shift in (0, 1)]
        assert found(engine, encode_events(events)) == expected(contents, events)


def test_more_hits_than_are_verified_together() -> None:
    store, contents = stored([(Constraint(0, ((1, 3),)), Constraint(1, ((0, k + 2),))) for k in range(9_000)])
    event = {0: 2, 1: 1}
    for name in ENGINES:
        assert found(built(name, store), encode_events([event, event])) == expected(contents, [event, event])


def test_audit_sees_what_is_broken() -> None:
    def broken(column: str, position: Any, value: int, of_lists: bool = True, **options: Any) -> list[str]:
        name = "psthash" if options else "pstbloom"
        rules = [*random_conjunctions(np.random.default_rng(13), 80), (Constraint(0, (), True),)]
        store, _ = stored(rules)
        engine: Any = built(name, store, **options)
        columns = engine._candidates.columns if of_lists else engine.columns
        columns[column].writable()[position] = value
        return engine.audit()

    def told(problems: list[str], words: str) -> bool:
        return any(words in problem for problem in problems)

    assert told(broken("table", slice(None), -1), "every list once")
    assert told(broken("counts", 0, 0), "are counted")
    assert told(broken("counts", 0, 0), "differ")
    assert told(broken("starts", 1, 0), "overlap")
    assert told(broken("levels", 0, 0), "level")
    assert told(broken("tests", slice(0, None, 2), 1), "do not ask for")
    assert told(broken("tests", slice(1, 40, 2), 1), "differ")
    assert told(broken("next_levels", slice(None), 0, dense=0), "cannot be reached")
    assert told(broken("always", 0, 0, False), "looked at always")
    assert told(broken("states", 5, 0, False), "but not both")


def test_audit_sees_units_that_are_missing_from_signatures() -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(14), 80))
    engine: Any = built("pstbloom", store, signatures=True)
    engine._signatures._words.writable()[:] = 0
    assert "missing from signatures" in engine.audit()[0]


def test_intervals_that_fit_into_64_steps_and_those_that_do_not() -> None:
    access = Constraint(9, ((1, 2),))
    sets = [
        ((0, 1), (63, 64)),
        ((0, 1), (64, 65)),
        ((5, 6), (7, 9), (68, 69)),
        ((2**25, 2**26), (2**30, TOP_LABEL)),
        ((0, 2**25), (2**26, TOP_LABEL)),
        tuple((3 * k, 3 * k + 2) for k in range(8)),
        tuple((3 * k, 3 * k + 2) for k in range(40)),
    ]
    rules = [(Constraint(0, each, null), access) for each in sets for null in (False, True)]
    store, contents = stored(rules)
    labels = [0, 1, 2, 5, 6, 7, 8, 9, 62, 63, 64, 65, 68, 69, 118, 119, 2**25, 2**26 - 1, 2**26, 2**30, TOP_LABEL - 1]
    events: list[dict[int, int]] = [{9: 1}, *({9: 1, 0: each} for each in labels)]
    for name in ENGINES:
        engine = built(name, store)
        assert found(engine, encode_events(events)) == expected(contents, events)
        assert engine.audit() == []


def test_a_unit_added_later_is_found_beside_older_ones() -> None:
    store, _ = stored([(Constraint(0, ((1, 2),)), Constraint(1, ((k, k + 1),))) for k in range(50)])
    for name, options in [("pstbloom", {}), ("psthash", {"dense": 0}), ("psthash", {"dense": 10})]:
        engine = built(name, store, **options)
        again = ConjunctionStore()
        again.restore(store.arrays(), store.header())
        later = engine_class(name)(again, options)
        later.restore(engine.arrays(), engine.header())
        added = again.add(encode([(Constraint(0, ((1, 2),)), Constraint(1, ((3, 9),)))]))
        later.insert(added.new_units)
        assert found(later, encode_events([{0: 1, 1: 3}])) == [{3, *added.units.tolist()}]
        assert later.audit() == []
