"""Ranking by the K-index: the paper's prunings, decision by decision, and the same answers as sorting all scores."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood.engines.kindex import engine as kindex
from matchwood.engines.kindex import top as kindex_top
from matchwood.engines.kindex.run import Run
from tests.cases import event, expression
from tests.conftest import SOAK
from tests.contract.ranking import Ranking, event_weights, ranks, rule_options
from tests.pools import palettes

FIGURE_2: dict[str, tuple[str, dict[str, Any]]] = {
    "c1": ("age = 3 and state = 'NY'", {"age": {3: 0.1}, "state": {"NY": 4.0}}),
    "c2": ("age = 3 and gender = 'F'", {"age": {3: 0.1}, "gender": {"F": 0.3}}),
    "c3": (
        "age = 3 and gender = 'M' and (state is null or state not in ('CA'))",
        {"age": {3: 0.2}, "gender": {"M": 0.5}},
    ),
    "c4": ("state = 'CA' and gender = 'M'", {"state": {"CA": 1.5}, "gender": {"M": 0.9}}),
    "c5": ("age in (3, 4)", {"age": {3: 0.1, 4: 0.5}}),
    "c6": ("state is null or state not in ('CA', 'NY')", {}),
}
FIGURE_8: dict[str, tuple[str, dict[str, Any]]] = {
    "c1": ("(A in (1) or B in (1)) and (C in (1) or D in (1))", {"A": 0.1, "B": 0.3, "C": 0.2, "D": 2.1}),
    "c2": ("(A in (1) or C in (2)) and (B in (1) or D in (1))", {"A": 0.3, "B": 0.5, "C": 2.5, "D": 2.5}),
    "c3": ("(A in (1) or B in (1)) and (C in (2) or D in (1))", {"A": 0.3, "B": 0.3, "C": 2.7, "D": 1.7}),
    "c4": ("(A in (1) or B in (1)) and (A in (1, 2) or D in (1))", {"A": 0.1, "B": 0.5, "D": 1.9}),
    "c5": (
        "(A in (1) or B in (1)) and (C is null or C not in (1, 2) or D is null or D not in (1) or E in (1))",
        {"A": 0.1, "B": 0.7, "E": 3.9},
    ),
    "c6": ("A is null or A not in (1) or B in (1)", {"B": 0.1}),
}


def index_of(rules: dict[str, tuple[str, dict[str, Any]]], **options: Any) -> mw.Index:
    index = mw.Index("kindex", options=options)
    report = index.insert_many([(name, text, {"weights": weights}) for name, (text, weights) in rules.items()])
    assert report.rejected.num_rows == 0
    return index


def test_figures_10_to_12_c1_wins_c2_and_the_smaller_indexes_are_pruned() -> None:
    """Bounds are the greatest weights of the lists, not the rounder ones of the figure; the decisions are the same."""
    index = index_of(FIGURE_2, form="dnf", direct=False)
    best = index.top({"age": 3, "state": "NY", "gender": "F"}, 1, {"age": 0.8, "state": 1.0, "gender": 0.9})
    assert best == [("c1", 0.1 * 0.8 + 4.0 * 1.0)]
    assert best[0][1] == pytest.approx(4.08)
    stats = index.stats()
    assert stats["matching"]["scored"] == 1
    # c2 is skipped in the index of K = 2; the indexes of K = 1 (c5) and K = 0 (c6) as a whole.
    assert stats["pruned"] == {"units": 1, "indexes": 2, "lists": 0, "rules": 0}


def test_figure_13_c3_wins_and_c4_is_pruned() -> None:
    """Clauses know the first pruning only: c5, of K = 1, is skipped as a unit, not with its index. c6 is not true."""
    index = index_of(FIGURE_8, form="cnf", direct=False)
    assert sum(index.stats()["units_by_size"]["cnf"].values()) == 6
    best = index.top({"A": 1, "C": 2}, 1, {"A": 0.1, "C": 0.9})
    assert best == [("c3", 0.3 * 0.1 + 2.7 * 0.9)]
    assert best[0][1] == pytest.approx(2.46)
    stats = index.stats()
    # c2 is met before and fails its clauses. c4, c5 and c6 cannot reach 2.46.
    assert (stats["matching"]["scored"], stats["matching"]["verified"]) == (1, 2)
    assert stats["pruned"] == {"units": 3, "indexes": 0, "lists": 0, "rules": 0}


def test_nothing_is_pruned_while_there_are_not_enough() -> None:
    index = index_of(FIGURE_2)
    weights = {"age": 0.8, "state": 1.0, "gender": 0.9}
    found = index.top({"age": 3, "state": "NY", "gender": "F"}, 4, weights)
    assert [(rule, round(score, 6)) for rule, score in found] == [("c1", 4.08), ("c2", 0.35), ("c5", 0.08)]
    assert index.stats()["pruned"] == {"units": 0, "indexes": 0, "lists": 0, "rules": 0}


def test_equal_scores_are_not_pruned() -> None:
    """The rule of the lower row wins a tie, in whatever order the lists lead to them."""
    index = mw.Index("kindex")
    index.insert_many([(number, f"a = 1 and b{number % 7} = 1") for number in range(200)])
    event = {"a": 1, **{f"b{number}": 1 for number in range(7)}}
    assert index.top(event, 20) == [(number, 2.0) for number in range(20)]


def test_bounds_rise_with_rules_of_a_unit_that_is_there_already() -> None:
    index = mw.Index("kindex")
    index.insert_many([(number, f"a = 1 and b = {number}", {"weight": 1.0}) for number in range(50)])
    event = {"a": 1, "b": 7}
    assert index.top(event, 1) == [(7, 3.0)]
    index.insert_many(
        [(100, "b = 7 and a = 1", {"weights": {"b": {7: 9.0}}}), (101, "a = 1 and b = 7", {"weight": 20})]
    )
    assert index.top(event, 2) == [(101, 22.0), (100, 10.0)]
    assert index.top(event, 3)[2] == (7, 3.0)


@pytest.mark.few
@pytest.mark.parametrize(
    ("form", "direct"), [("auto", True), ("dnf", False), ("cnf", True), ("cnf", False), ("auto", False)]
)
@pytest.mark.parametrize("seed", range(6 if SOAK else 2))
def test_the_best_are_those_of_sorting_all_scores(
    form: str, direct: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rules over few values, so that pruning has something to do; in one run and in several."""
    monkeypatch.setattr(kindex, "SMALL", 20 if seed else 8192)
    rng = random.Random(f"pruned/{seed}")
    shared = palettes(rng)
    twin = Ranking("kindex", {}, options={"form": form, "direct": direct})
    for number in range(150):
        rule = expression(rng, shared, leaves=rng.randint(1, 5))
        twin.put(number, rule, rule_options(rng, rule, shared))
    names = sorted(twin.index._encoder.schema.names())
    events = [event(rng, shared, missing=0.05) for _ in range(25 if SOAK else 12)]
    assert twin.check(events, 2, [event_weights(rng, names) for _ in events]) > len(events)
    assert sum(twin.index.stats()["pruned"].values()) > 0


