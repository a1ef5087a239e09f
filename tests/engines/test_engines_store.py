"""The store of conjunctions: sharing, uses, dead units, order, relabelling, compaction."""

from __future__ import annotations

import numpy as np
import pytest
from engines_support import COMPILED, Constraint, decode, encode, frozen, random_conjunctions, stored
from store_support import (
    SIZE,
    SPREADS,
    beginnings,
    random_rules,
    restored,
    same_arrays,
    sets_in,
    sets_needed,
    spread_out,
    turned_round,
    units_of,
)

from matchwood.encoding.codes import TOP_LABEL, EncodedRows
from matchwood.engines import ConjunctionStore
from matchwood.engines.shared._store_kernels import _set_like, look_up
from matchwood.engines.shared.constraints._set_kernels import NARROW, PAIRED, WIDE, form_of
from matchwood.engines.shared.constraints._slot_kernels import EMPTY, slot_for
from matchwood.engines.shared.constraints._word_kernels import NOWHERE, SET
from matchwood.engines.shared.constraints.words import rank_bits_for
from matchwood.errors import InvalidArgument


@pytest.mark.parametrize("spread", SPREADS)
def test_each_distinct_conjunction_is_kept_once(spread: int) -> None:
    conjunctions = random_rules(1, SIZE, spread)
    store = ConjunctionStore()
    added = store.add(encode(conjunctions))
    distinct = list(dict.fromkeys(conjunctions))
    assert store.count == store.live == len(distinct)
    assert [distinct[unit] for unit in added.units.tolist()] == conjunctions
    assert added.new_units.tolist() == list(range(len(distinct)))
    assert decode(store.encoded(added.units)) == conjunctions
    assert store.sizes(added.units).tolist() == [len(each) for each in conjunctions]
    assert sets_in(store) == sets_needed(conjunctions)
    assert store.audit() == []


def test_labels_that_lie_apart_need_less_room() -> None:
    """The forms of sets that the labels of these tests lead to."""
    found = []
    for spread in SPREADS:
        store, _ = stored(random_rules(1, SIZE, spread))
        forms = [int(form_of(store.view().sets[at])) for at in beginnings(store)]
        found.append({form for form in (NARROW, PAIRED, WIDE) if 10 * forms.count(form) > len(forms)})
        assert store.has_wide_sets == (WIDE in forms)
    assert found == [{WIDE}, {PAIRED}, {NARROW, PAIRED}]


@pytest.mark.parametrize("clauses", [False, True])
@pytest.mark.parametrize("spread", SPREADS)
def test_conjunctions_by_their_leaves_are_stored_like_all_others(spread: int, clauses: bool) -> None:
    """Found alike, and said alike, whatever was there before; words and sets are those of either way."""
    conjunctions = random_rules(7, SIZE, spread)
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
    same_arrays(one, other, "places", "words", "sets", "held", "slots")
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


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(
    "others",
    [
        (Constraint(3, ((4, 9),), True),),
        (Constraint(2, ((4, 9),)),),
        (Constraint(3, ((4, 8),)),),
        (Constraint(3, ((5, 9),)),),
        (Constraint(3, ((4, 5), (6, 9))),),
        (Constraint(3, (), True),),
        (Constraint(3, ((4, TOP_LABEL),)),),
        (Constraint(3, ((4, 9),)), Constraint(4, ((0, 1),))),
        (Constraint(2, ((4, 9),)), Constraint(3, ((4, 9),))),
        (),
    ],
)
def test_what_differs_in_one_thing_is_another(others: tuple[Constraint, ...], spread: int) -> None:
    first, other = spread_out([(Constraint(3, ((4, 9),)),), others], spread)
    store = ConjunctionStore()
    store.add(encode([first]))
    assert store.add(encode([other])).new_units.tolist() == [1]
    assert decode(store.encoded(units_of(0, 1))) == [first, other]


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("ordered", [False, True])
def test_equal_hashes_are_told_apart_by_contents(ordered: bool, spread: int) -> None:
    """Units and sets whose hashes are all the same, so that every search walks over all others."""
    store, _ = stored(list(dict.fromkeys(random_rules(2, 60, spread))))
    same, bits = np.uint64(7 << 20), 16
    places, words, sets, _ = store.view()
    slots = np.full(2 * store.count, EMPTY, np.uint32)
    for unit in range(store.count):
        slot = look_up(slots, bits, same, places, words, np.int64(places[unit]), ordered)
        slots[-1 - slot] = slot_for(same, unit, bits)
    found = [slots[look_up(slots, bits, same, places, words, np.int64(first), ordered)] for first in places]
    assert [int(slot) & 2**bits - 1 for slot in found] == list(range(store.count))
    begins = beginnings(store)
    ends, slots = [*begins[1:], len(sets)], np.full(2 * len(begins), EMPTY, np.uint32)
    for at, end in zip(begins, ends, strict=True):
        slots[-1 - _set_like(sets, slots, bits, same, at, end - at)] = slot_for(same, at, bits)
    found = [_set_like(sets, slots, bits, same, at, end - at) for at, end in zip(begins, ends, strict=True)]
    assert found == begins


