"""Stores that were saved, by older versions too, and stores that are damaged: refused, or harmless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engines_support import COMPILED, Conjunction, Constraint, decode, encode, stored
from store_support import (
    SIZE,
    SPREADS,
    beginnings,
    cut,
    put,
    random_rules,
    restored,
    sets_in,
    turned_round,
    units_of,
)

from matchwood.engines import ConjunctionStore
from matchwood.engines.shared.constraints._set_kernels import NARROW, PAIRED, WIDE, form_of
from matchwood.engines.shared.constraints._slot_kernels import EMPTY, TOMBSTONE
from matchwood.engines.shared.constraints._word_kernels import ALTERNATIVE, LAST, SET
from matchwood.errors import CorruptSnapshot

# ---------------------------------------------------------------------- older stores


def older(store: ConjunctionStore) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What was saved when each constraint was a record of its own."""
    said = store.encoded(np.arange(store.count, dtype=np.int32))
    counts = np.diff(said.pieces)
    several = counts != 1
    codes = said.attributes << 2 | np.where(said.accepts_null, 1, 0) | np.where(several, 2, 0)
    if len(said.alternatives):
        codes |= np.where(said.alternatives, 1 << 30, 0).astype(np.int32)
    beside = np.repeat(several, counts)
    stops = np.cumsum(np.where(several, counts, 0))
    low, high = np.append(said.low, 0)[said.pieces[:-1]], np.append(said.high, 0)[said.pieces[:-1]]
    fields = codes, np.where(several, stops - counts, low), np.where(several, stops, high)
    arrays = {
        "offsets": said.offsets,
        "records": np.stack(fields, axis=1).ravel().astype(np.int32),
        "intervals": np.stack((said.low[beside], said.high[beside]), axis=1).ravel(),
        "uses": store.uses,
        "alive": store.alive,
        "hashes": np.zeros(store.count, np.uint64),
        "table": np.full(16, -1, np.int32),
    }
    return arrays, {"live": store.live, "attributes": store.attributes, "tombstones": 5}


