"""One cell of `bench atree`: an index of one engine over one workload, its figures, and the check of its answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.measure import WrongAnswer, measure_engine, require_hits, timed, times
from matchwood.bench.frame.setup import (
    CHECKED_EVENTS,
    check_with_oracle,
    encoded_table,
    insert_all,
    refuse_repeated,
    sizes,
)
from matchwood.bench.papers.atree.building import construction, matcher_of
from matchwood.bench.papers.atree.plan import TreeScale
from matchwood.core import places_in
from matchwood.engines import Structure
from matchwood.index import Index
from matchwood.language import Expression, parse
from matchwood.matching import busy
from matchwood.workloads import Workload
from matchwood.workloads import hits as brute_force


class PreparedTrees(NamedTuple):
    """A workload in the forms in which it is measured."""

    workload: Workload
    texts: list[str]
    expressions: list[Expression]
    table: pa.Table
    expected: pa.Table
    """The hits of the first events, by brute force."""


def prepared(workload: Workload) -> PreparedTrees:
    refuse_repeated(workload.events_dicts())
    rows = brute_force(workload, range(min(CHECKED_EVENTS, workload.events.count)))
    events = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    expected = pa.table({"event": events, "rule": np.concatenate(rows)})
    texts = workload.rules_text()
    return PreparedTrees(workload, texts, list(map(parse, texts)), workload.events_table(), expected)


class TreeCell(NamedTuple):
    """What one engine did, as a row, its hits, which those of the others must equal, and how many events it matched."""

    row: dict[str, Any]
    hits: pa.Table
    events: int = sys.maxsize


def measure_cell(
    engine: str, prepared: PreparedTrees, size: TreeScale, options: Mapping[str, Any] | None = None
) -> TreeCell:
    """Build from text, match encoded events, check, and build again in bulk and one by one."""
    index = Index(engine, options=options)
    build_s, _ = timed(lambda: insert_all(index, prepared.texts))
    matching, hits = matching_of(index, prepared.table, size.seconds, build_s)
    _check_with_brute_force(engine, prepared, hits, matching["events"])
    check_with_oracle(index, prepared.workload, rules=50, events=4)
    figures = {**_figures(index, build_s), **matching}
    building = construction(index, prepared.expressions, size.singles)
    changes = _changes(index, prepared.texts, size.singles)
    return TreeCell({"engine": engine, **figures, **building, **changes}, hits, matching["events"])


def first_hits(hits: pa.Table, events: int) -> pa.Table:
    """The hits of the first so many events."""
    return hits.slice(0, places_in(hits["event"].to_numpy(), events))


def _check_with_brute_force(engine: str, prepared: PreparedTrees, hits: pa.Table, events: int) -> None:
    count = min(CHECKED_EVENTS, events)
    first, expected = first_hits(hits, count), first_hits(prepared.expected, count)
    if any(first[name].to_pylist() != expected[name].to_pylist() for name in ("event", "rule")):
        raise WrongAnswer(f"{engine}: the hits of the first events are not those that brute force finds")


def working(index: Index) -> list[Structure]:
    """What looks at each event: the first engine, and those beside it that hold anything."""
    return [part.engine for part in busy(matcher_of(index).parts)]


def matching_of(index: Index, table: pa.Table, seconds: float, spent_s: float = 0.0) -> tuple[dict[str, Any], pa.Table]:
    """What matching takes and finds, and the hits: a hit is a rule, a candidate a node or a conjunction.

    Each structure at work has the same encoded events; the hits are asked for afterwards, since none has met them.
    """
    encode_us, codes = encoded_table(index, table)
    matched = [measure_engine(each, codes, seconds, spent_s) for each in working(index)]
    events = min(part.events for part in matched)
    hits = index.match_many(table.slice(0, events))
    figures = {
        "events": events,
        **times(encode_us, sum(part.match_us for part in matched)),
        "hits_per_event": require_hits(hits.num_rows, index.engine) / events,
        "candidates_per_event": sum(part.candidates / part.events for part in matched),
        "checked": True,
    }
    return {**figures, **{name: mark for part in matched for name, mark in part.marks().items()}}, hits


def _figures(index: Index, build_s: float) -> dict[str, Any]:
    needed = sizes(index)
    return {
        "rules": len(index),
        "build_s": round(build_s, 3),
        **needed,
        "bytes_per_rule": round(needed["bytes"] / len(index), 1),
        "units": index.stats()["units"],
    }


def _changes(index: Index, texts: list[str], singles: int) -> dict[str, Any]:
    """Microseconds to delete a rule of the index, and to insert it again from its text."""
    some = np.random.default_rng(3).permutation(len(texts))[:singles].tolist()
    delete_s, _ = timed(lambda: [index.pop(rule) for rule in some])
    insert_s, _ = timed(lambda: index.update((rule, texts[rule]) for rule in some))
    return {
        "us_per_delete": round(1e6 * delete_s / len(some), 1),
        "us_per_insert": round(1e6 * insert_s / len(some), 1),
    }
