"""The links between units and rows against two plain dictionaries of lists."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.errors import CorruptSnapshot
from matchwood.rules.links import RuleLinks

Pair = tuple[int, int]


def pairs_of(links: RuleLinks) -> list[Pair]:
    rows, units = links.pairs()
    return sorted(zip(rows.tolist(), units.tolist(), strict=True))


def linked(*pairs: Pair) -> RuleLinks:
    links = RuleLinks()
    links.link([row for row, _ in pairs], [unit for _, unit in pairs])
    return links


def assert_same(links: RuleLinks, expected: list[Pair]) -> None:
    assert pairs_of(links) == sorted(expected)
    for unit in range(8):
        assert sorted(links.rows_of(unit).tolist()) == sorted(row for row, other in expected if other == unit)
    for row in range(8):
        assert sorted(links.units_of(row).tolist()) == sorted(unit for other, unit in expected if other == row)
    assert links.audit("links") == []
    links.check("links", 8)


def test_one_unit_one_row_needs_no_node() -> None:
    links = linked((0, 1), (1, 0), (2, 2))
    assert links.nodes == 0
    assert_same(links, [(0, 1), (1, 0), (2, 2)])


def test_a_unit_of_one_row_names_it_directly_although_the_row_has_others() -> None:
    links = linked((4, 0), (4, 1), (4, 2))
    assert links.arrays()["unit_heads"].tolist() == [4, 4, 4]
    assert_same(links, [(4, 0), (4, 1), (4, 2)])


def test_a_unit_left_with_one_row_names_it_directly_again() -> None:
    links = linked((0, 5), (1, 5), (2, 5))
    assert links.arrays()["unit_heads"][5] < -1
    links.unlink([1])
    links.unlink([2])
    assert links.arrays()["unit_heads"][5] == 0
    links.link([3], [5])
    assert_same(links, [(0, 5), (3, 5)])


def test_a_link_given_twice_is_handed_back_twice() -> None:
    links = linked((0, 5), (0, 5), (1, 5))
    assert sorted(links.rows_of(5).tolist()) == [0, 0, 1]
    assert links.unlink([0]).tolist() == [5, 5]
    assert_same(links, [(1, 5)])


pairs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12)
steps = st.lists(st.one_of(pairs, st.lists(st.integers(0, 7), max_size=3, unique=True).map(set)), max_size=12)


@given(steps)
def test_links_like_plain_lists(actions: list[Any]) -> None:
    links, expected = RuleLinks(), []
    for action in actions:
        if isinstance(action, set):
            gone = [pair for pair in expected if pair[0] in action]
            expected = [pair for pair in expected if pair[0] not in action]
            assert Counter(links.unlink(sorted(action)).tolist()) == Counter(unit for _, unit in gone)
        else:
            links.link([row for row, _ in action], [unit for _, unit in action])
            expected += action
        assert_same(links, expected)


def test_rows_of_a_shared_unit_go_in_any_order_in_constant_time() -> None:
    count = 2_000
    links = RuleLinks()
    links.link(np.arange(count), np.zeros(count))
    order = np.random.default_rng(5).permutation(count)
    for row in order[: count // 2]:
        assert links.unlink([row]).tolist() == [0]
    assert np.array_equal(np.sort(links.rows_of(0)), np.sort(order[count // 2 :]))
    assert links.audit("links") == []
    assert links.garbage == count // 2


def test_rebuilding_lays_the_rows_of_a_unit_side_by_side() -> None:
    rows, units = np.arange(300, dtype=np.int32), np.arange(300, dtype=np.int32) % 3
    links = RuleLinks()
    links.link(rows, units)
    links.unlink([0])
    links.rebuild(rows, units)
    assert links.garbage == 0
    following = links.arrays()["chain"][1::2]
    assert ((following == np.arange(300) - 1) | (following == -1)).all()
    assert pairs_of(links) == sorted(zip(rows.tolist(), units.tolist(), strict=True))


def restored(links: RuleLinks, **changed: Any) -> RuleLinks:
    arrays = {name: array.copy() for name, array in links.arrays().items()} | changed
    for array in arrays.values():
        array.flags.writeable = False
    again = RuleLinks()
    again.restore(arrays, links.header())
    return again


def test_restored_links_copy_before_they_write() -> None:
    links = linked((0, 5), (1, 5), (2, 6))
    again = restored(links)
    again.unlink([1])
    again.link([3], [6])
    assert_same(again, [(0, 5), (2, 6), (3, 6)])
    assert_same(links, [(0, 5), (1, 5), (2, 6)])


@pytest.mark.parametrize("name", ["unit_heads", "row_heads", "chain", "back"])
def test_no_damaged_number_is_followed_outside(name: str) -> None:
    links = linked((0, 5), (1, 5), (2, 5), (2, 4), (3, 1))
    for position in range(len(links.arrays()[name])):
        for value in (100, -100, 2**31 - 1, -(2**31)):
            damaged = links.arrays()[name].copy()
            damaged[position] = value
            again = restored(links, **{name: damaged})
            assert len(again.rows_of(5)) <= 4
            assert len(again.pairs()[0]) <= 10
            with pytest.raises(CorruptSnapshot, match="leads outside"):
                again.check("links", 4)


def test_a_unit_whose_row_does_not_know_it_is_noticed() -> None:
    links = linked((0, 5), (1, 4), (1, 3))
    heads = links.arrays()["unit_heads"].copy()
    heads[5] = 1
    with pytest.raises(CorruptSnapshot, match="does not name the unit"):
        restored(links, unit_heads=heads).link([2], [5])


def test_a_link_between_two_that_had_one_each_makes_three_nodes() -> None:
    links = RuleLinks()
    links.link([0, 1], [1, 0])
    links.link([0], [0])
    assert (links.nodes, sorted(links.rows_of(0).tolist()), sorted(links.units_of(0).tolist())) == (3, [0, 1], [0, 1])
    assert (links.rows_of(1).tolist(), links.units_of(1).tolist(), links.audit("links")) == ([0], [0], [])


def test_a_row_given_twice_is_unlinked_once() -> None:
    links = linked((0, 5), (1, 5), (1, 6))
    assert sorted(links.unlink([1, 1]).tolist()) == [5, 6]
    assert_same(links, [(0, 5)])


def test_a_damaged_chain_does_not_run_for_ever() -> None:
    links = linked((0, 5), (1, 5), (2, 5))
    chain = links.arrays()["chain"].copy()
    chain[1::2] = 2
    assert len(restored(links, chain=chain).rows_of(5)) <= 3
    back = links.arrays()["back"].copy()
    back[2::3] = 2
    assert len(restored(links, back=back).pairs()[0]) <= 6


def test_sizes_that_make_no_nodes_are_refused() -> None:
    links = linked((0, 5), (1, 5))
    with pytest.raises(CorruptSnapshot, match="make no nodes"):
        restored(links, back=links.arrays()["back"][:-1])


@pytest.mark.parametrize(
    ("name", "position", "value", "problem"),
    [
        ("unit_heads", 4, 1, "do not name the same links"),
        ("row_heads", 3, -1, "do not name the same links"),
        ("back", 1, -1, "read backwards"),
        ("unit_heads", 1, -2, "directly"),
    ],
)
def test_audit_finds_what_is_planted(name: str, position: int, value: int, problem: str) -> None:
    links = linked((0, 5), (1, 5), (2, 5), (2, 4), (3, 1))
    damaged = links.arrays()[name].copy()
    assert damaged[position] != value
    damaged[position] = value
    assert any(problem in found for found in restored(links, **{name: damaged}).audit("links"))


def test_mismatched_or_negative_pairs_are_refused() -> None:
    links = RuleLinks()
    for rows, units in (([0, 1], [0]), ([-1], [0]), ([0], [-1])):
        with pytest.raises(IndexError):
            links.link(rows, units)
    assert links.pairs()[0].tolist() == []
