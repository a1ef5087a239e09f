"""Every engine on every workload, and how `auto` fares: on a grid, weights are fitted on one half and judged on the
other; on fresh workloads and in the table of large ones, `auto` has the weights that come with the package.

Regret is what `auto` takes to match an event whose spaces are known, with everything that choosing costs spread over
`AMORTISED` events, divided by what the best engine takes that was there from the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from matchwood.bench.auto.cells import Outcome, Timed, measure, warm_up
from matchwood.bench.auto.plan import SCALES, GridCell, GridScale, cells, fresh_cells, table_cells
from matchwood.bench.auto.run import Fared, fare
from matchwood.bench.frame.boxed import Ended
from matchwood.bench.frame.measure import box_seconds, ratio, times
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace, Row
from matchwood.choosing import Model, fit, shipped, with_margins
from matchwood.engines import FIRST_ENGINE, engine_names
from matchwood.progress import Progress

__all__ = ["fitted", "judged", "parts", "table", "warm_up", "with_summary"]

FITTED, HELD_OUT, FRESH, TABLE = "fitted", "held out", "fresh", "table"
GRID = "grid"
SECTIONS = {FITTED: GRID, HELD_OUT: GRID, FRESH: FRESH, TABLE: TABLE}


def parts(scale: str) -> list[ExperimentPart]:
    """The grid, which is one part since its second half is judged by weights from the first; then each workload that
    is judged by the weights of the package."""
    planned = [(FRESH, cell) for cell in fresh_cells(scale)] + [(TABLE, cell) for cell in table_cells(scale)]
    return [
        ExperimentPart(GRID, partial(_grid, scale), (FigurePlace(GRID),)),
        *(
            ExperimentPart(cell.name, partial(_shipped, cell, scale, half), (FigurePlace(half),))
            for half, cell in planned
        ),
    ]


def _shipped(cell: GridCell, scale: str, half: str) -> list[Row]:
    """One workload, on which `auto` has the weights that come with the package."""
    return judged(measure(cell, SCALES[scale]), shipped(), SCALES[scale], half)


def with_summary(rows: Sequence[Row]) -> list[Row]:
    """All rows, and after them what they are together, for each half that is there completely or in part."""
    own = [row for row in rows if "cells" not in row]
    halves = [half for half in SECTIONS if any(row["half"] == half for row in own)]
    return own + [{**row, "section": SECTIONS[half]} for half in halves for row in summary(own, half)]


def _grid(scale: str) -> list[Row]:
    size, planned = SCALES[scale], cells(scale)
    rows: list[Row] = []
    with Progress("bench auto, grid", "workloads", len(planned)) as progress:
        outcomes = []
        for cell in planned:
            if not cell.held_out:
                outcomes.append(measure(cell, size))
                progress.advance()
        model = fitted(outcomes)
        rows += [row for outcome in outcomes for row in judged(outcome, model, size, FITTED)]
        del outcomes
        for cell in planned:
            if cell.held_out:
                rows += judged(measure(cell, size), model, size, HELD_OUT)
                progress.advance()
    return rows


def fitted(outcomes: Sequence[Outcome]) -> Model:
    """Weights for all engines over conjunctions."""
    names = engine_names("conjunctions")
    features, by_rules = [found.by_events for found in outcomes], [found.by_rules for found in outcomes]
    match = {name: [outcome.own_us(name) for outcome in outcomes] for name in names}
    build = {name: [outcome.build_us(name) for outcome in outcomes] for name in names}
    return with_margins(fit(features, match, build), by_rules, match, FIRST_ENGINE)


def judged(outcome: Outcome, model: Model, size: GridScale, half: str) -> list[dict[str, Any]]:
    """A row for each engine, and one for `auto`."""
    best = min(found.us for found in outcome.times.values() if math.isfinite(found.us))
    shared = {
        "workload": outcome.given.cell.name,
        "half": half,
        "rules": outcome.given.rules,
        "events": outcome.given.events.count,
        "hits_per_event": outcome.hits,
        "fallback_rules": 0 if outcome.given.forms is None else outcome.given.forms.live,
        "checked": True,
    }
    encode_us = outcome.given.encode_us
    rows = [{"engine": name, **shared, **_figures(found, best, encode_us)} for name, found in outcome.times.items()]
    rows.append({"engine": "auto", **shared, **_auto(fare(outcome, model, size), best, encode_us)})
    scan = next(row for row in rows if row["engine"] == "scan")
    return [{**row, "ratio_to_scan": _to_scan(scan, row)} for row in rows]


def _to_scan(scan: Mapping[str, Any], row: Mapping[str, Any]) -> float | None:
    """None where either did not finish."""
    return ratio(scan, row) if "us_per_event" in scan and "us_per_event" in row else None


def _figures(found: Timed, best: float, encode_us: float) -> dict[str, Any]:
    if isinstance(found.measured, Ended):
        return {"timeout": box_seconds(), "ended": found.measured.value}
    return {
        "events": found.measured.events,
        **times(encode_us, found.us),
        "build_s": round(found.build_s, 4),
        **found.needed,
        "candidates_per_event": found.measured.candidates / found.measured.events,
        "regret": round(found.us / best, 3),
        **found.measured.marks(),
    }


def _auto(fared: Fared, best: float, encode_us: float) -> dict[str, Any]:
    return {
        **times(encode_us, fared.us),
        "regret": round(fared.us / best, 3),
        "by_rules": fared.by_rules,
        "chosen": fared.last,
        "steady_us": round(fared.steady_us, 3),
        "beside_s": round(fared.beside_s, 4),
        "trials": fared.trials,
        "why": fared.why,
    }


def summary(rows: Sequence[dict[str, Any]], half: str) -> list[dict[str, Any]]:
    """Of each engine over one half: the geometric mean of its times and of its regret, and the regret's upper end."""
    own = [row for row in rows if row["half"] == half]
    found = []
    for name in dict.fromkeys(row["engine"] for row in own):
        mine = [row for row in own if row["engine"] == name and row.get("regret")]
        regrets, times = [row["regret"] for row in mine], [row["us_per_event"] for row in mine]
        everywhere = len(regrets) == len({row["workload"] for row in own})
        found.append(
            {
                "engine": name,
                "workload": f"all, {half}",
                "half": half,
                "cells": len(regrets),
                "us_per_event": round(_geometric_mean(times), 3) if everywhere else None,
                "regret": round(_geometric_mean(regrets), 3) if everywhere else None,
                "regret_p95": round(float(np.percentile(regrets, 95)), 3) if everywhere else None,
                "regret_worst": max(regrets) if everywhere else None,
                "checked": True,
            }
        )
    return found


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each workload: finding spaces, and matching by every engine; then the regret over each half."""
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault(
            row["workload"], {"workload": row["workload"], "half": row.get("half"), "encode_us": row.get("encode_us")}
        )
        shown = row.get("regret") if "cells" in row else row.get("match_us") or row.get("ended")
        line[row["engine"]] = shown
        if row["engine"] == "auto" and "chosen" in row:
            line |= {"chosen": row["chosen"], "regret": row["regret"]}
        elif row["engine"] == "auto":
            line |= {"chosen": f"p95 {row['regret_p95']}", "regret": row["regret"]}
    return list(lines.values())
