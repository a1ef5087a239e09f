"""One cell of `bench hem`: an engine, or a rival, over one workload, its figures, and the check of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.encoded_rules import Encoded
from matchwood.bench.frame.measure import (
    WrongAnswer,
    first_events,
    measure_engine,
    measure_rounds,
    require_hits,
    timed,
    times,
)
from matchwood.bench.frame.memory import bytes_of
from matchwood.bench.papers.hem.plan import IntervalScale
from matchwood.bench.rivals.base import RivalMatcher
from matchwood.bench.rivals.htree import HTree
from matchwood.bench.rivals.rein import Rein
from matchwood.bench.rivals.tama import Tama
from matchwood.encoding import EncodedEvents
from matchwood.engines import HEM, Engine, Workspace, engine_class
from matchwood.workloads import SPAN, Intervals

BATCH = 1_000
"""Rules that a structure takes in at a time: all of them get the same batches, so that all must grow."""

_LONG = 2.0
Built = TypeVar("Built")

RIVALS: tuple[type[RivalMatcher], ...] = (Rein, Tama, HTree)


class IntervalCell(NamedTuple):
    """What one structure did, as a row, and the hits of each event as sorted units."""

    row: dict[str, Any]
    hits: list[NDArray[np.int32]]
    exact: bool = True


def _better_of_two(build: Callable[[], Built]) -> tuple[float, Built]:
    """Seconds to build a structure, and the structure. What takes long is built once; of the rest the second time
    counts if it is better, since the first may have to get its memory from the system."""
    seconds, built = timed(build)
    if seconds >= _LONG:
        return seconds, built
    del built
    again, built = timed(build)
    return min(seconds, again), built


def measure_engine_cell(name: str, options: Mapping[str, Any], encoded: Encoded, size: IntervalScale) -> IntervalCell:
    """Insert in batches, match, and delete some rules."""
    units = encoded.store.live_units()

    def build() -> Engine:
        made: Engine = engine_class(name.split(",")[0])(encoded.store.copy(), options)
        for at in range(0, len(units), BATCH):
            made.insert(units[at : at + BATCH])
        return made

    build_s, engine = _better_of_two(build)
    measured = measure_engine(engine, encoded.events, size.seconds, build_s)
    needed = bytes_of(engine)
    hits = _engine_hits(engine, first_events(encoded.events, measured.events))
    some = np.random.default_rng(3).permutation(units)[: size.deleted].astype(np.int32)
    delete_s, _ = timed(lambda: engine.remove(some))
    row = {
        **measured.times(encoded.encode_us),
        "candidates_per_event": measured.candidates / measured.events,
        **needed,
        **_changes(build_s, len(units), delete_s, len(some)),
        **_planning(engine, first_events(encoded.events, measured.events)),
        **measured.marks(),
    }
    return IntervalCell({"engine": name, **row}, hits)


def _planning(engine: Engine, events: EncodedEvents) -> dict[str, Any]:
    """What planning alone takes, of the time above."""
    if not isinstance(engine, HEM):
        return {}
    seconds, triangles = timed(partial(engine.plan, events, Workspace()))
    return {
        "us_planning": round(1e6 * seconds / events.count, 2),
        "triangles_per_event": round(triangles / events.count, 2),
    }


def _engine_hits(engine: Engine, events: EncodedEvents) -> list[NDArray[np.int32]]:
    workspace = Workspace()
    found: list[NDArray[np.int32]] = []
    while len(found) < events.count:
        hits = engine.match(events, len(found), workspace)
        found += [np.sort(units) for units in np.split(hits.units, hits.offsets[1:-1])]
    return found


def _changes(build_s: float, rules: int, delete_s: float, deleted: int) -> dict[str, Any]:
    return {
        "build_s": round(build_s, 4),
        "us_per_insert": round(1e6 * build_s / rules, 3),
        "us_per_delete": round(1e6 * delete_s / deleted, 3),
    }


def measure_rival_cell(
    kind: type[RivalMatcher], workload: Intervals, encoded: Encoded, size: IntervalScale
) -> IntervalCell | None:
    """The same for a rival, over the intervals themselves; None if it would have more copies than there is room for."""
    ends = workload.rules.constants.reshape(workload.rules.count, -1, 2).astype(np.int32)
    low, high = np.ascontiguousarray(ends[:, :, 0]), np.ascontiguousarray(ends[:, :, 1])
    if kind is HTree and HTree.expected_copies(low, high, SPAN) > size.copies:
        return None
    rules = len(low)

    def build() -> RivalMatcher:
        made = kind(low, high, SPAN)
        for at in range(0, rules, BATCH):
            made.insert(at, min(at + BATCH, rules))
        return made

    build_s, rival = _better_of_two(build)
    values, output = workload.events.values.reshape(-1, rival.attributes), np.empty(rules + 1, np.int32)
    found: list[NDArray[np.int32]] = []

    def match(first: int, stop: int) -> float:
        spent = 0.0
        for row in values[first:stop]:
            took, count = timed(partial(rival.match, row, output))
            spent += took
            found.append(output[:count].copy())
        return spent

    rival.steps[:] = 0
    rounds = measure_rounds(match, len(values), size.seconds, build_s)
    work, needed = rival.steps / rounds.events, bytes_of(rival)
    some = np.random.default_rng(3).permutation(rules)[: size.deleted]
    delete_s, _ = timed(lambda: rival.remove(some))
    row = {
        **times(0.0, rounds.us),
        "candidates_per_event": float(work[0] + work[1]),
        **needed,
        **_changes(build_s, rules, delete_s, len(some)),
        "copies_per_rule": round(rival.copies / max(1, rules - len(some)), 1),
        **rounds.marks(),
    }
    hits = [np.unique(encoded.units[rules_found]) for rules_found in found]
    return IntervalCell({"engine": kind.name, **row}, hits, kind.exact)


def check_cells(cells: list[IntervalCell], expected: list[NDArray[np.int64]], units: NDArray[np.int32]) -> None:
    """The first events have the hits that NumPy finds; all exact structures agree, and the others miss nothing.

    What had time for fewer events has fewer lists of hits.
    """
    first = cells[0]
    for event, rules in enumerate(expected[: len(first.hits)]):
        if not np.array_equal(first.hits[event], np.unique(units[rules])):
            raise WrongAnswer(f"{first.row['engine']}: event {event} has {len(rules):,} hits, others are found")
    for cell in cells:
        for event, (ours, theirs) in enumerate(zip(first.hits, cell.hits, strict=False)):
            wrong = not np.array_equal(ours, theirs) if cell.exact else len(np.setdiff1d(ours, theirs)) > 0
            if wrong:
                raise WrongAnswer(f"{cell.row['engine']}: event {event} has {len(ours):,} hits, others are found")
        if not cell.exact:
            both = min(len(cell.hits), len(first.hits))
            extra = sum(map(len, cell.hits[:both])) - sum(map(len, first.hits[:both]))
            cell.row["false_positives_per_event"] = extra / both
    require_hits(sum(map(len, first.hits)), str(first.row["engine"]))
