"""`bench hem`: rivals that answer rightly and do as much as was published, and rows that cannot be wrong unnoticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.papers.hem import cells as hem_cells
from matchwood.bench.papers.hem import experiment
from matchwood.bench.papers.hem.plan import AS_PUBLISHED, GRIDS, OWN, PAPER, SIZES, SWEEPS, VARIANTS, cases
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.bench.rivals.base import RivalMatcher
from matchwood.bench.rivals.htree import HTree
from matchwood.bench.rivals.rein import Rein
from matchwood.bench.rivals.tama import Tama
from matchwood.workloads.hem import SPAN, hem

RULES, EVENTS = 400, 12


@pytest.fixture(scope="module")
def rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in results["hem"]["rows"] if row["workload"] == cases(SMOKE)[0].name]


def ends(attributes: int = 7, width: float = 0.3, rules: int = RULES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper ends, both inclusive, and the values of events."""
    work = hem(rules=rules, events=EVENTS, attributes=attributes, width=width, seed=5)
    both = work.rules.constants.reshape(rules, attributes, 2).astype(np.int32)
    return both[:, :, 0], both[:, :, 1], work.events.values.reshape(EVENTS, attributes)


def matched(rival: RivalMatcher, values: np.ndarray) -> list[set[int]]:
    output = np.empty(len(rival.low) + 1, np.int32)
    return [set(output[: rival.match(row, output)].tolist()) for row in values]


def brute(low: np.ndarray, high: np.ndarray, values: np.ndarray, live: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(((low <= row) & (row <= high)).all(axis=1) & live).tolist()) for row in values]


@pytest.mark.parametrize("kind", [Rein, Tama, HTree])
@pytest.mark.parametrize(("attributes", "width"), [(1, 0.1), (3, 0.5), (7, 0.8)])
def test_rivals_find_what_matches_through_insertions_and_deletions(
    kind: type[RivalMatcher], attributes: int, width: float
) -> None:
    low, high, values = ends(attributes, width)
    rival, live = kind(low, high, SPAN), np.zeros(RULES, np.bool_)
    extreme = np.stack((np.zeros(attributes), np.full(attributes, SPAN))).astype(np.int64)
    events = np.concatenate((values, extreme))
    for first, last in ((0, 100), (100, 101), (101, RULES)):
        rival.insert(first, last)
        live[first:last] = True
    gone = np.random.default_rng(1).permutation(RULES)[:150]
    wanted = brute(low, high, events, live)
    assert sum(map(len, wanted)) >= EVENTS
    for step in range(2):
        for ours, theirs in zip(brute(low, high, events, live), matched(rival, events), strict=True):
            assert ours == theirs if kind.exact else ours <= theirs
        if step == 0:
            rival.remove(gone)
            live[gone] = False
    rival.remove(np.flatnonzero(live))
    assert rival.copies == 0
    assert matched(rival, events) == [set()] * len(events)


