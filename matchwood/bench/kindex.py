"""The experiments of VLDB 2009 (section 7): DNF and CNF inverted lists next to their rivals, and what ranking gains.

Each index is built from text; all rivals then run over the same store, so that rules that say the same are one unit for
all of them, which in the paper only its own algorithms have. SIFT is our `counting`. The hits of all are equal, and the
index's are held against brute force and the oracle. `ratio` is what a rival takes over what `kindex` takes; the paper's
stands beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from matchwood.bench.kindex_ranking import ranked_rows
from matchwood.bench.measure import check_agreement, measure_engine, timed
from matchwood.bench.rivals.vldb import ClauseScan, Propagation
from matchwood.bench.setup import check_with_oracle, concatenated, insert_all, refuse_repeated, sizes
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Workspace, engine_class
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.workloads.base import Workload
from matchwood.workloads.contracts import contracts

OWN = "kindex"
SIZES = {"smoke": (1_500, 25), "quick": (50_000, 100), "full": (300_000, 200), "paper": (1_000_000, 200)}
"""Rules and events."""

RANKED = {"smoke": (1_000, 10), "quick": (20_000, 100), "full": (100_000, 200), "paper": (400_000, 200)}
PAPER = {
    "propagation": "1.58 to 2.97",
    "counting": "11.2 to 20.9",
    "pscan": "1.9 to 2.6",
    "scan": "up to two orders of magnitude",
    "scan of clauses": "10.5 to 12.7",
}
"""How many times longer than its own algorithm the paper says that each takes."""

PAPER_BYTES = {"dnf": 35_000_000, "cnf": 91_000_000}
"""Of a million rules, without weights."""

CNF_MONTHS = 7
"""Spread over so many months, a rule in CNF matches as often as in the paper: 5.2%."""


class Case(NamedTuple):
    """One workload: what it varies, the value, and the settings of the generator."""

    sweep: str
    value: Any
    settings: dict[str, Any]


def cases(scale: str) -> list[Case]:
    """The sweeps of Figures 14 to 18; the first case of each form has the paper's defaults."""
    rules, events = SIZES[scale]
    base = {"rules": rules, "events": events, "seed": 7}
    found = [Case("default", None, base)]
    if scale != "smoke":
        found += [Case("months", months, {**base, "months": months}) for months in (3, 12)]
        found += [Case("dimensions", count, {**base, "dimensions": count}) for count in (600, 150)]
        found += [Case("exponent", exponent, {**base, "exponent": exponent}) for exponent in (3.0, 2.0)]
        found += [Case("rules", count, {**base, "rules": count}) for count in (rules // 5, rules // 2)]
    as_clauses = {**base, "form": "cnf", "months": CNF_MONTHS}
    found.append(Case("cnf", None, as_clauses))
    if scale != "smoke":
        found.append(Case("cnf, rules", rules // 5, {**as_clauses, "rules": rules // 5}))
    return found


def run(scale: str) -> dict[str, Any]:
    planned, rows = cases(scale), []
    with Progress("bench kindex", "workloads", len(planned) + 2) as progress:
        measure(Case("warm-up", None, {"rules": 200, "events": 5, "dimensions": 200, "seed": 1}))
        measure(Case("warm-up", None, {"rules": 200, "events": 5, "dimensions": 200, "seed": 1, "form": "cnf"}))
        for case in planned:
            rows += measure(case)
            progress.advance()
        for weights in ("paper", "pareto"):
            rows += ranked_rows(weights, *RANKED[scale])
            progress.advance()
    return {"experiment": "kindex", "scale": scale, "rows": rows}


def measure(case: Case) -> list[dict[str, Any]]:
    """A row for the K-index, one with compressed lists, and one for each rival, on one workload."""
    workload = contracts(**case.settings)
    refuse_repeated(workload.events_dicts())
    form = case.settings.get("form", "dnf")
    index = Index(OWN, options={"form": form})
    build_s, _ = timed(lambda: insert_all(index, workload.rules_text()))
    check_with_oracle(index, workload, rules=50, events=3)
    events = concatenated([batch.events for batch in index._encoder.event_batches(workload.events_table())])
    engines = _engines(index, form, events)
    results = {name: measure_engine(engine, events, 0.3) for name, engine in engines.items()}
    check_agreement(results)
    hits = index.match_many(workload.events_table()).num_rows
    own = results[OWN].seconds
    shared = _shared(case, form, workload, index, hits / events.count, build_s)
    return [
        {
            **shared,
            "engine": name,
            "us_per_event": round(1e6 * results[name].seconds / events.count, 2),
            "candidates_per_event": results[name].candidates / events.count,
            "postings_per_event": _postings(engine, events) / events.count,
            "bytes_index": engine.stats()["bytes_index"],
            "ratio_to_scan": round(results[_scan(form)].seconds / results[name].seconds, 2),
            "ratio": round(results[name].seconds / own, 2),
            "paper_ratio": PAPER.get(name),
        }
        for name, engine in engines.items()
    ]


def _scan(form: str) -> str:
    return "scan" if form == "dnf" else "scan of clauses"


def _engines(index: Index, form: str, events: EncodedEvents) -> dict[str, Any]:
    """All that is compared, over the store of the index."""
    matcher: Any = index._matcher
    store = matcher.conjunctions
    found: dict[str, Any] = {OWN: matcher.over}
    for name, options in {"compressed": {"compressed": True}, "lists alone": {"direct": False}}.items():
        if form == "dnf" or name == "compressed":
            found[f"{OWN}, {name}"] = engine_class(OWN)(store, options)
            found[f"{OWN}, {name}"].rebuild()
    if form == "cnf":
        return {**found, "pscan": ClauseScan(store, True), "scan of clauses": ClauseScan(store, False)}
    for name in ("counting", "scan"):
        found[name] = engine_class(name)(store)
        found[name].rebuild()
    return {**found, "propagation": Propagation(store, events)}


def _postings(engine: Any, events: EncodedEvents) -> int:
    workspace, position, read = Workspace(), 0, 0
    while position < events.count:
        hits = engine.match(events, position, workspace)
        read += hits.work.postings
        position += hits.count
    return read


def _shared(case: Case, form: str, workload: Workload, index: Index, hits: float, build_s: float) -> dict[str, Any]:
    said = workload.describe()
    kept = {name: value for name, value in sizes(index).items() if name != "bytes_index"}
    return {
        "workload": f"{form}, {case.sweep}" + ("" if case.value is None else f" {case.value}"),
        "rules": len(index),
        "events": workload.events.count,
        "build_s": round(build_s, 2),
        "hits_per_event": hits,
        "matching": round(hits / len(index), 4),
        "units": index.stats()["units"],
        "keys_per_event": round(said["pairs_per_event"], 1),
        "paper_bytes": round(PAPER_BYTES[form] * len(index) / 1e6),
        **kept,
        "checked": True,
    }
