"""`bench betree`: every workload and variant at the scale of the tests, and answers that cannot be wrong unnoticed."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.papers.betree import changes as betree_changes
from matchwood.bench.papers.betree import experiment as betree
from matchwood.bench.papers.betree import find as betree_find
from matchwood.bench.papers.betree.plan import AS_PUBLISHED, BASELINE, GAINS, PAPER, PROFILES, SIZES, VARIANTS, cases
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.engines.betree.engine import BETree
from matchwood.engines.registry import engine_names
from matchwood.insight.find.query import SEMANTICS
from matchwood.workloads.begen import begen


@pytest.fixture(scope="module")
def rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    return list(results["betree"]["rows"])


def test_a_row_for_every_engine_and_variant(rows: list[dict[str, Any]]) -> None:
    first = [row["engine"] for row in rows if row.get("profile") == "Bloom filter"]
    assert {row.get("profile") for row in rows} == {*PROFILES, "q-grams", "Ads", None}
    assert first == [*engine_names("conjunctions"), AS_PUBLISHED, *(f"betree, {name}" for name in VARIANTS)]
    named = {row["engine"] for row in rows if row["workload"].startswith("names")}
    assert named == {*engine_names("conjunctions"), AS_PUBLISHED}
    assert all(row["checked"] is True and row["us_per_event"] > 0 for row in rows)


def test_engines_are_held_against_scan_whatever_comes_first(rows: list[dict[str, Any]]) -> None:
    compared = [row for row in rows if row.get("profile")]
    scans = {row["workload"]: row["us_per_event"] for row in compared if row["engine"] == "scan"}
    assert {row["workload"] for row in compared} == set(scans)
    for row in compared:
        times = scans[row["workload"]] / row["us_per_event"]
        assert row["ratio_to_scan"] == pytest.approx(times, abs=0.006)


def test_all_profiles_are_planned() -> None:
    planned = list(cases("full"))
    assert {case.profile for case in planned} == set(PROFILES)
    assert len({case.name for case in planned}) == len(planned)
    assert set(SCALES) < set(SIZES)
    for options in VARIANTS.values():
        assert set(options) <= set(BETree.options)
    assert {BASELINE, *GAINS} <= set(VARIANTS)


def test_every_semantics_is_searched_with(rows: list[dict[str, Any]]) -> None:
    found = [(row["workload"], row["semantics"]) for row in rows if row["engine"] == "find"]
    assert {semantics for _, semantics in found} == set(SEMANTICS)
    assert [workload for workload, _ in found if "expressive" in workload] == [
        "uniform, expressive events",
        "zipf, expressive events",
    ]


def test_a_wrong_answer_to_an_expression_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = betree_find.Index.find
    monkeypatch.setattr(betree_find.Index, "find", lambda index, *a, **k: real(index, *a, **k)[: len(index) // 200])
    with pytest.raises(WrongAnswer):
        betree_find.finding(SIZES[SMOKE])


def test_the_paper_stands_beside_both_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the paper prints of a workload is in the row of its own tree and in that of the default."""
    case = next(cases(SMOKE))
    monkeypatch.setitem(PAPER, (case.profile, "uniform", case.settings["rules"]), {"paper_build_s": 7.0})
    printed = [row["engine"] for row in betree.measure(case, begen(**case.settings), SMOKE) if "paper_build_s" in row]
    assert printed == ["betree", AS_PUBLISHED]


def test_the_first_workload_comes_back(rows: list[dict[str, Any]]) -> None:
    changing = [row for row in rows if row["engine"].startswith("betree, changing")]
    assert {row["engine"].removeprefix("betree, changing, ") for row in changing} == set(betree_changes.TREES)
    way = 1 + 2 * betree_changes.STEPS
    for start in range(0, len(changing), way):
        first, last = changing[start], changing[start + way - 1]
        assert first["rules"] == last["rules"]
        assert first["hits_per_event"] == pytest.approx(last["hits_per_event"], rel=0.3)  # other events, the same rules


def test_trees_are_recycled_only_where_adjustment_is_on(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["engine"].startswith("betree, changing") and row["workload"].endswith("100%"):
            assert (row["recycled"] > 0) == ("off" not in row["engine"]), row


def test_a_tree_of_other_rules_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(betree_changes, "_swap", lambda *_: None)
    with pytest.raises(WrongAnswer, match="the engines disagree"):
        betree_changes.changing(SIZES[SMOKE])
