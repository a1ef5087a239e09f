"""Ads, query logs and the sweeps of the PS-Tree paper: every engine on the same encoded rules and events.

Rules go straight from the generator's columns to codes (`frame/encoded_rules.py`): `build_s` is that and the engine's
own part, without reading texts. `counting, pstree` is `counting` with the PS-Tree as predicate spaces: it differs in
what encoding costs and in the bytes of the spaces, since engines only see labels. `…, as published` is an engine with
`options={"as_published": True}`: the paper's figures stand in its row, and `design` tells what the row above it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from matchwood.bench.frame.encoded_rules import CHECKED_EVENTS, Encoded, check, encoded
from matchwood.bench.frame.measure import MeasuredMatching, check_agreement, drawn, measure_engine, ratio, timed
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.engines import Engine, engine_class, engine_names
from matchwood.workloads import Workload, ads, begen, query_logs

TREE_ENGINE = "counting"
TREE = f"{TREE_ENGINE}, pstree"
AS_PAPER = ", as published"

DESIGN = {
    "pstbloom": "tests side by side",
    "psthash": "tests side by side, only dense lists split",
}
"""What our own designs do that are not their papers'."""

ADS = {"smoke": (400, 20), "quick": (100_000, 500), "full": (3_000_000, 200), "paper": (3_000_000, 200)}
"""Rules, and events of a batch."""

LOGS: dict[str, dict[str, int]] = {
    "smoke": {"rules": 400, "events": 10, "words": 2_000},
    "quick": {"rules": 50_000, "events": 200},
    "full": {"rules": 2_100_000, "events": 200},
    "paper": {"rules": 2_100_000, "events": 200},
}
"""The sizes of query logs: 7.3, of which the paper prints no times."""

PAPER_US = {
    "scan": 435_270,
    f"kindex{AS_PAPER}": 616_420,
    f"betree{AS_PAPER}": 2_260,
    f"pstbloom{AS_PAPER}": 820,
    f"psthash{AS_PAPER}": 240,
}
"""An event of Ads in the paper's Table 2, for the rows that are what it measured."""

BASE: dict[str, Any] = {
    "dimensions": 100, "cardinality": 100, "rule_size": 10, "event_size": 54, "matching": 0.01, "equality": 0.4,
    "seed": 7,
}  # fmt: skip
"""The settings that a sweep does not change. The text has no bold type, so its defaults are lost but for the 100
dimensions of the dense workload; text (130) and table (90) disagree about the largest event, and both are more than
100 dimensions allow here."""

SWEEPS: dict[str, tuple[Any, ...]] = {
    "rules": (300_000, 1_000_000, 3_000_000),
    "exponent": (0, 1, 2, 3, 4, 5),
    "dimensions": (100, 300, 1_000, 3_000, 10_000, 30_000),
    "cardinality": (3, 10, 30, 100, 300, 1_000),
    "rule_size": (5, 10, 15, 20, 25, 30),
    "event_size": (30, 42, 54, 66, 78),
    "matching": (0.001, 0.005, 0.01, 0.05, 0.1, 0.5),
    "equality": (0, 0.2, 0.4, 0.6, 0.8, 1.0),
}
"""Table 1, its largest sizes left out."""

FULL_RULES = (30_000, 300_000, 1_000_000)
"""A tenth of the paper's numbers of rules, so that all settings with all engines take minutes instead of hours."""

QUICK_SWEEPS: dict[str, tuple[Any, ...]] = {
    "rules": (10_000, 30_000),
    "exponent": (0, 1, 2),
    "dimensions": (100, 1_000),
    "cardinality": (3, 30, 300),
    "rule_size": (5, 20),
    "event_size": (30, 78),
    "matching": (0.001, 0.1),
    "equality": (0, 1.0),
}
SMOKE_SWEEPS: dict[str, tuple[Any, ...]] = {"exponent": (1,), "equality": (1.0,)}

SPARSE = 30_000
"""Dimensions of the paper's other workload: it runs each of its sweeps twice."""

SPARSE_SWEEPS = {**SWEEPS, "dimensions": (), "event_size": (30, 42, 54, 66, 78, 90)}
QUICK_SPARSE: dict[str, tuple[Any, ...]] = {"exponent": (0, 2), "rule_size": (5, 20), "equality": (0, 1.0)}
SMOKE_SPARSE: dict[str, tuple[Any, ...]] = {"rule_size": (5,)}

SWEEP_SETTINGS = {
    "smoke": (400, 10, 0.01, SMOKE_SWEEPS, SMOKE_SPARSE),
    "quick": (30_000, 100, 0.1, QUICK_SWEEPS, QUICK_SPARSE),
    "full": (100_000, 100, 0.2, {**SWEEPS, "rules": FULL_RULES}, {**SPARSE_SWEEPS, "rules": FULL_RULES}),
    "paper": (1_000_000, 100, 0.5, SWEEPS, SPARSE_SWEEPS),
}
"""Rules, events of a batch, seconds after which no further round begins, and the settings of the dense and of the
sparse workload."""


