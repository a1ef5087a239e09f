"""The experiments of VLDB 2009 (section 7): DNF and CNF inverted lists next to their rivals, and what ranking gains.

Up to FROM_TEXT rules are built from text and held against the oracle, more from codes. All rivals run over the same
store, so that rules that say the same are one unit for all of them, which in the paper only its own algorithms have.
SIFT is our `counting`. The hits of all are equal. `ratio` is what a rival takes over what `kindex` takes; the paper's
stands beside it. `kindex, lists` is Algorithms 1 and 2, over posting lists alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from matchwood.bench.frame import Part, Place
from matchwood.bench.kindex_encoded import encoded_contracts
from matchwood.bench.kindex_ranking import CNF_MONTHS, ranked_rows
from matchwood.bench.measure import check_agreement, measure_engine, timed
from matchwood.bench.rivals.vldb import ClauseScan, Propagation
from matchwood.bench.setup import check_with_oracle, concatenated, insert_all, refuse_repeated, sizes
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import ConjunctionStore, Workspace, engine_class
from matchwood.index import Index
from matchwood.workloads.base import Workload
from matchwood.workloads.contracts import contracts

OWN = "kindex"
SIZES = {"smoke": (1_500, 25), "quick": (100_000, 100), "full": (300_000, 50), "paper": (1_000_000, 200)}
"""Rules and events of the sweeps."""

LARGEST = {"quick": 300_000, "full": 1_000_000, "paper": 1_000_000}
"""Rules of the last case of the scalability sweeps; of clauses only where there is time."""

FROM_TEXT = 20_000
"""Rules at most that are built from text, and held against the oracle; more are built from codes."""

RANKED = {"smoke": (1_000, 10), "quick": (10_000, 100), "full": (20_000, 100), "paper": (400_000, 200)}
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


class Case(NamedTuple):
    """One workload: what it varies, the value, and the settings of the generator."""

    sweep: str
    value: Any
    settings: dict[str, Any]


def cases(scale: str) -> list[Case]:
    """The sweeps of Figures 14 to 18; the first case of each form has the paper's defaults."""
    rules, events = SIZES[scale]
    base = {"rules": min(rules, FROM_TEXT), "events": events, "seed": 7}
    as_clauses = {**base, "form": "cnf", "months": CNF_MONTHS}
    found = [Case("default", None, base), Case("cnf", None, as_clauses)]
    if scale == "smoke":
        return found
    base, as_clauses, largest = {**base, "rules": rules}, {**as_clauses, "rules": rules}, LARGEST[scale]
    found += [Case("months", months, {**base, "months": months}) for months in (1, 3, 12)]
    found += [Case("dimensions", count, {**base, "dimensions": count}) for count in (600, 150)]
    found += [Case("exponent", exponent, {**base, "exponent": exponent}) for exponent in (3.0, 2.0)]
    found += [Case("rules", largest, {**base, "rules": largest})]
    counts = [rules] if scale == "quick" else sorted({rules, largest})
    return found + [Case("rules", count, {**as_clauses, "rules": count}) for count in counts]


RANKED_PLACE = (Place("ranking"),)
RANKINGS = tuple((form, weights) for form in ("dnf", "cnf") for weights in ("paper", "pareto"))


def parts(scale: str) -> list[Part]:
    return [
        *(Part(_name(case), partial(measure, case), (_place(case),)) for case in cases(scale)),
        *(
            Part(
                f"{form} ranking, {weights} weights", partial(ranked_rows, form, weights, *RANKED[scale]), RANKED_PLACE
            )
            for form, weights in RANKINGS
        ),
    ]


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    for form in ("dnf", "cnf"):
        measure(Case("warm-up", None, {"rules": 200, "events": 5, "dimensions": 200, "seed": 1, "form": form}))
        ranked_rows(form, "paper", 200, 5)


def _form(case: Case) -> str:
    return str(case.settings.get("form", "dnf"))


def _name(case: Case) -> str:
    return f"{_form(case)}, {case.sweep}" + ("" if case.value is None else f" {case.value}")


def _place(case: Case) -> Place:
    if case.value is None:
        return Place(f"{_form(case)}, usual")
    return Place(f"{_form(case)}, {case.sweep}", case.sweep, float(case.value))


VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {"as_published": True},
    "lists": {"direct": False},
    "compressed": {"direct": False, "compressed": True},
}
"""Beside the default, which is clusters: Algorithms 1 and 2 alone, and with our shortcuts."""