def store_with_dead_units(spread: int, clauses: bool = False) -> tuple[ConjunctionStore, list[Conjunction], np.ndarray]:
    """A store, what was added, and the units of that, some of which are dead."""
    conjunctions = random_rules(11, SIZE // 2, spread)
    store, encoded = ConjunctionStore(clauses), encode(conjunctions)
    if clauses:
        inside = np.ones(len(encoded.attributes), np.bool_)
        inside[np.minimum(encoded.offsets[:-1], len(inside) - 1)] = False
        encoded = encoded._replace(alternatives=inside & (np.random.default_rng(3).random(len(inside)) < 0.3))
    units = store.add(encoded).units
    gone = np.unique(units[: SIZE // 8])
    store.free(store.drop(np.repeat(gone, store.uses[gone])))
    return store, conjunctions, units


@pytest.mark.parametrize("clauses", [False, True])
@pytest.mark.parametrize("spread", SPREADS)
def test_a_store_from_when_constraints_were_records_still_opens(spread: int, clauses: bool) -> None:
    store, conjunctions, units = store_with_dead_units(spread, clauses)
    again = restored(*older(store), clauses)
    assert decode(again.encoded(units)) == conjunctions
    assert np.array_equal(again.encoded(units).alternatives, store.encoded(units).alternatives)
    assert np.array_equal(again.alive, store.alive)
    assert np.array_equal(again.uses, store.uses)
    assert sets_in(again) == sets_in(store)
    assert again.audit() == []
    assert again.add(store.encoded(units[-3:])).new_units.tolist() == []
    assert restored(again.arrays(), again.header(), clauses).audit() == []


@pytest.mark.parametrize(
    "damage",
    [
        *(cut(name) for name in ("offsets", "records", "intervals", "uses", "alive")),
        put("offsets", 3, -1),
        put("offsets", 3, 10**6),
        put("records", 0, -1),
        put("records", 0, 1 << 30),
        put("records", 0, 900 << 2),
        put("records", 1, -5),
        put("records", 2, -5),
        put("intervals", 1, -1),
        put("uses", 0, -1),
        put("alive", 0, 0),
    ],
)
def test_an_older_store_that_is_damaged_is_refused(damage: Callable[[dict[str, np.ndarray]], None]) -> None:
    store, _ = stored(list(filter(None, random_rules(12, 50))))
    arrays, header = older(store)
    damage(arrays)
    with pytest.raises(CorruptSnapshot):
        restored(arrays, header)


def test_an_older_store_may_have_dead_units_whose_intervals_were_turned_round() -> None:
    store, _ = stored([(Constraint(0, ((5, 9),)),), (Constraint(1, ((4, 8), (16, 24))),), (Constraint(2, ((1, 2),)),)])
    said = decode(store.encoded(units_of(2)))
    store.free(store.drop(units_of(0, 1)))
    arrays, header = older(store)
    for damage in (put("records", 2, 3), put("intervals", 3, 7)):
        damage(arrays)
    again = restored(arrays, header)
    assert decode(again.encoded(units_of(2))) == said
    assert again.live_units().tolist() == [2]
    assert again.audit() == []
    assert restored(again.arrays(), again.header()).audit() == []
    put("records", 8, 0)(arrays)
    with pytest.raises(CorruptSnapshot, match="ends before it begins"):
        restored(arrays, header)


# ---------------------------------------------------------------------- trust


def sample() -> ConjunctionStore:
    """A small store with words and sets of all forms, whose first unit has a word, and whose second has a set."""
    rules = [(Constraint(1, ((1 << 25, 1 << 26),)),), (Constraint(2, ((1 << 25, 1 << 26), (1 << 27, 1 << 28))),)]
    more = [rule for spread in SPREADS for rule in random_rules(19, 30, spread)]
    return stored([*rules, *filter(None, more)])[0]


def test_audit_sees_what_is_broken() -> None:
    def broken(name: str, position: int, value: int) -> list[str]:
        store = sample()
        getattr(store, name).writable()[position] = value
        return store.audit()

    store = sample()
    assert store.audit() == []
    slot = int(np.flatnonzero(store._slots.view() < TOMBSTONE)[0])
    set_slot = int(np.flatnonzero(store._set_slots.view() < TOMBSTONE)[0])
    assert "alive without uses" in broken("_held", 3, 1)[0]
    assert any("entries for" in problem for problem in broken("_held", 3, 0))
    assert "not found" in broken("_words", 0, LAST)[-1]
    assert "not found" in broken("_slots", slot, TOMBSTONE)[0]
    assert "sets are not found" in broken("_sets", store._sets.count - 1, 1)[-1]
    assert "sets are not found" in broken("_set_slots", set_slot, EMPTY)[-1]


def _inside_a_set(store: ConjunctionStore) -> int:
    return next(at for at in range(1, store._sets.count) if at not in beginnings(store))


def _set_of_form(store: ConjunctionStore, form: int) -> int:
    return next(at for at in beginnings(store) if form_of(store.view().sets[at]) == form)


def _own(name: str, place: int, value: Callable[[ConjunctionStore], int]) -> Callable[[ConjunctionStore], Any]:
    """Damage: a value that depends on the store."""
    return lambda store: put(name, place, value(store))


DAMAGES: dict[str, Callable[[ConjunctionStore], Any]] = {
    "a place below NOWHERE": _own("places", 3, lambda store: -2),
    "a place behind all words": _own("places", 3, lambda store: store._words.count),
    "places cut off": lambda store: cut("places"),
    "uses cut off": lambda store: cut("held"),
    "the last conjunction does not end": _own("words", -1, lambda store: int(store.view().words[-1]) & ~LAST),
    "a word of an attribute that there is not": _own("words", 0, lambda store: LAST | 60 << 2 * store.rank_bits),
    "a word with ranks beyond the last": _own("words", 0, lambda store: LAST | 2 << store.rank_bits | 2**11 - 1),
    "an alternative where no clause may be": _own("words", 0, lambda store: LAST | ALTERNATIVE),
    "a set behind all": _own("words", 0, lambda store: LAST | SET | store._sets.count),
    "a set that does not begin there": _own("words", 0, lambda store: LAST | SET | _inside_a_set(store)),
    "sets cut off": lambda store: cut("sets"),
    "a set with more pieces than it has": lambda store: put("sets", beginnings(store)[-1], 200),
    "a set of no form": lambda store: put("sets", _set_of_form(store, NARROW), 3 << 9 | 1),
    "ranks of no bits": lambda store: put("sets", _set_of_form(store, NARROW), 1),
    "ranks of more bits than a number": lambda store: put("sets", _set_of_form(store, NARROW), 20 << 11 | 2),
    "a set of an attribute that there is not": lambda store: put("sets", _set_of_form(store, NARROW) + 1, 60),
    "a wide set of one, too": lambda store: put("sets", _set_of_form(store, WIDE) + 2, 1),
    "a wide set with labels beyond all": lambda store: put("sets", _set_of_form(store, WIDE) + 6, 2**15),
    "a wide set that is not counted": lambda store: put("sets", _set_of_form(store, PAIRED), 1),
    "no slot is empty": lambda store: lambda arrays: arrays.update(slots=np.full(16, 0, np.uint32)),
    "no slot of sets is empty": lambda store: lambda arrays: arrays.update(set_slots=np.full(16, 0, np.uint32)),
    "a slot of a unit that is not there": _own("slots", 0, lambda store: store.count),
    "a slot of a set that is not there": _own("set_slots", 0, lambda store: store._sets.count),
    "a tombstone that is not counted": _own("slots", 0, lambda store: TOMBSTONE),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_would_lead_a_kernel_out_of_its_arrays_is_refused(name: str) -> None:
    store = sample()
    arrays = dict(store.arrays())
    DAMAGES[name](store)(arrays)
    with pytest.raises(CorruptSnapshot):
        restored(arrays, store.header())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rank_bits", 3),
        ("rank_bits", 12),
        ("rank_bits", 10),
        ("unit_bits", 7),
        ("unit_bits", 32),
        ("set_bits", 7),
        ("set_bits", 30),
        ("attributes", 11),
        ("attributes", 10**6),
        ("tombstones", 1),
        ("live", 3),
        ("wide_sets", 0),
    ],
)
def test_a_header_that_does_not_fit_is_refused(key: str, value: int) -> None:
    store = sample()
    with pytest.raises(CorruptSnapshot):
        restored(store.arrays(), {**store.header(), key: value})


def test_what_is_damaged_is_refused_or_harmless() -> None:
    """Where bounds are checked, whatever goes on with a damaged store that was not refused stays in its arrays."""
    rng, store = np.random.default_rng(20), sample()
    more, refused, tries = encode(random_rules(21, 8)), 0, 0
    for name, array in store.arrays().items():
        for _ in range(60 if COMPILED else 6):
            damaged = array.copy()
            place, kind = int(rng.integers(len(array))), np.iinfo(array.dtype)
            extreme = int(rng.choice([kind.min, 0, 1, 5, 300, kind.max - 1, kind.max]))
            if rng.random() < 0.5:
                damaged.view(np.uint8)[place] ^= np.uint8(1 << int(rng.integers(8)))
            else:
                damaged[place] = min(max(extreme, kind.min), kind.max)
            tries += 1
            try:
                again = restored({**store.arrays(), name: damaged}, store.header())
                again.add(more)
                again.audit()
                turned_round(again)
                again.lay_out(again.live_units()[::2])
                again.divide_words()
                again.free(again.live_units()[again.uses[again.live_units()] == 0])
                again.compact()
            except CorruptSnapshot:
                refused += 1
                continue
            assert again.audit() == []
    assert tries / 4 < refused < tries
