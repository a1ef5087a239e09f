"""The store of conjunctions: sharing, uses, dead units, relabelling, compaction."""

from __future__ import annotations

import numpy as np
import pytest
from engines_support import COMPILED, Constraint, decode, encode, frozen, random_conjunctions, stored

from matchwood.encoding.codes import TOP_LABEL, EncodedRows
from matchwood.engines import ConjunctionStore
from matchwood.engines.shared._store_kernels import look_up
from matchwood.engines.shared.constraints._leaf_kernels import GrowingLeaves, leaf_like
from matchwood.engines.shared.constraints._record_kernels import WIDTH
from matchwood.engines.shared.constraints._tagged_table_kernels import tag_of
from matchwood.errors import CorruptSnapshot, InvalidArgument

SIZE = 2_000 if COMPILED else 150


def units_of(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


def test_each_distinct_conjunction_is_kept_once() -> None:
    conjunctions = random_conjunctions(np.random.default_rng(1), SIZE)
    store = ConjunctionStore()
    added = store.add(encode(conjunctions))
    distinct = list(dict.fromkeys(conjunctions))
    assert store.count == store.live == len(distinct)
    assert [distinct[unit] for unit in added.units.tolist()] == conjunctions
    assert added.new_units.tolist() == list(range(len(distinct)))
    assert decode(store.encoded(added.units)) == conjunctions
    assert store.audit() == []


@pytest.mark.parametrize("clauses", [False, True])
def test_conjunctions_by_their_leaves_are_stored_like_all_others(clauses: bool) -> None:
    """Found alike, and said alike, whatever was there before; the numbers of leaves are those of either way."""
    rng = np.random.default_rng(7)
    conjunctions = random_conjunctions(rng, SIZE)
    leaves = list(dict.fromkeys(constraint for conjunction in conjunctions for constraint in conjunction))
    places = {leaf: place for place, leaf in enumerate(leaves)}
    one, other = ConjunctionStore(clauses), ConjunctionStore(clauses)
    for start in (0, SIZE // 3):
        batch = conjunctions[start:]
        leaf_of = np.array([places[leaf] for conjunction in batch for leaf in conjunction], np.int32)
        uses = np.bincount(leaf_of, minlength=len(leaves))
        rows = EncodedRows(encode(batch).offsets, leaf_of, encode([(leaf,) for leaf in leaves]), uses)
        added, expected = one.add(rows), other.add(encode(batch))
        assert (added.units == expected.units).all()
        assert decode(one.encoded(added.units)) == batch
    assert one.header() == other.header()
    assert (one.leaves, one.bytes_verify) == (other.leaves, other.bytes_verify)
    assert one.audit() == other.audit() == []


def test_repeated_conjunctions_are_handed_back() -> None:
    one, two = (Constraint(0, ((1, 2),)),), (Constraint(0, ((1, 3),)),)
    store = ConjunctionStore()
    first = store.add(encode([one, two, one]))
    assert first.repeated is not None
    assert decode(first.repeated) == [one]
    assert store.add(encode([(Constraint(1, ((1, 2),)),)])).repeated is None
    again = store.add(encode([two, one]))
    assert again.repeated is not None
    assert decode(again.repeated) == [two, one]
    assert len(again.new_units) == 0
    assert store.uses.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    "others",
    [
        (Constraint(3, ((4, 9),), True),),
        (Constraint(2, ((4, 9),)),),
        (Constraint(3, ((4, 8),)),),
        (Constraint(3, ((5, 9),)),),
        (Constraint(3, ((4, 5), (6, 9))),),
        (Constraint(3, (), True),),
        (Constraint(3, ((4, 9),)), Constraint(4, ((0, 1),))),
        (),
    ],
)
def test_what_differs_in_one_thing_is_another(others: tuple[Constraint, ...]) -> None:
    store = ConjunctionStore()
    store.add(encode([(Constraint(3, ((4, 9),)),)]))
    assert store.add(encode([others])).new_units.tolist() == [1]


def test_equal_hashes_are_told_apart_by_contents() -> None:
    """Units and leaves whose hashes are all the same, so that every search walks over all others."""
    conjunctions = list(dict.fromkeys(random_conjunctions(np.random.default_rng(2), 60)))
    store, _ = stored(conjunctions)
    same, alike = np.uint64(7 << 20), np.full(2 * max(store.count, store.leaves), 7, np.int64)
    tags, table = (np.zeros(len(alike), kind) for kind in (np.uint8, np.int32))
    offsets, leaves, records, intervals = store.view()
    for unit in range(store.count):
        slot = look_up(tags, table, same, offsets, leaves, unit)
        tags[-1 - slot], table[-1 - slot] = tag_of(same), unit
    found = [table[look_up(tags, table, same, offsets, leaves, unit)] for unit in range(store.count)]
    assert found == list(range(store.count))
    growing = GrowingLeaves(records, intervals, np.zeros(len(alike), np.uint8), np.zeros(len(alike), np.int32))
    for leaf in range(store.leaves):
        slot = leaf_like(growing, same, WIDTH * leaf)
        growing.leaf_tags[-1 - slot], growing.leaf_table[-1 - slot] = tag_of(same), leaf
    assert [leaf_like(growing, same, WIDTH * leaf) for leaf in range(store.leaves)] == list(range(store.leaves))


def intervals_of(store: ConjunctionStore) -> int:
    """How many intervals the store has beside its records."""
    return len(store.view().intervals) // 2


def test_equal_constraints_are_kept_once() -> None:
    values, others = ((1, 2), (4, 9)), ((1, 2), (5, 9))
    store = ConjunctionStore()
    rules = [(Constraint(0, values), Constraint(1, ((step, step + 1),))) for step in range(20)]
    store.add(encode(rules))
    assert (store.leaves, intervals_of(store)) == (21, 2)
    more = [(Constraint(0, values, True),), (Constraint(0, others),), (Constraint(1, values),), (Constraint(0, ()),)]
    for rule in more:
        store.add(encode([rule]))
    assert (store.leaves, intervals_of(store)) == (25, 8), "each that differs in anything is another"
    assert decode(store.encoded(store.live_units())) == rules + more
    assert store.add(encode([rules[3], more[1]])).new_units.tolist() == []
    assert store.leaves == 25
    store.relabel(0, np.array([1, 4, 5], dtype=np.int32), np.array([2, 40, 50], dtype=np.int32))
    for rule, intervals in ((0, ((2, 2), (40, 9))), (20, ((2, 2), (40, 9))), (21, ((2, 2), (50, 9)))):
        assert decode(store.encoded(units_of(rule)))[0][0].intervals == intervals
    assert decode(store.encoded(units_of(22)))[0][0].intervals == values
    store.add(encode([(Constraint(0, ((2, 2), (50, 9))), Constraint(7, values))]))
    assert store.leaves == 26, "found by the labels that they have now"
    assert store.audit() == []


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_constraints_are_shared_alike_however_rules_come(cut: int) -> None:
    conjunctions = random_conjunctions(np.random.default_rng(3), SIZE // 4, top=24)
    store, _ = stored(conjunctions)
    assert store.leaves == len({each for rule in conjunctions for each in rule})
    bit_by_bit = ConjunctionStore()
    for first in range(0, len(conjunctions), cut):
        bit_by_bit.add(encode(conjunctions[first : first + cut]))
    for name in ("leaves", "records", "intervals", "offsets"):
        assert (bit_by_bit.arrays()[name] == store.arrays()[name]).all(), name


def test_a_constraint_of_dead_units_alone_is_no_hindrance_after_relabelling() -> None:
    """Labels that only dead units have stay as they are, and can come to say what another constraint says by then."""
    store = ConjunctionStore()
    store.add(encode([(Constraint(0, ((5, 9),)),), (Constraint(0, ((20, 30),)),)]))
    store.free(store.drop(units_of(0)))
    store.relabel(0, np.array([20, 30], np.int32), np.array([5, 9], np.int32))
    assert store.audit() == []
    assert store.add(encode([(Constraint(0, ((5, 9),)),)])).units.tolist() == [1]
    again = ConjunctionStore()
    again.restore(frozen(store.arrays()), store.header())
    assert again.add(encode([(Constraint(0, ((5, 9),)), Constraint(1, ((5, 9),)))])).new_units.tolist() == [2]
    assert again.leaves == store.leaves + 1
    assert again.audit() == []


def test_tables_grow_with_what_they_find() -> None:
    count = SIZE * 3
    store = ConjunctionStore()
    for first in range(0, count, 97):
        store.add(
            encode([(Constraint(step % 7, ((step, step + 1),)),) for step in range(first, min(first + 97, count))])
        )
    assert store.leaves == store.count == count
    for tags in (store._tags.view(), store._leaf_tags.view()):
        assert count / 0.85 < len(tags) < 3 * count + 64
    dying = units_of(*range(0, count, 2))
    store.free(store.drop(dying))
    store.add(encode([(Constraint(9, ((step, step + 1),)),) for step in range(count)]))
    assert store.audit() == []
    assert store.live == count // 2 + count


@pytest.mark.parametrize("clauses", [False, True])
def test_a_store_from_before_constraints_had_numbers_still_opens(clauses: bool) -> None:
    conjunctions = random_conjunctions(np.random.default_rng(11), SIZE // 2)
    store = ConjunctionStore(clauses)
    added = store.add(encode(conjunctions))
    gone = np.unique(added.units[: SIZE // 8])
    store.free(store.drop(np.repeat(gone, store.uses[gone])))
    again = ConjunctionStore(clauses)
    again.restore(frozen(older(store)), {**store.header(), "tombstones": 5})
    again.check()
    assert decode(again.encoded(added.units)) == conjunctions
    assert np.array_equal(again.alive, store.alive)
    assert np.array_equal(again.uses, store.uses)
    assert again.leaves == store.leaves
    assert again.audit() == []
    assert again.add(encode(conjunctions[-3:])).new_units.tolist() == []


@pytest.mark.parametrize("name", ["offsets", "records", "intervals", "alive"])
def test_an_older_store_that_is_damaged_is_refused(name: str) -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(12), 50))
    arrays = older(store)
    arrays[name] = arrays[name][:-1]
    with pytest.raises(CorruptSnapshot):
        ConjunctionStore().restore(frozen(arrays), store.header())


def older(store: ConjunctionStore) -> dict[str, np.ndarray]:
    """The arrays as they were saved before constraints had numbers."""
    offsets, leaves, records, intervals = store.view()
    arrays = {"offsets": offsets.astype(np.int64), "intervals": intervals.copy(), "uses": store.uses.copy()}
    arrays |= {"hashes": np.zeros(store.count, np.uint64), "table": np.full(16, -1, np.int32)}
    return {**arrays, "records": records.reshape(-1, WIDTH)[leaves].ravel(), "alive": store.alive.copy()}


def test_a_restored_store_shares_what_comes_later() -> None:
    conjunctions = random_conjunctions(np.random.default_rng(4), SIZE // 4, top=24)
    store, said = stored(conjunctions)
    again = ConjunctionStore()
    again.restore(frozen(store.arrays()), store.header())
    before = again.leaves
    assert again.add(encode(conjunctions)).new_units.tolist() == []
    assert again.leaves == before
    fresh = [(Constraint(20, ((1, 2), (4, 5))), *rule) for rule in said.values()]
    again.add(encode(fresh))
    assert decode(again.encoded(again.live_units())) == [*said.values(), *fresh]
    assert again.leaves == before + 1
    assert again.audit() == []


def test_a_unit_dies_when_its_last_use_is_dropped() -> None:
    one, two = (Constraint(0, ((1, 2),)),), (Constraint(0, (), True), Constraint(5, ((1, 2), (4, 9))))
    store = ConjunctionStore()
    store.add(encode([one, two, one]))
    assert store.drop(units_of(0)).tolist() == []
    assert store.drop(units_of(1, 0)).tolist() == [0, 1]
    assert decode(store.encoded(units_of(1, 0))) == [two, one]
    store.free(units_of(0, 1))
    assert (store.live, store.count) == (0, 2)
    assert store.add(encode([two])).new_units.tolist() == [2]
    assert store.audit() == []


def test_uses_are_not_counted_below_none() -> None:
    store, _ = stored([(Constraint(0, ((1, 2),)),)])
    with pytest.raises(InvalidArgument, match="unit 0 is dropped more often"):
        store.drop(units_of(0, 0))
    assert store.uses.tolist() == [1]
    with pytest.raises(InvalidArgument, match="without uses"):
        store.free(units_of(0))


def test_relabelling_rewrites_one_attribute_alone() -> None:
    several = Constraint(1, ((0, 4), (8, TOP_LABEL)))
    store, _ = stored([(Constraint(0, ((4, 8),)), several), (several,)])
    store.relabel(1, np.array([8, 4], dtype=np.int32), np.array([800, 400], dtype=np.int32))
    changed = Constraint(1, ((0, 400), (800, TOP_LABEL)))
    assert decode(store.encoded(units_of(0, 1))) == [(Constraint(0, ((4, 8),)), changed), (changed,)]
    assert store.add(encode([(changed,)])).units.tolist() == [1]
    assert store.add(encode([(several,)])).units.tolist() == [2]
    assert store.audit() == []


def test_compaction_closes_the_holes_and_keeps_uses() -> None:
    store, contents = stored(random_conjunctions(np.random.default_rng(3), SIZE))
    rng = np.random.default_rng(4)
    dying = np.sort(rng.choice(store.count, size=store.count // 3, replace=False)).astype(np.int32)
    store.free(store.drop(np.repeat(dying, store.uses[dying])))
    uses, alive = store.uses.copy(), store.alive.copy()
    remap = store.compact()
    assert np.array_equal(remap >= 0, alive)
    assert remap[alive].tolist() == list(range(store.count))
    assert np.array_equal(store.uses, uses[alive])
    kept = np.flatnonzero(alive).tolist()
    assert decode(store.encoded(store.live_units())) == [contents[unit] for unit in kept]
    assert store.audit() == []


def test_random_changes_agree_with_a_dictionary() -> None:
    rng = np.random.default_rng(5)
    pool = random_conjunctions(rng, 80, attributes=3, top=30)
    store, uses, unit_of = ConjunctionStore(), dict.fromkeys(pool, 0), {}
    for step in range(600 if COMPILED else 80):
        chosen = pool[int(rng.integers(len(pool)))]
        if uses[chosen] and rng.random() < 0.55:
            uses[chosen] -= 1
            freed = store.drop(units_of(unit_of[chosen]))
            assert len(freed) == (uses[chosen] == 0)
            store.free(freed)
        else:
            unit = int(store.add(encode([chosen])).units[0])
            assert (unit == unit_of.get(chosen)) == (uses[chosen] > 0)
            unit_of[chosen], uses[chosen] = unit, uses[chosen] + 1
        if step % 97 == 0:
            remap = store.compact()
            unit_of = {some: int(remap[unit_of[some]]) for some, count in uses.items() if count}
        assert store.live == sum(1 for count in uses.values() if count)
    assert store.audit() == []


def test_a_restored_store_goes_on_without_touching_what_it_came_from() -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(6), SIZE))
    store.free(store.drop(np.repeat(units_of(1, 2), store.uses[[1, 2]])))
    arrays = frozen(store.arrays())
    again = ConjunctionStore()
    again.restore(arrays, store.header())
    fresh = (Constraint(40, ((0, 1),)),)
    assert again.add(encode([fresh])).new_units.tolist() == [store.count]
    assert again.attributes == 41
    again.relabel(0, units_of(1), units_of(99))
    again.free(again.drop(np.repeat(units_of(5), again.uses[5])))
    assert again.audit() == []
    assert all(np.array_equal(array, store.arrays()[name]) for name, array in arrays.items())


def test_audit_sees_what_is_broken() -> None:
    def broken(name: str, position: int, value: int) -> list[str]:
        store, _ = stored(list(dict.fromkeys(random_conjunctions(np.random.default_rng(7), 50))))
        getattr(store, name).writable()[position] = value
        return store.audit()

    assert "alive without uses" in broken("_uses", 3, 0)[0]
    assert "not found" in broken("_leaves", 3, 0)[0]
    assert any("dead and has uses" in problem for problem in broken("_alive", 3, 0))
    assert "not found" in broken("_records", 2, 63)[-1]


def test_renumbered_attributes_keep_everything_else() -> None:
    several = Constraint(5, ((0, 4), (8, TOP_LABEL)), True)
    store, _ = stored([(Constraint(2, ((4, 8),)), several), (several,)])
    numbers = np.array([-1, -1, 0, -1, -1, 1], dtype=np.int32)
    store.renumber(numbers)
    moved = several._replace(attribute=1)
    assert decode(store.encoded(units_of(0, 1))) == [(Constraint(0, ((4, 8),)), moved), (moved,)]
    assert store.attributes == 2
    assert store.add(encode([(moved,)])).units.tolist() == [1]
    assert store.audit() == []
    with pytest.raises(InvalidArgument, match="no new number"):
        store.renumber(np.array([0, -1], dtype=np.int32))