@pytest.mark.parametrize("spread", SPREADS)
def test_equal_constraints_are_kept_once(spread: int) -> None:
    values, others = ((1, 2), (4, 9)), ((1, 2), (5, 9))
    store = ConjunctionStore()
    rules = [(Constraint(0, values), Constraint(1, ((step, step + 1),))) for step in range(20)]
    more = [(Constraint(0, values, True),), (Constraint(0, others),), (Constraint(1, values),), (Constraint(0, ()),)]
    rules, more = spread_out(rules, spread), spread_out(more, spread)
    store.add(encode(rules))
    assert sets_in(store) == sets_needed(rules) == (1 if spread == 1 << 20 else 21)
    before = sets_in(store)
    for rule in more:
        store.add(encode([rule]))
    assert sets_in(store) == before + 4, "each that differs in anything is another"
    assert decode(store.encoded(store.live_units())) == rules + more
    assert store.add(encode([rules[3], more[1]])).new_units.tolist() == []
    assert sets_in(store) == before + 4
    old = np.array([1, 2, 4, 5, 9], np.int32) * np.int32(spread)
    new = np.array([2, 3, 40, 50, 60], np.int32) * np.int32(spread)
    store.relabel(0, old, new)
    changed = spread_out([(Constraint(0, ((2, 3), (40, 60))),), (Constraint(0, ((2, 3), (50, 60))),)], spread)
    for unit, intervals in ((0, changed[0]), (20, changed[0]), (21, changed[1])):
        assert decode(store.encoded(units_of(unit)))[0][0].intervals == intervals[0].intervals
    assert decode(store.encoded(units_of(22))) == [more[2]]
    assert sets_in(store) == before + 4
    store.add(encode([(changed[1][0], *spread_out([(Constraint(7, values),)], spread)[0])]))
    assert sets_in(store) == before + 5, "found by the labels that they have now"
    assert store.audit() == []


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("cut", [1, 7, 60])
def test_constraints_are_shared_alike_however_rules_come(cut: int, spread: int) -> None:
    conjunctions = random_rules(3, SIZE // 4, spread, top=24)
    store, _ = stored(conjunctions)
    assert sets_in(store) == sets_needed(conjunctions)
    bit_by_bit = ConjunctionStore()
    for first in range(0, len(conjunctions), cut):
        bit_by_bit.add(encode(conjunctions[first : first + cut]))
    same_arrays(bit_by_bit, store, "places", "words", "sets", "held")


def test_a_constraint_of_dead_units_alone_is_no_hindrance_after_relabelling() -> None:
    """Labels that only dead units have stay as they are, and can come to say what another constraint says by then."""
    store = ConjunctionStore()
    store.add(encode([(Constraint(0, ((5, 9),)),), (Constraint(0, ((20, 30),)),)]))
    store.free(store.drop(units_of(0)))
    store.relabel(0, np.array([20, 30], np.int32), np.array([5, 9], np.int32))
    assert store.audit() == []
    assert store.add(encode([(Constraint(0, ((5, 9),)),)])).units.tolist() == [1]
    again = restored(store.arrays(), store.header())
    assert again.add(encode([(Constraint(0, ((5, 9),)), Constraint(1, ((5, 9),)))])).new_units.tolist() == [2]
    assert sets_in(again) == sets_in(store) + 1
    assert again.audit() == []


def test_dead_units_stay_valid_when_only_one_of_their_labels_gets_another() -> None:
    store = ConjunctionStore()
    store.add(encode([(Constraint(0, ((5, 9),)),), (Constraint(0, ((9, 30),)),)]))
    store.free(store.drop(units_of(0)))
    store.relabel(0, np.array([9, 30], np.int32), np.array([3, 5], np.int32))
    assert decode(store.encoded(units_of(1))) == [(Constraint(0, ((3, 5),)),)]
    assert store.audit() == []
    again = restored(store.arrays(), store.header())
    assert again.add(encode([(Constraint(0, ((3, 5),)),)])).units.tolist() == [1]
    again.compact()
    assert again.audit() == []


def test_tables_grow_with_what_they_find() -> None:
    count = SIZE * 3
    store = ConjunctionStore()
    for first in range(0, count, 97):
        store.add(
            encode([(Constraint(step % 7, ((step, step + 1),)),) for step in range(first, min(first + 97, count))])
        )
    assert sets_in(store) == store.count == count
    for slots in (store._slots.view(), store._set_slots.view()):
        assert count / 0.85 < len(slots) < 3 * count + 64
    dying = units_of(*range(0, count, 2))
    store.free(store.drop(dying))
    store.add(encode([(Constraint(9, ((step, step + 1),)),) for step in range(count)]))
    assert store.audit() == []
    assert store.live == count // 2 + count


def test_numbers_that_slots_hold_grow_beyond_the_bits_that_a_table_began_with() -> None:
    """Units and sets, one after the other and many at once: slots name each by as many bits as it needs."""
    rules = [(Constraint(step % 7, ((step, step + 1), (step + 3, step + 4))),) for step in range(SIZE)]
    for cut in (1, 50, len(rules)) if COMPILED else (50,):
        store = ConjunctionStore()
        for first in range(0, len(rules), cut):
            store.add(encode(rules[first : first + cut]))
        assert 1 << store._unit_bits >= store.count > 1 << 7
        assert 1 << store._set_bits >= len(store.view().sets) > 1 << 8
        assert store.audit() == []
        assert not len(store.add(encode(rules)).new_units)


# ---------------------------------------------------------------------- life


@pytest.mark.parametrize("spread", SPREADS)
def test_a_restored_store_shares_what_comes_later(spread: int) -> None:
    conjunctions = random_rules(4, SIZE // 4, spread, top=24)
    store, said = stored(conjunctions)
    again = restored(store.arrays(), store.header())
    before = sets_in(again)
    assert again.add(encode(conjunctions)).new_units.tolist() == []
    assert sets_in(again) == before
    fresh = [(*rule, Constraint(20, ((1, 2), (4, 5)))) for rule in said.values()]
    again.add(encode(fresh))
    assert decode(again.encoded(again.live_units())) == [*said.values(), *fresh]
    assert sets_in(again) == before + 1
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


@pytest.mark.parametrize("cut", [1, 100, 1000])
def test_uses_are_counted_beyond_a_byte(cut: int) -> None:
    """A byte each, until one does not fit: then four. Whoever adds notices nothing, in the middle of a batch either."""
    often, seldom = (Constraint(0, ((1, 2),)),), (Constraint(1, ((1, 2),)),)
    rules = [seldom, *[often] * 253]
    store = ConjunctionStore()
    store.add(encode(rules))
    assert store.bytes_by_column()["held"] == 2
    store.add(encode([often]))
    assert store.uses.tolist() == [1, 254]
    assert store.bytes_by_column()["held"] == 2
    again = restored(store.arrays(), store.header())
    more = [often] * 700 + [(Constraint(2, ((1, 2),)),), seldom]
    for first in range(0, len(more), cut):
        again.add(encode(more[first : first + cut]))
    assert again.uses.tolist() == [2, 954, 1]
    assert again.bytes_by_column()["held"] == 12
    last = restored(again.arrays(), again.header())
    assert last.drop(np.full(953, 1, np.int32)).tolist() == []
    assert last.drop(units_of(1, 2)).tolist() == [1, 2]
    last.free(units_of(1, 2))
    assert last.compact().tolist() == [0, -1, -1]
    assert last.uses.tolist() == [2]
    assert last.add(encode([often])).units.tolist() == [1]
    assert last.audit() == []


def test_a_conjunction_without_constraints_has_no_place() -> None:
    store = ConjunctionStore()
    assert store.add(encode([(), (Constraint(0, ((1, 2),)),), ()])).units.tolist() == [0, 1, 0]
    assert store.view().places.tolist() == [NOWHERE, 0]
    assert store.sizes(units_of(0, 1)).tolist() == [0, 1]
    store.lay_out(units_of(1, 0))
    assert store.view().places.tolist() == [NOWHERE, 0]
    store.free(store.drop(units_of(0, 0)))
    assert store.add(encode([()])).units.tolist() == [2]
    assert store.audit() == []


def test_relabelling_rewrites_one_attribute_alone() -> None:
    several = Constraint(1, ((0, 4), (8, TOP_LABEL)))
    store, _ = stored([(Constraint(0, ((4, 8),)), several), (several,)])
    store.relabel(1, np.array([8, 4], dtype=np.int32), np.array([800, 400], dtype=np.int32))
    changed = Constraint(1, ((0, 400), (800, TOP_LABEL)))
    assert decode(store.encoded(units_of(0, 1))) == [(Constraint(0, ((4, 8),)), changed), (changed,)]
    assert store.add(encode([(changed,)])).units.tolist() == [1]
    assert store.add(encode([(several,)])).units.tolist() == [2]
    assert store.audit() == []


def test_relabelling_makes_sets_of_words_and_words_of_sets() -> None:
    near, far = np.arange(1, 64, dtype=np.int32), np.arange(1, 64, dtype=np.int32) << 20
    rules = random_rules(13, SIZE // 4, attributes=3)
    store, _ = stored(rules)
    for old, new, spread in ((near, far, 1 << 20), (far, near, 1)):
        for attribute in range(3):
            store.relabel(attribute, old, new)
        now = spread_out(rules, spread)
        assert sets_in(store) == sets_needed(now)
        assert store.has_wide_sets == (spread == 1)
        assert not len(store.add(encode(now)).new_units)
        assert store.audit() == []


@pytest.mark.parametrize("spread", SPREADS)
def test_compaction_closes_the_holes_and_keeps_uses(spread: int) -> None:
    store, contents = stored(random_rules(3, SIZE, spread))
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
    assert sets_in(store) == sets_needed([contents[unit] for unit in kept])
    assert store.audit() == []


def test_random_changes_agree_with_a_dictionary() -> None:
    rng = np.random.default_rng(5)
    pool = [
        *random_conjunctions(rng, 40, attributes=3, top=30),
        *spread_out(random_conjunctions(rng, 40, attributes=3, top=30), 1 << 21),
    ]
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
        elif step % 41 == 0:
            turned_round(store)
        elif step % 43 == 0:
            store.lay_out(rng.permutation(store.live_units())[: store.live // 2].astype(np.int32))
        assert store.live == sum(1 for count in uses.values() if count)
    assert store.audit() == []


def test_a_restored_store_goes_on_without_touching_what_it_came_from() -> None:
    store, _ = stored(random_rules(6, SIZE))
    store.free(store.drop(np.repeat(units_of(1, 2), store.uses[[1, 2]])))
    arrays = frozen(store.arrays())
    again = ConjunctionStore()
    again.restore(arrays, store.header())
    fresh = (Constraint(40, ((0, 1),)),)
    assert again.add(encode([fresh])).new_units.tolist() == [store.count]
    assert again.attributes == 41
    again.relabel(0, np.arange(1, 1_000, dtype=np.int32), 2 * np.arange(1, 1_000, dtype=np.int32))
    again.free(again.drop(np.repeat(units_of(5), again.uses[5])))
    turned_round(again)
    again.lay_out(units_of(7, 3))
    assert again.audit() == []
    assert all(np.array_equal(array, store.arrays()[name]) for name, array in arrays.items())


def test_a_copy_goes_its_own_way() -> None:
    rules = random_rules(14, SIZE // 4)
    store, contents = stored(rules)
    before = frozen(store.arrays())
    copied = store.copy()
    assert copied.header() == store.header()
    more = random_rules(22, SIZE)
    assert decode(copied.encoded(copied.add(encode(more)).units)) == more
    turned_round(copied)
    copied.lay_out(copied.live_units()[::-1])
    assert copied.audit() == store.audit() == []
    assert all(np.array_equal(array, store.arrays()[name]) for name, array in before.items())
    assert decode(store.encoded(store.live_units())) == list(contents.values())


@pytest.mark.parametrize("spread", SPREADS)
def test_a_copy_that_was_laid_out_follows_and_is_taken_over(spread: int) -> None:
    """What comes and goes meanwhile has the same numbers in both; afterwards units lie as the copy had them."""
    store, _ = stored(random_rules(14, SIZE // 2, spread))
    copied, before = store.copy(), store.live_units()
    turned_round(copied)
    copied.lay_out(before[::-1])
    store.free(store.drop(np.repeat(before[::5], store.uses[before[::5]])))
    more = random_rules(22, SIZE, spread)
    store.add(encode(more))
    said = decode(store.encoded(np.arange(store.count, dtype=np.int32)))
    copied.follow(store)
    store.take_over(copied)
    again = restored(store.arrays(), store.header())
    for each in (store, again):
        assert decode(each.encoded(np.arange(each.count, dtype=np.int32))) == said
        assert decode(each.as_stored(before)) == [said[unit][::-1] for unit in before.tolist()]
        assert each.audit() == []
        assert not len(each.add(encode(more)).new_units)
    store.add(encode(random_rules(23, SIZE, spread)))
    store.compact()
    assert store.audit() == []


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


# ---------------------------------------------------------------------- order


@pytest.mark.parametrize("spread", SPREADS)
def test_constraints_in_another_order_say_the_same(spread: int) -> None:
    rules = random_rules(15, SIZE // 2, spread)
    store, contents = stored(rules)
    said = list(contents.values())
    some = store.live_units()[::2]
    sizes = store.sizes(some)
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng(16)
    orders = [rng.permutation(size) for size in sizes.tolist()]
    store.reorder(some, starts, np.concatenate(orders).astype(np.int32))
    as_stored = list(said)
    for unit, order in zip(some.tolist(), orders, strict=True):
        as_stored[unit] = tuple(said[unit][place] for place in order.tolist())
    for each in (store, restored(store.arrays(), store.header())):
        assert decode(each.encoded(each.live_units())) == said
        assert decode(each.as_stored(each.live_units())) == as_stored
        assert each.sizes(each.live_units()).tolist() == [len(rule) for rule in said]
        assert each.add(encode(rules)).new_units.tolist() == [], "rules come by attribute, and are found"
        assert each.audit() == []
    store._rebuild_table(store.live)
    assert not len(store.add(encode(rules)).new_units), "as much in a table that is made anew"
    store.free(store.drop(np.repeat(some, store.uses[some])))
    assert store.audit() == []


@pytest.mark.parametrize("spread", SPREADS)
def test_units_that_are_laid_out_anew_say_the_same(spread: int) -> None:
    """The words of the units asked for come first, in their order, and their sets; numbers stay."""
    rules = random_rules(17, SIZE // 2, spread)
    store, contents = stored(rules)
    said = list(contents.values())
    turned_round(store)
    dead = store.live_units()[::7]
    store.free(store.drop(np.repeat(dead, store.uses[dead])))
    first = np.random.default_rng(18).permutation(store.live_units())[: store.count // 2].astype(np.int32)
    count, before = sets_in(store), decode(store.as_stored(np.arange(store.count, dtype=np.int32)))
    store.lay_out(first)
    everything = np.arange(store.count, dtype=np.int32)
    assert decode(store.as_stored(everything)) == before
    assert decode(store.encoded(everything)) == said
    places = store.view().places
    listed = [*first.tolist(), *(unit for unit in everything.tolist() if unit not in set(first.tolist()))]
    at = 0
    for unit in listed:
        assert places[unit] == (at if said[unit] else NOWHERE)
        at += len(said[unit])
    named = [int(word) & SET - 1 for word in store.view().words.tolist() if word & SET]
    assert list(dict.fromkeys(named)) == sorted(set(named)), "sets lie in the order in which words name them"
    assert sets_in(store) == count
    for each in (store, restored(store.arrays(), store.header())):
        assert each.audit() == []
        assert each.add(encode([said[unit] for unit in first.tolist()])).units.tolist() == first.tolist()
    fresh = [(*rule, Constraint(30, ((1, 2), (3, 4)))) for rule in said[:20]]
    assert len(store.add(encode(fresh)).new_units) == len(set(fresh))
    store.compact()
    assert store.audit() == []


def test_where_room_was_made_a_change_copies_nothing_and_leaves_tables_as_they_are() -> None:
    rules = random_rules(27, SIZE, SPREADS[0])
    store, _ = stored([rule for rule in rules if rule])
    store.lay_out(store.live_units()[::-1])
    before, said = store.count, decode(store.encoded(store.live_units()))
    store.make_room()
    kept = {name: column._buffer for name, column in store.columns.items()}
    fresh = [(*rule, Constraint(31, ((8 * n + 1, 8 * n + 2),))) for n, rule in enumerate(said[:200])]
    assert len(store.add(encode(fresh)).new_units) == len(fresh)
    assert [name for name, column in store.columns.items() if column._buffer is not kept[name]] == []
    assert decode(store.encoded(np.arange(before, dtype=np.int32))) == said
    assert decode(store.encoded(np.arange(before, store.count, dtype=np.int32))) == fresh
    assert store.audit() == []


def test_attributes_that_words_have_no_room_for_are_in_sets_until_words_are_divided_anew() -> None:
    few, many = rank_bits_for(128), rank_bits_for(1_000)
    assert few > many
    one = (Constraint(3, ((1 << 25, 1 << 26),)),)
    other = (Constraint(3, ((1 << 25, 1 << 26),)), Constraint(900, ((1 << 25, 1 << 26),)))
    store, _ = stored([one])
    assert store.within_words
    assert (store.rank_bits, sets_in(store)) == (few, 0)
    store.add(encode([other]))
    assert not store.within_words
    assert (store.rank_bits, sets_in(store)) == (few, 1)
    assert decode(store.encoded(units_of(0, 1))) == [one, other]
    store.divide_words()
    assert store.within_words
    assert (store.rank_bits, sets_in(store)) == (many, 0)
    assert decode(store.encoded(units_of(0, 1))) == [one, other]
    assert store.add(encode([one, other])).new_units.tolist() == []
    numbers = np.full(901, -1, np.int32)
    numbers[[3, 900]] = 0, 1
    store.renumber(numbers)
    assert (store.rank_bits, store.attributes) == (few, 2)
    assert decode(store.encoded(units_of(1)))[0][1] == other[1]._replace(attribute=1)
    assert store.audit() == []
