"""`bench atree`: every workload, every engine, every idea switched off, and answers that cannot be wrong unnoticed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.papers.atree import cells as atree_cells
from matchwood.bench.papers.atree import experiment as atree
from matchwood.bench.papers.atree.deletion import RULES
from matchwood.bench.papers.atree.plan import OWN, SIZES, SWEEPS, VARIANTS, swept_cases
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.engines import ATree
from matchwood.index import Index
from matchwood.workloads.abegen import abegen
from matchwood.workloads.abegen_settings import AbeSettings


@pytest.fixture(scope="module")
def rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in results["atree"]["rows"] if row["workload"] == "ads"]


def test_a_row_for_every_engine_and_every_idea(rows: list[dict[str, Any]]) -> None:
    assert [row["engine"] for row in rows] == [
        "scan", "counting", OWN, "atree, as published", "atree, unique off", "atree, reorganise off",
        "atree, self_adjust off",
        "atree, zero_suppression off", "atree, on_demand off", "atree, binary", "atree, access child at random",
        "atree, access child rarest by estimate", "atree, access child rarest by event statistics",
    ]  # fmt: skip
    named = {name for options in VARIANTS.values() for name in options}
    assert {*ATree.options, "as_published"} == {*ATree.published, *named}
    for row in rows:
        assert row["checked"] is True
        same = [other for other in rows if other["events"] == row["events"]]
        assert row["hits_per_event"] == same[0]["hits_per_event"] > 0
    for row in rows[:-3]:
        assert min(row["us_per_event"], row["build_s"], row["bytes_index"], row["rules_per_s_encoded"]) > 0
        assert min(row["rules_per_s_single"], row["us_per_insert"], row["us_per_delete"]) > 0
    assert rows[0]["ratio_to_scan"] == 1


def test_what_an_idea_saves_is_told_for_variants_alone(rows: list[dict[str, Any]]) -> None:
    assert [row["engine"] for row in rows if "saves_time" in row] == [f"atree, {name}" for name in VARIANTS]
    by_name = {row["engine"]: row for row in rows}
    assert by_name["atree, on_demand off"]["candidates_per_event"] > by_name[OWN]["candidates_per_event"]
    assert by_name["atree, unique off"]["saves_bytes"] > 0


def test_the_rarest_child_is_the_best_to_listen_to(rows: list[dict[str, Any]]) -> None:
    at_random, estimated, remembered = (row["candidates_per_event"] for row in rows[-3:])
    assert at_random > estimated >= 0.9 * remembered


def test_the_papers_figures_stand_beside_ads(rows: list[dict[str, Any]]) -> None:
    assert [row.get("paper_us") for row in rows[:4]] == [529_100, None, None, 1_600]
    assert rows[3]["paper_mb"] == 205


def test_deletion_is_measured_at_several_sizes(results: dict[str, Any]) -> None:
    found = [row for row in results["atree"]["rows"] if row.get("section") == "deletion"]
    assert [row["x"] for row in found] == list(RULES[SMOKE])
    assert all(min(row["us_per_delete"], row["us_per_delete_tree"]) > 0 and row["checked"] for row in found)
    assert RULES["full"] == (20_000, 100_000, 400_000)


def test_every_scale_is_planned() -> None:
    assert set(SIZES) == set(SWEEPS) == {SMOKE, *SCALES}
    assert (SIZES["paper"].rules, SIZES["paper"].ads) == (1_000_000, 1_392_196)
    swept = {"rules", "depth", "children", "alpha", "dimensions", "cardinality", "event_size"}
    assert swept <= set(SWEEPS["quick"]) <= set(SWEEPS["paper"])


def test_sweeps_change_one_setting_and_keep_the_size_of_all_rules_in_bounds() -> None:
    usual, *others = swept_cases(SMOKE)
    assert usual.places == (("depth", "depth", 3), ("alpha", "alpha", 0.6))
    assert [case.places for case in others] == [(("depth", "depth", 1),), (("alpha", "alpha", 0.0),)]
    for case in (usual, *others):
        said = case.generate().describe()
        assert said["predicates_per_rule"] * said["rules"] < 2 * SIZES[SMOKE].predicates
        changed = {place.x_name for place in case.places}
        for name in set(AbeSettings.__dataclass_fields__) - {"rules", "events", "seed", *changed}:
            assert said[name] == getattr(AbeSettings(), name)
        assert all(said[place.x_name] == place.x for place in case.places)


def test_a_lost_hit_fails_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    small = atree_cells.prepared(abegen(rules=60, events=20, dimensions=30, seed=1))
    assert atree_cells.measure_cell("scan", small, SIZES[SMOKE]).hits.num_rows > 0
    whole = Index.match_many
    monkeypatch.setattr(Index, "match_many", lambda index, events: whole(index, events).slice(1))
    with pytest.raises(WrongAnswer, match="scan: the hits of the first events are not those"):
        atree_cells.measure_cell("scan", small, SIZES[SMOKE])


def test_other_hits_of_later_events_fail_a_workload() -> None:
    some, others = pa.table({"event": [1, 2], "rule": [3, 4]}), pa.table({"event": [1, 2], "rule": [3, 5]})
    atree.check_agreement([atree_cells.TreeCell({"engine": "a"}, some), atree_cells.TreeCell({"engine": "b"}, some)])
    with pytest.raises(WrongAnswer, match="b has 2 hits, a others"):
        atree.check_agreement(
            [atree_cells.TreeCell({"engine": "a"}, some), atree_cells.TreeCell({"engine": "b"}, others)]
        )
