"""From hits to rows: sorted and distinct whatever the density, bounded, resumable, and safe with damaged links."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from matchwood.engines.base import Hits, Work
from matchwood.engines.shared.workspace import Workspace
from matchwood.errors import CorruptSnapshot
from matchwood.rules._hit_kernels import STREAMED
from matchwood.rules.hits import OneEventIds, RuleRows, event_positions, rows_of_hits
from matchwood.rules.ids import IdColumn
from matchwood.rules.links import SHIFTED, RuleLinks

SLOW = bool(numba.config.DISABLE_JIT)


def hits_of(events: list[list[int]], first: int = 0) -> Hits:
    offsets = np.cumsum([0, *map(len, events)], dtype=np.int64)
    return Hits(first, offsets, np.array([unit for units in events for unit in units], np.int32), Work(0, 0, 0))


def lists(answer: RuleRows) -> list[list[int]]:
    return [answer.rows[start:stop].tolist() for start, stop in zip(answer.offsets, answer.offsets[1:], strict=False)]


def expected(links: RuleLinks, events: list[list[int]]) -> list[list[int]]:
    by_unit: dict[int, list[int]] = {}
    for row, unit in zip(*(side.tolist() for side in links.pairs()), strict=True):
        by_unit.setdefault(unit, []).append(row)
    return [sorted({row for unit in units for row in by_unit.get(unit, [])}) for units in events]


def all_rows(hits: Hits, links: RuleLinks, rows: int, room: int, workspace: Workspace) -> tuple[list[list[int]], int]:
    """Every event's rows, call by call, and the number of calls."""
    answers: list[list[int]] = []
    calls = 0
    while len(answers) < hits.count:
        answer = rows_of_hits([(hits, links)], len(answers), rows, workspace, room)
        assert answer.first == len(answers)
        assert answer.count >= 1
        assert len(answer.rows) <= room or np.count_nonzero(np.diff(answer.offsets)) == 1
        answers += lists(answer)
        calls += 1
    return answers, calls