def test_rein_marks_what_fails_and_compares_within_two_buckets() -> None:
    low, high, values = ends()
    rival = Rein(low, high, SPAN, buckets=50)
    rival.insert(0, RULES)
    assert rival.copies == 2 * 7 * RULES
    matched(rival, values)
    failing = int(sum(((row < low) | (row > high)).sum() for row in values))
    marked, compared = rival.steps[:2].tolist()
    assert failing - compared <= marked <= failing
    own = sum(
        int((side * 50 // (SPAN + 1) == row * 50 // (SPAN + 1)).sum())
        for row in values
        for side in (low.astype(int), high.astype(int))
    )
    assert compared == own


def test_tama_looks_at_a_cell_a_level_and_has_few_copies() -> None:
    low, high, values = ends()
    rival = Tama(low, high, SPAN)
    rival.insert(0, RULES)
    matched(rival, values)
    assert rival.steps[0] == 12 * 7 * EVENTS
    assert rival.copies <= 2 * 11 * 7 * RULES
    cell = -(-(SPAN + 1) // 2**11)
    holding = [int(((low - cell <= row) & (row <= high + cell)).sum()) for row in values]
    exact = [int(((low <= row) & (row <= high)).sum()) for row in values]
    assert sum(exact) <= rival.steps[1] <= sum(holding)


def test_tama_finds_too_many_where_cells_are_coarse() -> None:
    low, high, values = ends(2, 0.3)
    rival = Tama(low, high, SPAN, levels=3)
    rival.insert(0, RULES)
    extra = [
        len(found - right)
        for found, right in zip(matched(rival, values), brute(low, high, values, np.ones(RULES, bool)), strict=True)
    ]
    assert min(extra) >= 0
    assert sum(extra) > 0


def test_htree_copies_a_rule_into_every_leaf_and_verifies_one_leaf() -> None:
    low, high, values = ends()
    rival = HTree(low, high, SPAN)
    rival.insert(0, RULES)
    reached = high[:, :6].astype(int) * 4 // (SPAN + 1) - low[:, :6].astype(int) * 4 // (SPAN + 1) + 1
    assert rival.copies == HTree.expected_copies(low, high, SPAN) == reached.prod(axis=1).sum()
    matched(rival, values)
    inside = 0
    for row in values:
        cell = row[:6] * 4 // (SPAN + 1)
        first, last = low[:, :6].astype(int) * 4 // (SPAN + 1), high[:, :6].astype(int) * 4 // (SPAN + 1)
        inside += int(((first <= cell) & (cell <= last)).all(axis=1).sum())
    assert rival.steps[:2].tolist() == [6 * EVENTS, inside]


def test_a_row_for_every_engine_variant_rival_and_grid(rows: list[dict[str, Any]]) -> None:
    assert [row["engine"] for row in rows] == [
        "scan", *VARIANTS, "REIN", "TAMA", "H-TREE", "hem, grid 4", "hem, grid 80",
    ]  # fmt: skip
    by_name = {row["engine"]: row for row in rows}
    for row in rows:
        assert row["checked"] is True
        assert min(row["us_per_event"], row["us_per_insert"], row["us_per_delete"], row["bytes_index"]) > 0
        assert row["hits_per_event"] == rows[0]["hits_per_event"] >= 1
    assert by_name[OWN]["hem_share"] == by_name["scan"]["ratio_to_scan"] == 1
    assert by_name[AS_PUBLISHED]["published_share"] == 1
    assert by_name[OWN]["candidates_per_event"] < by_name[AS_PUBLISHED]["candidates_per_event"]
    assert by_name["TAMA"]["false_positives_per_event"] >= 0
    assert (
        by_name["H-TREE"]["copies_per_rule"] > by_name["TAMA"]["copies_per_rule"] > by_name["REIN"]["copies_per_rule"]
    )


def test_the_papers_shares_stand_beside_ours(rows: list[dict[str, Any]]) -> None:
    shares = {row["engine"]: row["paper_share"] for row in rows if row.get("paper_share")}
    assert shares == {"REIN": 0.5078, "TAMA": 0.1653, "H-TREE": 0.3507}
    assert [row["engine"] for row in rows if row.get("paper_us_per_insert") == 0.67] == [AS_PUBLISHED]
    assert set(PAPER) == {AS_PUBLISHED, "REIN", "TAMA", "H-TREE"}


def test_a_rival_that_has_no_room_is_left_out() -> None:
    case = cases(SMOKE)[0]._replace(grids=())
    rows = experiment.measure(case, SIZES[SMOKE]._replace(copies=10))
    assert "H-TREE" not in [row["engine"] for row in rows]


def test_every_scale_is_planned() -> None:
    assert set(SIZES) == set(SWEEPS) == set(GRIDS) == {SMOKE, *SCALES}
    assert SIZES["paper"].rules == 900_000
    assert {"rules", "attributes", "width"} == set(SWEEPS["quick"]) == set(SWEEPS["paper"])
    assert [case.name for case in cases(SMOKE)] == ["10 attributes, width 0.5", "width 0.2"]
    assert cases(SMOKE)[0].places == (("width", "width", 0.5),)
    assert [round(SIZES["paper"].rules * times, -4) for times in SWEEPS["paper"]["rules"]][::3] == [100_000, 1_700_000]


def test_a_lost_or_invented_hit_is_refused() -> None:
    hits = [np.array([1, 2], np.int32)]
    right, units = hem_cells.IntervalCell({"engine": "a"}, hits), np.arange(5, dtype=np.int32)
    expected = [np.array([1, 2])]
    hem_cells.check_cells([right], expected, units)
    for found, exact in (([1], True), ([1, 2, 3], True), ([1, 3], False)):
        other = hem_cells.IntervalCell({"engine": "b"}, [np.array(found, np.int32)], exact)
        with pytest.raises(WrongAnswer, match="b: event 0 has 2 hits"):
            hem_cells.check_cells([right, other], expected, units)
    with pytest.raises(WrongAnswer, match="a: event 0 has 1 hits"):
        hem_cells.check_cells([right], [np.array([1])], units)
    approximate = hem_cells.IntervalCell({"engine": "c"}, [np.array([1, 2, 4], np.int32)], False)
    hem_cells.check_cells([right, approximate], expected, units)
    assert approximate.row["false_positives_per_event"] == 1
