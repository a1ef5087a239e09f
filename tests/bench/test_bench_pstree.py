"""The PS-Tree experiments: rivals answer as brute force does, and codes from columns are those from texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood.bench.frame.encoded_rules import check, encoded
from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.papers.pst import intervals as pstree_intervals
from matchwood.bench.papers.pst import spaces as pstree_spaces
from matchwood.bench.papers.pst import workloads as pstree_workloads
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.engines import engine_class
from matchwood.engines.registry import engine_names
from matchwood.workloads.begen import begen


@pytest.mark.long(5)
@pytest.mark.parametrize("name", pstree_intervals.RIVALS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 300])
def test_rivals_report_what_holds_a_point(name: str, size: int) -> None:
    random = np.random.default_rng(size)
    low = random.integers(0, 40, size)
    high, points = low + random.integers(1, 20, size), np.arange(-2, 65)
    asked = pstree_intervals.IntervalQuestion(
        low, high, (points,), (pstree_intervals._pairs(low, high, points),), (points,)
    )
    rival = pstree_intervals.RIVALS[name](asked)
    output = np.empty(asked.pairs[0], np.int32)
    pstree_intervals.check(name, asked, 0, rival.report(points, output), output)
    if rival.locate is not None:
        spaces = rival.locate(points)
        bounds = np.unique(np.concatenate((low, high)))
        assert spaces.tolist() == bounds.searchsorted(points, "right").tolist()


def test_a_wrong_report_is_refused() -> None:
    asked = pstree_intervals.question(50, 50)
    rival = pstree_intervals.RIVALS["PS-Tree"](asked)
    output = np.empty(max(asked.pairs), np.int32)
    ends = rival.report(asked.points[0], output)
    output[0] = 49 if output[0] != 49 else 48
    with pytest.raises(WrongAnswer, match="others are reported"):
        pstree_intervals.check("PS-Tree", asked, 0, ends, output)


@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
def test_codes_from_columns_are_those_from_texts(spaces: str) -> None:
    work = begen(rules=300, events=20, dimensions=40, matching=0.05, expressiveness="high", cardinality=6, seed=3)
    prepared = encoded(work, spaces)
    index = mw.Index(options={"spaces": spaces}, schema=dict.fromkeys(work.attributes, "int"))
    index.insert_many(list(enumerate(work.rules_text())))
    matcher: Any = index._matcher
    own, texts = prepared.store, matcher.parts[0].store
    assert (own.live, prepared.encoder.stats()["boundaries"]) == (texts.live, index.stats()["encoding"]["boundaries"])
    ours, theirs = own.encoded(np.arange(own.live)), texts.encoded(np.arange(texts.live))
    # Attributes have other numbers there, so that the constraints of a rule come in another order.
    assert ours.offsets.tolist() == theirs.offsets.tolist()
    assert ours.pieces[ours.offsets].tolist() == theirs.pieces[theirs.offsets].tolist()
    for engine in engine_names("conjunctions"):
        built = engine_class(engine)(own)
        built.rebuild()
        check(engine, built, prepared)


def test_an_engine_that_loses_hits_is_refused() -> None:
    prepared = encoded(begen(rules=300, events=20, matching=0.05, seed=3))
    engine = engine_class("scan")(prepared.store)
    with pytest.raises(WrongAnswer, match="the engine finds"):
        check("scan", engine, prepared._replace(units=prepared.units[::-1]))


def test_rows_have_every_engine(results: dict[str, Any]) -> None:
    workloads = {part.name for part in pstree_workloads.parts(SMOKE)}
    rows = [row for row in results["pstree"]["rows"] if row["workload"] in workloads]
    assert {row["workload"] for row in rows} == workloads
    for workload in ("ads 0.1%", "query logs", "exponent=1", "sparse, rule_size=5"):
        found = [row["engine"] for row in rows if row["workload"] == workload]
        assert found == list(pstree_workloads.variants())
        assert set(found) > {*engine_names("conjunctions"), "pstbloom, as published", "psthash, as published"}
    for row in rows:
        assert row["checked"] is True
        assert min(row["bytes_index"], row["bytes_verify"], row["bytes_text"], row["hits_per_event"]) > 0


def test_every_scale_has_its_sizes() -> None:
    own = (pstree_spaces.BOUNDARIES, pstree_spaces.ONE_BY_ONE)
    for table in (pstree_intervals.SIZES, pstree_workloads.ADS, pstree_workloads.SWEEP_SETTINGS, *own):
        assert set(table) == {SMOKE, *SCALES}
    assert pstree_workloads.ADS["full"][0] == 3_000_000
    wanted = {"rules", "exponent", "dimensions", "cardinality", "rule_size", "event_size", "matching", "equality"}
    assert set(pstree_workloads.SWEEPS) == set(pstree_workloads.QUICK_SWEEPS) == wanted


def test_a_papers_figure_stands_beside_what_the_paper_has(results: dict[str, Any]) -> None:
    rows = {row["engine"]: row for row in results["pstree"]["rows"] if row["workload"] == "ads 0.1%"}
    for engine in ("pstbloom", "psthash"):
        ours, published = rows[engine], rows[f"{engine}, as published"]
        assert (ours["paper_us"], published["paper_us"]) == (None, pstree_workloads.PAPER_US[f"{engine}, as published"])
        assert (bool(ours["design"]), published["design"]) == (True, None)
    assert rows["scan"]["paper_us"] == pstree_workloads.PAPER_US["scan"]
