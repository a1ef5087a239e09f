"""`bench kindex`: every rival answers alike, and a rival or a ranking that does not is refused."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.papers.kindex import experiment as kindex
from matchwood.bench.papers.kindex import ranking as kindex_ranking
from matchwood.bench.papers.kindex.encoded import encoded_contracts
from matchwood.bench.registry import SCALES, SMOKE
from matchwood.bench.rivals import vldb
from matchwood.bench.rivals.vldb import ClauseScan
from matchwood.engines import Hits, Workspace
from matchwood.index import Index
from matchwood.workloads.contracts import contracts

SMALL = {"rules": 300, "events": 12, "dimensions": 300, "event_size": 60, "seed": 1}


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    return {
        "dnf": kindex.measure(kindex.ContractCase("default", None, SMALL)),
        "cnf": kindex.measure(kindex.ContractCase("cnf", None, {**SMALL, "form": "cnf", "months": 2})),
    }


def test_a_row_for_every_rival(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert [row["engine"] for row in rows["dnf"]] == [
        "kindex", "kindex, as published", "kindex, lists", "kindex, compressed", "counting", "scan", "propagation",
    ]  # fmt: skip
    assert [row["engine"] for row in rows["cnf"]] == [
        "kindex", "kindex, as published", "kindex, lists", "kindex, compressed", "pscan", "scan of clauses",
    ]  # fmt: skip
    for row in rows["dnf"] + rows["cnf"]:
        assert row["checked"] is True
        assert row["hits_per_event"] > 0
        assert row["ratio"] > 0
    by_name = {row["engine"]: row for row in rows["dnf"]}
    assert by_name["propagation"]["paper_ratio"] == "1.58 to 2.97"
    assert 0 < by_name["kindex"]["postings_per_event"] < by_name["counting"]["postings_per_event"]
    assert by_name["propagation"]["candidates_per_event"] < by_name["scan"]["candidates_per_event"]


def test_every_scale_is_planned() -> None:
    assert set(kindex.SIZES) == set(kindex.RANKED) == {SMOKE, *SCALES}
    sweeps = {case.sweep for case in kindex.cases("quick")}
    assert sweeps == {"default", "months", "dimensions", "exponent", "rules", "cnf"}
    for form in ("dnf", "cnf"):
        counts = [case.settings["rules"] for case in kindex.cases("full") if case.settings.get("form", "dnf") == form]
        assert max(counts) == 1_000_000


@pytest.mark.parametrize("form", ["dnf", "cnf"])
def test_codes_say_what_the_text_says(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**SMALL, "form": form, "months": 2}
    (from_text, *_) = kindex.measure(kindex.ContractCase("text", None, settings))
    monkeypatch.setattr(kindex, "FROM_TEXT", 0)
    (from_codes, *_) = kindex.measure(kindex.ContractCase("codes", None, settings))
    workload = contracts(**settings)
    encoded = encoded_contracts(workload, form)
    index = Index("counting")
    index.insert_many(enumerate(workload.rules_text()))
    scan = ClauseScan(encoded.store, False)
    for number, event in enumerate(workload.events_dicts()):
        hits = scan.match(encoded.events, number, Workspace(room=0))
        assert encoded.rules_of(hits.units) == len(index.match(event))
    assert (from_text["built_from"], from_codes["built_from"]) == ("text", "codes")
    assert from_codes["hits_per_event"] > 0


def test_a_rival_that_loses_hits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vldb.Propagation.match

    def fewer(rival: vldb.Propagation, *asked: Any) -> Hits:
        hits = whole(rival, *asked)
        return hits._replace(units=hits.units[:-1], offsets=hits.offsets.clip(max=len(hits.units) - 1))

    monkeypatch.setattr(vldb.Propagation, "match", fewer)
    with pytest.raises(WrongAnswer, match="the engines disagree"):
        kindex.measure(kindex.ContractCase("default", None, SMALL))


def test_ranking_scores_less_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pruned, sorted_, published, _ = kindex_ranking.ranked_rows("dnf", "pareto", 800, 10)
    assert published["engine"] == "kindex, as published, top 5"
    assert pruned["scored_per_event"] < published["scored_per_event"]
    assert pruned["scored_share"] < 0.5 < sorted_["scored_share"] == 1
    assert pruned["scored_per_event"] < sorted_["scored_per_event"]
    whole = Index.top_many
    answers = iter([0, 1])
    monkeypatch.setattr(Index, "top_many", lambda index, *asked: whole(index, *asked).slice(next(answers)))
    with pytest.raises(WrongAnswer, match="pruning changes the best rules"):
        kindex_ranking.ranked_rows("cnf", "paper", 200, 5)