def parts(scale: str) -> list[ExperimentPart]:
    """Ads and query logs, and every setting of the sweeps: the usual one is measured with each of them."""
    seconds = SWEEP_SETTINGS[scale][2]
    return [
        ExperimentPart("ads 0.1%", partial(_ads, scale), (FigurePlace("ads"),)),
        ExperimentPart("query logs", partial(_logs, scale), (FigurePlace("query logs"),)),
        *(
            ExperimentPart(name, partial(_begen, name, settings, seconds), (place,), settings)
            for name, place, settings in _settings(scale)
        ),
    ]


def _ads(scale: str) -> list[dict[str, Any]]:
    rules, events = ADS[scale]
    rows = measure("ads 0.1%", ads(rules=rules, events=drawn(events), matching=0.001, seed=7), 0.5)
    return [{**row, "paper_us": PAPER_US.get(row["engine"])} for row in rows]


def _logs(scale: str) -> list[dict[str, Any]]:
    return measure("query logs", query_logs(**{**LOGS[scale], "events": drawn(LOGS[scale]["events"])}, seed=7), 0.5)


def _begen(name: str, settings: dict[str, Any], seconds: float) -> list[dict[str, Any]]:
    return measure(name, begen(**settings), seconds)


def _settings(scale: str) -> Iterator[tuple[str, FigurePlace, dict[str, Any]]]:
    rules, events, _, dense, sparse = SWEEP_SETTINGS[scale]
    usual = {**BASE, "rules": rules, "events": drawn(events)}
    for prefix, base, sweeps in (("", usual, dense), ("sparse, ", {**usual, "dimensions": SPARSE}, sparse)):
        for name, values in sweeps.items():
            for value in values:
                yield f"{prefix}{name}={value}", FigurePlace(f"{prefix}{name}", name, value), {**base, name: value}


def with_published() -> list[str]:
    """The engines that the paper measures and that are not as published unless asked for it."""
    return [name for name in engine_names("conjunctions") if name + AS_PAPER in PAPER_US]


def variants() -> dict[str, tuple[str, dict[str, Any], bool]]:
    """The rows of a table: an engine, its options, and whether its spaces are the PS-Tree."""
    rows: dict[str, tuple[str, dict[str, Any], bool]] = {}
    for name in engine_names("conjunctions"):
        rows[name] = name, {}, False
        if name in with_published():
            in_tree = engine_class(name).published_spaces == "pstree"
            rows[name + AS_PAPER] = name, {"as_published": True}, in_tree
    return {**rows, TREE: (TREE_ENGINE, {}, True)}


def measure(name: str, workload: Workload, seconds: float) -> list[dict[str, Any]]:
    """A row for each engine on one workload."""
    prepared, in_tree = encoded(workload), encoded(workload, "pstree")
    text_bytes = workload.rules_table()["expression"].nbytes
    rows, results = [], dict[str, MeasuredMatching]()
    for engine_name, (kind, options, as_tree) in variants().items():
        given = in_tree if as_tree else prepared
        engine = engine_class(kind)(given.store.copy(), options)
        engine.values = given.encoder.vocabulary
        own_s, _ = timed(engine.rebuild)
        found = results[engine_name] = measure_engine(engine, given.events, seconds, own_s)
        check(engine_name, engine, given, min(CHECKED_EVENTS, found.events))
        rows.append(_row(engine_name, engine, given, own_s, found))
    check_agreement(results)
    shared = {"workload": name, "bytes_text": text_bytes, "fallback_rules": 0, "checked": True}
    scan = next(row for row in rows if row["engine"] == "scan")
    return [{**row, **shared, "ratio_to_scan": ratio(scan, row)} for row in rows]


def _row(name: str, engine: Engine, given: Encoded, own_s: float, found: MeasuredMatching) -> dict[str, Any]:
    rules, spaces = given.workload.rules.count, given.encoder.stats()
    needed = bytes_of(engine)
    return {
        "engine": name,
        "design": DESIGN.get(name),
        "rules": rules,
        "events": found.events,
        "build_s": round(given.encode_s + own_s, 3),
        **found.times(given.encode_us),
        "hits_per_event": found.hits / found.events,
        "candidates_per_event": found.candidates / found.events,
        **needed,
        "bytes_per_rule": round(needed["bytes"] / rules, 1),
        "encode_s": round(given.encode_s, 3),
        "boundaries": spaces["boundaries"],
        "bytes_spaces": spaces["bytes"],
        **found.marks(),
    }
