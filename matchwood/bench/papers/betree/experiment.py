"""The BE-Tree paper's experiments: BEGen by profile, q-grams, what each optimisation gains, workloads that change.

Rules go straight from the generator's columns to codes (`frame/encoded_rules.py`); `build_s` is the engine's own part.
All engines of a workload have the same hits, and those of the first events are held against brute force."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from matchwood.bench.frame.encoded_rules import Encoded, check, encoded
from matchwood.bench.frame.measure import MeasuredMatching, check_agreement, drawn, measure_engine, ratio, timed
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.papers.betree.changes import changing
from matchwood.bench.papers.betree.find import finding
from matchwood.bench.papers.betree.orders import ordering
from matchwood.bench.papers.betree.plan import (
    AS_PUBLISHED,
    BASELINE,
    GAINS,
    PAPER,
    SIZES,
    VARIANTS,
    ProfileCase,
    cases,
    engines_of,
)
from matchwood.engines import Engine, Workspace, engine_class, engine_names
from matchwood.workloads import Workload, ads, begen, qgrams

OWN = "betree"
MOST_NAMES = 27_000
_CHECKED_EVENTS = 5


def parts(scale: str) -> list[ExperimentPart]:
    size = SIZES[scale]
    profiles = [
        ExperimentPart(case.name, partial(_profile, case, scale), (FigurePlace(case.profile),), case.settings)
        for case in cases(scale)
    ]
    return [
        *profiles,
        ExperimentPart("names", partial(_names, scale), (FigurePlace("q-grams"),)),
        ExperimentPart("ads", partial(_advertisements, scale), (FigurePlace("ads"),)),
        ExperimentPart("find", partial(finding, size), (FigurePlace("expressive events"),)),
        ExperimentPart("changes", partial(changing, size), (FigurePlace("changes"),)),
        ExperimentPart("orders", partial(ordering, size), (FigurePlace("orders"),)),
    ]


def _profile(case: ProfileCase, scale: str) -> list[dict[str, Any]]:
    return measure(case, begen(**case.settings), scale)


def _names(scale: str) -> list[dict[str, Any]]:
    names = qgrams(min(MOST_NAMES, SIZES[scale].most_rules), drawn(SIZES[scale].events), seed=7)
    return measure(ProfileCase("q-grams", f"names {names.rules.count:,}", {"distribution": "names"}), names, scale)


def _advertisements(scale: str) -> list[dict[str, Any]]:
    """Ads, on which another paper measured a BE-Tree."""
    size = SIZES[scale]
    workload = ads(rules=size.ads_rules, events=drawn(size.events), matching=0.001, seed=7)
    return measure(ProfileCase("Ads", f"ads {size.ads_rules:,}", {"distribution": "ads"}), workload, scale)


def warm_up() -> None:
    """Compile every kernel that a run needs, or load it, so that no measurement pays for it."""
    given = encoded(begen(rules=300, events=5, matching=0.05, seed=1))
    for name in engine_names("conjunctions"):
        _built(name, given, {})[0].match(given.events, 0, Workspace())
    for options in ({"as_published": True}, *VARIANTS.values()):
        _built(OWN, given, options)[0].match(given.events, 0, Workspace())


def measure(case: ProfileCase, workload: Workload, scale: str) -> list[dict[str, Any]]:
    """A row for each engine on one workload, and one for each variant of the BE-Tree where they are compared."""
    given = encoded(workload)
    rows, results = [], dict[str, MeasuredMatching]()
    chosen = engines_of(case.profile, workload.rules.count, scale, engine_names("conjunctions"))
    for label, (name, options) in chosen.items():
        engine, build_s = _built(name, given, options)
        results[label] = measure_engine(engine, given.events, SIZES[scale].seconds, build_s)
        check(label, engine, given, _CHECKED_EVENTS)
        rows.append(_row(label, engine, given, build_s, results[label]))
    check_agreement(results)
    scan = next(row for row in rows if row["engine"] == "scan")
    distribution = case.settings["distribution"]
    paper = PAPER.get((case.profile, distribution, workload.rules.count), {})
    shared = {"workload": case.name, "profile": case.profile, "fallback_rules": 0, "checked": True}
    return [
        {
            **row,
            **shared,
            "ratio_to_scan": ratio(scan, row),
            **compared(results, row["engine"]),
            **(paper if row["engine"] in (OWN, AS_PUBLISHED) else {}),
        }
        for row in rows
    ]


def compared(results: Mapping[str, MeasuredMatching], label: str) -> dict[str, Any]:
    """Of a variant, the share of the time of matching that it saves, and of whose."""
    if not label.startswith(f"{OWN}, "):
        return {}
    variant = label.removeprefix(f"{OWN}, ")
    other = f"{OWN}, {BASELINE}" if variant in GAINS else OWN
    saved = {"saves_time": round(1 - results[label].match_us / results[other].match_us, 3), "of": other}
    return {**saved, **({"paper_saves": GAINS[variant]} if variant in GAINS else {})}


def _built(name: str, given: Encoded, options: Mapping[str, Any]) -> tuple[Engine, float]:
    engine = engine_class(name)(given.store.copy(), options)
    build_s, _ = timed(engine.rebuild)
    return engine, build_s


def _row(label: str, engine: Engine, given: Encoded, build_s: float, found: MeasuredMatching) -> dict[str, Any]:
    stats = engine.stats()
    shape = ("max_cap", "p_nodes", "c_nodes", "l_nodes", "depth", "largest_leaf", "predicates", "bytes_predicates")
    return {
        "engine": label,
        "rules": given.workload.rules.count,
        "events": found.events,
        "build_s": round(build_s, 3),
        **found.times(given.encode_us),
        "hits_per_event": found.hits / found.events,
        "candidates_per_event": found.candidates / found.events,
        **found.marks(),
        **bytes_of(engine),
        **({name: stats[name] for name in shape} if engine.name == OWN else {}),
    }