@pytest.fixture(scope="module")
def tangled() -> tuple[RuleLinks, int]:
    """20,000 rows, 8,000 units: rows of several units, units of several rows."""
    rows = 2_000 if SLOW else 20_000
    generator = np.random.default_rng(11)
    links = RuleLinks()
    links.link(np.arange(rows), generator.integers(0, rows // 3, rows))
    links.link(generator.integers(0, rows, rows // 2), generator.integers(0, rows // 2, rows // 2))
    return links, rows


@pytest.mark.parametrize("density", [0, 1, 10, 50, 300, 4_000])
@pytest.mark.parametrize("room", [1, 100, 1 << 20])
def test_rows_are_sorted_and_distinct(tangled: tuple[RuleLinks, int], density: int, room: int) -> None:
    links, rows = tangled
    generator = np.random.default_rng(density)
    units = len(links.arrays()["unit_heads"])
    sizes = np.minimum(generator.integers(0, density + 1, 7), units)
    events = [generator.choice(units, size=size, replace=False).tolist() for size in sizes]
    workspace = Workspace()
    answers, calls = all_rows(hits_of(events), links, rows, room, workspace)
    assert answers == expected(links, events)
    assert calls == 1 or room < 1 << 20
    assert not workspace.array("rows.bits", 1, np.uint64).any()
    assert not workspace.array("rows.summary", 1, np.uint64).any()


def test_conjunctions_and_forms_of_one_rule_count_once() -> None:
    conjunctions, forms = RuleLinks(), RuleLinks()
    conjunctions.link([0, 1, 1, 3], [0, 1, 2, 0])
    forms.link([2, 1], [0, 1])
    by_conjunction, by_form = hits_of([[2, 1, 0], [], [1]]), hits_of([[1, 0], [0], []])
    answer = rows_of_hits([(by_conjunction, conjunctions), (by_form, forms)], 0, 4, Workspace())
    assert lists(answer) == [[0, 1, 2, 3], [2], [1]]


def test_an_answer_ends_where_the_shorter_hits_end() -> None:
    links = RuleLinks()
    links.link([0, 1, 2], [0, 1, 2])
    conjunctions, forms = hits_of([[0], [1], [2], [0, 2]], first=10), hits_of([[1], [2], [0]], first=9)
    answer = rows_of_hits([(conjunctions, links), (forms, links)], 10, 3, Workspace())
    assert (answer.first, lists(answer)) == (10, [[0, 2], [0, 1]])
    answer = rows_of_hits([(conjunctions, links), (forms, links)], 11, 3, Workspace())
    assert (answer.first, lists(answer)) == (11, [[0, 1]])
    for outside in (9, 12):
        with pytest.raises(IndexError, match=f"no hits for event {outside}"):
            rows_of_hits([(conjunctions, links), (forms, links)], outside, 3, Workspace())


def test_many_ids_on_one_unit_stay_bounded() -> None:
    rows, events = (500, 20) if SLOW else (100_000, 200)
    links = RuleLinks()
    links.link(np.arange(rows), np.zeros(rows))
    hits, workspace = hits_of([[0]] * events), Workspace()
    covered, room = 0, rows * 3 + 7
    while covered < events:
        answer = rows_of_hits([(hits, links)], covered, rows, workspace, room)
        assert len(answer.rows) <= room
        assert np.array_equal(answer.rows[:rows], np.arange(rows))
        assert answer.count == min(3, events - covered)
        covered += answer.count


def test_a_single_event_larger_than_the_room_is_answered() -> None:
    links = RuleLinks()
    links.link(np.arange(900), np.arange(900))
    events = [list(range(900)), [5], list(range(0, 900, 2))]
    answers, calls = all_rows(hits_of(events), links, 900, 10, Workspace())
    assert answers == [sorted(units) for units in events]
    assert calls == 3


def test_one_workspace_serves_tables_of_all_sizes() -> None:
    workspace = Workspace()
    for rows in (1_000, 5, 3_000, 64, 65):
        links = RuleLinks()
        links.link(np.arange(rows), np.arange(rows)[::-1])
        answer = rows_of_hits([(hits_of([list(range(rows))]), links)], 0, rows, workspace)
        assert lists(answer) == [list(range(rows))]


@pytest.mark.parametrize("swapped", [0, 1, 40])
@pytest.mark.parametrize("shared", [0, 1, 40])
def test_units_in_the_order_of_their_rows_and_units_that_are_not(swapped: int, shared: int) -> None:
    rows, generator = 2_000, np.random.default_rng(swapped + shared)
    units = np.arange(rows)
    units[: 2 * swapped] = units[: 2 * swapped].reshape(-1, 2)[:, ::-1].ravel()
    links = RuleLinks()
    links.link(np.arange(rows), units)
    links.link(np.arange(rows, rows + shared), generator.choice(rows, shared, replace=False))
    events = [generator.choice(rows, 300, replace=False).tolist() for _ in range(30)]
    workspace = Workspace()
    answers, _ = all_rows(hits_of(events), links, rows + shared, 5_000, workspace)
    assert answers == expected(links, events)
    assert not workspace.array("rows.bits", 1, np.uint64).any()


@pytest.mark.parametrize("changed", ["nothing", "holes", "swaps", "shared"])
def test_units_that_count_on_as_their_rows_do(changed: str) -> None:
    """As those of rules that came in bulk: shifts tell the rows of most of them, and the links those of the others."""
    rows, generator = 9_000, np.random.default_rng(3)
    units = np.arange(rows) + 7
    if changed == "holes":
        units = np.delete(units, generator.choice(rows, 20, replace=False))
    elif changed == "swaps":
        units[500:540] = units[500:540][::-1]
    links = RuleLinks()
    links.link(np.arange(len(units)), units)
    if changed == "shared":
        links.link(np.arange(rows, rows + 25), generator.choice(rows, 25) + 7)
    events = [(generator.choice(units, size, replace=False)).tolist() for size in (2_500, 40, 900, 8_000)]
    workspace = Workspace()
    for _ in range(2):  # shifts are derived from the links once enough was asked of them
        answers, _ = all_rows(hits_of(events), links, rows + 25, 50_000, workspace)
        assert answers == expected(links, events)
        assert not workspace.array("rows.bits", 1, np.uint64).any()
    assert len(links.shifts(0)) == -(-int(units.max() + 1) // SHIFTED)
    links.unlink([3])
    assert not len(links.shifts(0))
    answers, _ = all_rows(hits_of([[*events[0]]]), links, rows + 25, 50_000, workspace)
    assert answers == expected(links, events[:1])


@pytest.mark.parametrize("size", [0, 3, 60, 400])
def test_ids_that_count_on_are_written_in_place_of_rows(size: int) -> None:
    links, generator = RuleLinks(), np.random.default_rng(size)
    links.link(np.arange(2_000), generator.permutation(2_000))
    events = [generator.choice(2_000, size, replace=False).tolist() for _ in range(5)]
    answer = rows_of_hits([(hits_of(events), links)], 0, 2_000, Workspace(), first_id=-(2**40))
    assert answer.ids is not None
    assert answer.total == len(answer.ids) == 5 * size
    rows = answer._replace(rows=answer.ids + 2**40)
    assert lists(rows) == expected(links, events)


@pytest.mark.parametrize("first", [0, 5])
def test_results_that_are_larger_than_the_caches(first: int) -> None:
    """They are written past these, as far as an event fills whole lines of memory."""
    count, generator = 400 if SLOW else 3_000, np.random.default_rng(first)
    streamed = 2**12 if SLOW else STREAMED
    links = RuleLinks()
    links.link(np.arange(count), np.arange(count)[::-1])
    sizes = [0, 1, 7, 8, 9, 15, 16, 17, 25, 31, 63, 80, count // 2, count - 1, count]
    events: list[list[int]] = []
    while sum(map(len, events)) <= streamed:
        events += [generator.choice(count, size, replace=False).tolist() for size in generator.permutation(sizes)]
    hits = hits_of(events, first)
    answer = rows_of_hits([(hits, links)], first, count, Workspace(), first_id=10**12)
    assert answer.ids is not None
    assert lists(answer._replace(rows=answer.ids - 10**12)) == [
        sorted(count - 1 - unit for unit in units) for units in events
    ]
    positions = event_positions(first, answer.offsets)
    assert np.array_equal(positions, first + np.repeat(np.arange(len(events)), list(map(len, events))))


def test_single_events_use_shifts_once_they_pay() -> None:
    count, generator = 9_000, np.random.default_rng(5)
    links, ids, units = RuleLinks(), IdColumn(), np.zeros(count, np.int32)
    links.link(np.arange(count), np.arange(count))
    ids.add_many(list(range(100, 100 + count)))
    one = OneEventIds(units, links, ids, count, Workspace())
    for _ in range(8):
        chosen = generator.choice(count, 1_000, replace=False)
        units[:1_000] = chosen
        assert one.of(1_000) == sorted((chosen + 100).tolist())
    assert len(links.shifts(0)) == -(-count // SHIFTED)


def test_rows_of_two_sides_that_are_more_than_the_units() -> None:
    """Rules that share units on the first side leave no room to list those of the second: they are found too."""
    first, second = RuleLinks(), RuleLinks()
    first.link(np.arange(600), np.arange(600) // 30)
    second.link(np.arange(300, 620), np.arange(320))
    hits = hits_of([list(range(20))]), hits_of([list(range(320))])
    answer = rows_of_hits([(hits[0], first), (hits[1], second)], 0, 620, Workspace())
    assert lists(answer) == [list(range(620))]


@pytest.mark.parametrize("hit_count", [3, 500])
@pytest.mark.parametrize("damage", ["unit", "row", "node", "loop", "chained row"])
def test_a_number_that_leads_outside_is_an_error_and_leaves_the_workspace_clean(damage: str, hit_count: int) -> None:
    links = RuleLinks()
    links.link([*range(600), 600, 601], [*range(600), 0, 0])
    arrays = {name: array.copy() for name, array in links.arrays().items()}
    units = list(range(hit_count))
    match damage:
        case "unit":
            units[-1] = 600
        case "row":
            arrays["unit_heads"][hit_count - 1] = 602
        case "node":
            arrays["unit_heads"][hit_count - 1] = -2 - links.nodes
        case "loop":
            arrays["chain"][1::2] = links.nodes - 1
        case "chained row":
            arrays["chain"][0::2] = -5
    damaged, workspace = RuleLinks(), Workspace()
    damaged.restore(arrays, {"garbage": 0})
    with pytest.raises(CorruptSnapshot, match="a rule that does not exist"):
        rows_of_hits([(hits_of([[1, 2], units]), damaged)], 0, 602, workspace)
    again = rows_of_hits([(hits_of([list(range(300))]), links)], 0, 602, workspace)
    assert lists(again) == [[*range(300), 600, 601]]


@pytest.mark.parametrize("density", [0.001, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("room", [1, 70, 10_000])
def test_few_and_many_of_all_rows(density: float, room: int) -> None:
    """Whether the words of the bit set are walked one after the other or by what is known of them."""
    random, count = np.random.default_rng(7), 600 if SLOW else 20_000
    links, rows = RuleLinks(), random.permutation(count)
    links.link(rows, np.arange(count) // 3 * 3)  # three rows use the same unit
    links.link(rows[: count // 5], np.arange(count // 5) + count)
    chosen = [np.flatnonzero(random.random(count * 6 // 5) < density) for _ in range(6)]
    events = [[unit for unit in units.tolist() if unit >= count or unit % 3 == 0] for units in chosen]
    expected = [_rows_of(units, rows, count) for units in events]
    found: list[list[int]] = []
    while len(found) < len(events):
        found += lists(rows_of_hits([(hits_of(events), links)], len(found), count, Workspace(), room))
    assert found == expected


@pytest.mark.parametrize("hit_count", [25, 60, 97, 98, 300])
@pytest.mark.parametrize("apart", [1, 2, 64, 130, 1_000])
@pytest.mark.parametrize("room", [1, 400, 10_000])
def test_few_of_very_many_rows(hit_count: int, apart: int, room: int) -> None:
    """Rows that lie close together, in some words of the bit set or in one each; 98 words of its summary."""
    random, links = np.random.default_rng(hit_count + apart), RuleLinks()
    links.link(350_000 - apart * np.arange(340), np.arange(340))
    links.link(np.arange(400_000 - 20, 400_000), np.arange(20))
    events = [random.choice(340, hit_count, replace=False).tolist() for _ in range(3)]
    workspace = Workspace()
    answers, _ = all_rows(hits_of(events), links, 400_000, room, workspace)
    assert answers == expected(links, events)
    assert not workspace.array("rows.bits", 1, np.uint64).any()
    assert not workspace.array("rows.summary", 1, np.uint64).any()


def _rows_of(units: list[int], rows: NDArray[np.int64], count: int) -> list[int]:
    own = [rows[unit : unit + 3] if unit < count else rows[[unit - count]] for unit in units]
    return sorted({row for some in own for row in some.tolist()})


def test_hits_may_be_read_only_or_not() -> None:
    links = RuleLinks()
    links.link([0, 1], [0, 1])
    hits = hits_of([[1, 0]])
    for array in (hits.offsets, hits.units):
        _freeze(array)
    assert lists(rows_of_hits([(hits, links)], 0, 2, Workspace())) == [[0, 1]]


def _freeze(array: NDArray[Any]) -> None:
    array.flags.writeable = False
