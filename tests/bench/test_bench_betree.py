"""`bench betree`: every workload and variant at the scale of the tests, and answers that cannot be wrong unnoticed."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench import betree, betree_changes
from matchwood.bench.betree_plan import PROFILES, SIZES, VARIANTS, cases
from matchwood.bench.measure import WrongAnswer
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.engines.betree import BETree
from matchwood.engines.registry import engine_names


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = betree.run(SMOKE)["rows"]
    return result


def test_a_row_for_every_engine_and_variant(rows: list[dict[str, Any]]) -> None:
    first = [row["engine"] for row in rows if row.get("profile") == "Bloom filter"]
    assert first == [*engine_names("conjunctions"), *(f"betree, {name}" for name in VARIANTS)]
    assert {row["engine"] for row in rows if row["workload"].startswith("names")} == set(engine_names("conjunctions"))
    assert all(row["checked"] is True and row["us_per_event"] > 0 for row in rows)


def test_all_profiles_are_planned() -> None:
    planned = list(cases("full"))
    assert {case.profile for case in planned} == set(PROFILES)
    assert len({case.name for case in planned}) == len(planned)
    assert set(SCALES) < set(SIZES)
    for options in VARIANTS.values():
        assert set(options) <= set(BETree.options)


def test_the_first_workload_comes_back(rows: list[dict[str, Any]]) -> None:
    changing = [row for row in rows if row["engine"] == "betree, changing"]
    for start in (0, len(changing) // 2):
        first, last = changing[start], changing[start + len(changing) // 2 - 1]
        assert first["rules"] == last["rules"]
        assert first["hits_per_event"] == last["hits_per_event"]


def test_a_tree_of_other_rules_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(betree_changes, "_swap", lambda *_: None)
    with pytest.raises(WrongAnswer, match="is not that of its rules"):
        betree_changes.changing(SIZES[SMOKE])
