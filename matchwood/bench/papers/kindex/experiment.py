"""The experiments of VLDB 2009 (section 7): DNF and CNF inverted lists next to their rivals, and what ranking gains.

Up to FROM_TEXT rules are built from text and held against the oracle, more from codes. All rivals run over the same
store, so that rules that say the same are one unit for all of them, which in the paper only its own algorithms have.
SIFT is our `counting`. The hits of all are equal. `ratio` is what a rival takes to match over what `kindex` takes,
once an event's spaces are known; the paper's stands beside it. `kindex, lists` is Algorithms 1 and 2, over posting
lists alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from matchwood.bench.frame.measure import check_agreement, drawn, first_events, measure_engine, ratio, timed
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.rounds import warm_events
from matchwood.bench.frame.setup import check_with_oracle, encoded_table, insert_all, refuse_repeated, sizes
from matchwood.bench.papers.kindex.encoded import encoded_contracts, locating_us
from matchwood.bench.papers.kindex.ranking import CNF_MONTHS, ranked_rows
from matchwood.bench.rivals.vldb import ClauseScan, Propagation
from matchwood.encoding import EncodedEvents
from matchwood.engines import ConjunctionStore, Workspace, engine_class
from matchwood.index import Index
from matchwood.workloads import Workload, contracts

OWN = "kindex"
SIZES = {"smoke": (400, 20), "quick": (100_000, 100), "full": (300_000, 50), "paper": (1_000_000, 200)}
"""Rules, and events of a batch, of the sweeps."""

SCALED = {"quick": (100_000, 300_000), "full": (300_000, 1_000_000), "paper": (100_000, 300_000, 1_000_000)}
"""Rules of the scalability sweeps; of clauses the largest only where there is time."""

FROM_TEXT = 20_000
"""Rules at most that are built from text, and held against the oracle; more are built from codes."""

RANKED = {"smoke": (300, 10), "quick": (10_000, 100), "full": (20_000, 100), "paper": (400_000, 200)}
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


class ContractCase(NamedTuple):
    """One workload: what it varies, the value, and the settings of the generator."""

    sweep: str
    value: Any
    settings: dict[str, Any]


def cases(scale: str) -> list[ContractCase]:
    """The sweeps of Figures 14 to 18; the first case of each form has the paper's defaults."""
    rules, events = SIZES[scale]
    base = {"rules": min(rules, FROM_TEXT), "events": drawn(events), "seed": 7}
    as_clauses = {**base, "form": "cnf", "months": CNF_MONTHS}
    found = [ContractCase("default", None, base), ContractCase("cnf", None, as_clauses)]
    if scale == "smoke":
        return found
    base = {**base, "rules": rules}
    found += [ContractCase("months", months, {**base, "months": months}) for months in (1, 3, 12)]
    found += [ContractCase("dimensions", count, {**base, "dimensions": count}) for count in (600, 150)]
    found += [ContractCase("exponent", exponent, {**base, "exponent": exponent}) for exponent in (3.0, 2.0)]
    found += [ContractCase("rules", count, {**base, "rules": count}) for count in SCALED[scale]]
    counts = SCALED[scale][:1] if scale == "quick" else SCALED[scale]
    return found + [ContractCase("rules", count, {**as_clauses, "rules": count}) for count in counts]


RANKED_PLACE = (FigurePlace("ranking"),)
RANKINGS = tuple((form, weights) for form in ("dnf", "cnf") for weights in ("paper", "pareto"))


def parts(scale: str) -> list[ExperimentPart]:
    return [
        *(ExperimentPart(_name(case), partial(measure, case), (_place(case),), case.settings) for case in cases(scale)),
        *(
            ExperimentPart(
                f"{form} ranking, {weights} weights", partial(ranked_rows, form, weights, *RANKED[scale]), RANKED_PLACE
            )
            for form, weights in RANKINGS
        ),
    ]


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    for form in ("dnf", "cnf"):
        measure(ContractCase("warm-up", None, {"rules": 200, "events": 5, "dimensions": 200, "seed": 1, "form": form}))
        ranked_rows(form, "paper", 200, 5)


def _form(case: ContractCase) -> str:
    return str(case.settings.get("form", "dnf"))


def _name(case: ContractCase) -> str:
    return f"{_form(case)}, {case.sweep}" + ("" if case.value is None else f" {case.value}")