def test_heavy_tails_leave_little_to_score() -> None:
    """With constant weights of a heavy tail, most of what matches is never scored."""
    rng = random.Random(9)
    rules = [
        (number, f"a{number % 3} = 1 and b{number % 11} >= {number % 5}", {"weight": rng.paretovariate(1.0)})
        for number in range(5_000)
    ]
    index, plain = mw.Index("kindex"), mw.Index("counting")
    for each in (index, plain):
        each.insert_many(rules)
    events = [{f"a{n}": 1 for n in range(3)} | {f"b{n}": 4 for n in range(11)} for _ in range(3)]
    assert ranks(index.top_many(events, 5), 3) == ranks(plain.top_many(events, 5), 3)
    assert index.stats()["matching"]["scored"] < 0.1 * plain.stats()["matching"]["scored"]


def test_as_published_scores_whatever_matches_and_is_not_pruned(tmp_path: Path) -> None:
    """The bounds of a unit's own are ours: the published prunings know the lists only, and score more."""
    rules = [(n, f"a = 7 and b > {n}", {"weights": {"a": 60.0 - n}}) for n in range(60)]
    event, found = {"a": 7, "b": 99}, {}
    for name, options in {"published": {"as_published": True}, "lists": {"direct": False}}.items():
        index = mw.Index("kindex", options=options)
        index.insert_many(rules)
        index.save(tmp_path / name)
        index = mw.open(tmp_path / name)
        best = index.top(event, 3)
        found[name] = best, index.stats()["matching"]["scored"], index.stats()["options"]["as_published"]
    assert found["published"][0] == found["lists"][0] == [(0, 61.0), (1, 60.0), (2, 59.0)]
    assert (found["published"][2], found["lists"][2]) == (True, False)
    assert found["published"][1] == 60 > 10 > found["lists"][1]


def test_a_bound_that_rises_lays_out_nothing_until_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that rose is looked at by itself; when that was done often enough, its run alone is laid out anew."""
    laid_out: list[int] = []
    cluster = Run.cluster

    def counted(run: Run, *arguments: Any) -> Any:
        laid_out.append(run.size)
        return cluster(run, *arguments)

    index = mw.Index("kindex")
    index.insert_many([(n, f"a = {n % 10} and b = {n}", {"weight": 1.0 + n % 3}) for n in range(500)])
    monkeypatch.setattr(Run, "cluster", counted)
    event = {"a": 7, "b": 7}
    assert index.top(event, 1) == [(7, 4.0)]
    index.insert_many([(1000, "b = 7 and a = 7", {"weight": 30.0})])
    assert index.top(event, 2) == [(1000, 32.0), (7, 4.0)]
    assert laid_out == []
    assert index.stats()["risen_units"] == 1
    assert index.audit() == []
    for _ in range(kindex_top.PATIENCE * 500):
        assert index.top(event, 1) == [(1000, 32.0)]
    assert (laid_out, index.stats()["risen_units"]) == ([500], 0)


def test_an_audit_finds_clusters_that_promise_too_little() -> None:
    index = mw.Index("kindex")
    index.insert_many([(n, f"a = {n}", {"weight": 2.0}) for n in range(5)])
    assert index.audit() == []
    index._matcher.parts[0].bounds._constants.writable()[3] = 9.0  # type: ignore[attr-defined]
    assert index.audit() == ["1 entries of clusters promise less than their units"]