class Built(NamedTuple):
    """A workload in a store: the engine over it, its events, and what a row says of it."""

    store: ConjunctionStore
    engine: Any
    events: EncodedEvents
    hits_per_event: float
    said: dict[str, Any]


def measure(case: Case) -> list[dict[str, Any]]:
    """A row for the K-index, as it is, as published and in between, and for each rival, on one workload."""
    workload, form = contracts(**case.settings), _form(case)
    built = (_from_text if workload.rules.count <= FROM_TEXT else _from_codes)(workload, form)
    engines = _engines(built, form)
    results = {name: measure_engine(engine, built.events, 0.3) for name, engine in engines.items()}
    check_agreement(results)
    own, count = results[OWN].us_per_event, built.events.count
    shared = _shared(case, form, workload, built)
    return [
        {
            **shared,
            "engine": name,
            "us_per_event": round(results[name].us_per_event, 2),
            "candidates_per_event": results[name].candidates / results[name].events,
            "postings_per_event": _postings(engine, built.events) / count,
            "bytes_index": engine.stats()["bytes_index"],
            "ratio_to_scan": round(results[_scan(form)].us_per_event / results[name].us_per_event, 2),
            "ratio": round(results[name].us_per_event / own, 2),
            "paper_ratio": PAPER.get(name),
            **results[name].marks(),
        }
        for name, engine in engines.items()
    ]


def _from_text(workload: Workload, form: str) -> Built:
    refuse_repeated(workload.events_dicts())
    index, table = Index(OWN, options={"form": form}), workload.events_table()
    build_s, _ = timed(lambda: insert_all(index, workload.rules_text()))
    check_with_oracle(index, workload, rules=50, events=3)
    events = concatenated([batch.events for batch in index._encoder.event_batches(table)])
    matcher: Any = index._matcher
    hits = index.match_many(table).num_rows / events.count
    said = {"built_from": "text", "build_s": round(build_s, 2), **sizes(index)}
    return Built(matcher.conjunctions, matcher.over, events, hits, said)


def _from_codes(workload: Workload, form: str) -> Built:
    """Hits are of the first events; what is checked is that all engines agree, the scans among them."""
    seconds, encoded = timed(lambda: encoded_contracts(workload, form))
    store, events = encoded.store, encoded.events
    engine = engine_class(OWN)(store)
    build_s, _ = timed(engine.rebuild)
    found = [engine.match(events, event, Workspace(room=0)).units for event in range(min(10, events.count))]
    hits = sum(map(encoded.rules_of, found)) / len(found)
    said = {"built_from": "codes", "build_s": round(seconds + build_s, 2), "bytes_verify": store.bytes_verify}
    return Built(store, engine, events, hits, said)


def _scan(form: str) -> str:
    return "scan" if form == "dnf" else "scan of clauses"


def _engines(built: Built, form: str) -> dict[str, Any]:
    """All that is compared, over one store."""
    store = built.store
    found: dict[str, Any] = {OWN: built.engine}
    for name, options in VARIANTS.items():
        found[f"{OWN}, {name}"] = engine_class(OWN)(store, options)
        found[f"{OWN}, {name}"].rebuild()
    if form == "cnf":
        return {**found, "pscan": ClauseScan(store, True), "scan of clauses": ClauseScan(store, False)}
    for name in ("counting", "scan"):
        found[name] = engine_class(name)(store)
        found[name].rebuild()
    return {**found, "propagation": Propagation(store, built.events)}


def _postings(engine: Any, events: EncodedEvents) -> int:
    workspace, position, read = Workspace(), 0, 0
    while position < events.count:
        hits = engine.match(events, position, workspace)
        read += hits.work.postings
        position += hits.count
    return read


def _shared(case: Case, form: str, workload: Workload, built: Built) -> dict[str, Any]:
    rules = workload.rules.count
    return {
        "workload": _name(case),
        "rules": rules,
        "events": built.events.count,
        "hits_per_event": built.hits_per_event,
        "matching": round(built.hits_per_event / rules, 4),
        "units": built.store.live,
        "keys_per_event": round(len(workload.events.attributes) / built.events.count, 1),
        "paper_bytes": round(PAPER_BYTES[form] * rules / 1e6),
        **built.said,
        "checked": True,
    }