def _place(case: ContractCase) -> FigurePlace:
    if case.value is None:
        return FigurePlace(f"{_form(case)}, usual")
    return FigurePlace(f"{_form(case)}, {case.sweep}", case.sweep, float(case.value))


VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {"as_published": True},
    "lists": {"direct": False},
    "compressed": {"direct": False, "compressed": True},
}
"""Beside the default, which is clusters: Algorithms 1 and 2 alone, and with our shortcuts."""


class BuiltContracts(NamedTuple):
    """A workload in a store: the engine over it, its events, and what a row says of it.

    `encode_us` is what finding the spaces of an event takes. `checked_hits` matches events, so it is asked when all is
    measured; it returns the rules that match an event, on average.
    """

    store: ConjunctionStore
    engine: Any
    events: EncodedEvents
    encode_us: float
    checked_hits: Callable[[], float]
    said: dict[str, Any]


def measure(case: ContractCase) -> list[dict[str, Any]]:
    """A row for the K-index, as it is, as published and in between, and for each rival, on one workload."""
    workload, form = contracts(**case.settings), _form(case)
    built = (_from_text if workload.rules.count <= FROM_TEXT else _from_codes)(workload, form)
    engines = _engines(built, form)
    results = {name: measure_engine(engine, built.events, 0.3) for name, engine in engines.items()}
    check_agreement(results)
    own, scan = results[OWN].match_us, results[_scan(form)].times(built.encode_us)
    shared, count = _shared(case, form, workload, built), built.events.count
    return [
        {
            **shared,
            "engine": name,
            **results[name].times(built.encode_us),
            "candidates_per_event": results[name].candidates / results[name].events,
            "postings_per_event": _postings(engine, built.events) / count,
            **bytes_of(engine),
            "ratio_to_scan": ratio(scan, results[name].times(built.encode_us)),
            "ratio": round(results[name].match_us / own, 2),
            "paper_ratio": PAPER.get(name),
            **results[name].marks(),
        }
        for name, engine in engines.items()
    ]


def _from_text(workload: Workload, form: str) -> BuiltContracts:
    refuse_repeated(workload.events_dicts())
    index, table = Index(OWN, options={"form": form}), workload.events_table()
    build_s, _ = timed(lambda: insert_all(index, workload.rules_text()))
    encode_us, events = encoded_table(index, table)
    matcher: Any = index._matcher
    said = {"built_from": "text", "build_s": round(build_s, 2), **sizes(index)}

    def checked_hits() -> float:
        check_with_oracle(index, workload, rules=50, events=3)
        return float(index.match_many(table).num_rows) / events.count

    return BuiltContracts(matcher.parts[0].store, matcher.engine, events, encode_us, checked_hits, said)


def _from_codes(workload: Workload, form: str) -> BuiltContracts:
    """Hits are of the first events; what is checked is that all engines agree, the scans among them."""
    seconds, encoded = timed(lambda: encoded_contracts(workload, form))
    store, events = encoded.store, encoded.events
    engine = engine_class(OWN)(store)
    build_s, _ = timed(engine.rebuild)
    said = {"built_from": "codes", "build_s": round(seconds + build_s, 2)}

    def checked_hits() -> float:
        found = [engine.match(events, event, Workspace(room=0)).units for event in range(min(10, events.count))]
        return sum(map(encoded.rules_of, found)) / len(found)

    return BuiltContracts(store, engine, events, locating_us(workload), checked_hits, said)


def _scan(form: str) -> str:
    return "scan" if form == "dnf" else "scan of clauses"


def _engines(built: BuiltContracts, form: str) -> dict[str, Any]:
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
    known = first_events(built.events, max(1, warm_events(built.events.count)))
    return {**found, "propagation": Propagation(store, known)}


def _postings(engine: Any, events: EncodedEvents) -> int:
    workspace, position, read = Workspace(), 0, 0
    while position < events.count:
        hits = engine.match(events, position, workspace)
        read += hits.work.postings
        position += hits.count
    return read


def _shared(case: ContractCase, form: str, workload: Workload, built: BuiltContracts) -> dict[str, Any]:
    rules, hits = workload.rules.count, built.checked_hits()
    return {
        "workload": _name(case),
        "rules": rules,
        "events": built.events.count,
        "hits_per_event": hits,
        "matching": round(hits / rules, 4),
        "units": built.store.live,
        "keys_per_event": round(len(workload.events.attributes) / built.events.count, 1),
        "paper_bytes": round(PAPER_BYTES[form] * rules / 1e6),
        **built.said,
        "checked": True,
    }
