"""Table 3 of the PS-Tree paper: which of many intervals hold a point, with two columns instead of one.

The paper's single figure for a query, 7 ns a point for the PS-Tree, can only be the time to find a point's space; so
`locate_ms` is that (an Interval-Tree has no spaces), and `report_ms` that of writing out the intervals, which is what
a matcher needs. The lists of intervals by space are the paper's PS-Tree_B. Every structure runs compiled, in one call
for all points; each must report as many intervals as there are, and for the first points exactly those NumPy finds.

The paper does not tell how wide its intervals are: here a point lies in ten of them on average.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.bench.frame.measure import WrongAnswer, require_hits, timed
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.papers.pst import _interval_tree_kernels as interval_tree
from matchwood.bench.papers.pst import _segment_tree_kernels as segment_tree
from matchwood.bench.papers.pst import _space_report_kernels as by_space
from matchwood.core import places_in
from matchwood.encoding import Spaces, frozen, spaces_class

SIZES = {"smoke": (500, 500), "quick": (100_000, 100_000), "full": (100_000, 100_000), "paper": (100_000, 100_000)}
"""Intervals and points."""

DOMAIN, COVER, SEED = 10**9, 10, 11
SCANNED, CHECKED, ROUNDS = 200, 100, 25
PAPER_MS = {"scan": 23_110, "Interval-Tree": 2_520, "Segment-Tree": 6.27, "PS-Tree": 0.71}


class IntervalQuestion(NamedTuple):
    """Half-open intervals, the points of each round, and how many pairs of the two there are in each.

    Spaces alone are found for `others`: the cache lines of points that were just reported would be at hand.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    points: tuple[NDArray[np.int64], ...]
    pairs: tuple[int, ...]
    others: tuple[NDArray[np.int64], ...]


class IntervalRival(NamedTuple):
    """A structure that was built: how it finds the spaces of points, how it reports, and its bytes."""

    locate: Callable[[NDArray[np.int64]], Any] | None
    report: Callable[[NDArray[np.int64], NDArray[np.int32]], NDArray[np.int64]]
    nbytes: int


def parts(scale: str) -> list[ExperimentPart]:
    return [ExperimentPart("table 3: intervals", partial(run, scale), (FigurePlace("intervals"),))]


def run(scale: str) -> list[dict[str, Any]]:
    asked = question(*SIZES[scale])
    measure(RIVALS, question(50, 50))
    rows = measure(RIVALS, asked)
    few = tuple(points[:SCANNED] for points in asked.points)
    pairs = tuple(_pairs(asked.low, asked.high, points) for points in few)
    scanned = measure({"scan": _scan}, asked._replace(points=few, pairs=pairs))[0]
    for row in rows:
        row["ratio_to_scan"] = round(scanned["us_per_event"] / row["us_per_event"], 1)
    return [{**scanned, "ratio_to_scan": 1.0}, *rows]


def question(intervals: int, points: int) -> IntervalQuestion:
    random = np.random.default_rng(SEED)
    low = random.integers(0, DOMAIN, intervals)
    high = low + random.integers(1, 2 * COVER * DOMAIN // intervals, intervals)
    asked, others = ([frozen(random.integers(0, DOMAIN, points)) for _ in range(ROUNDS + 1)] for _ in range(2))
    pairs = tuple(_pairs(low, high, some) for some in asked)
    return IntervalQuestion(frozen(low), frozen(high), tuple(asked), pairs, tuple(others))


def _pairs(low: NDArray[np.int64], high: NDArray[np.int64], points: NDArray[np.int64]) -> int:
    begun, ended = places_in(np.sort(low), points, "right"), places_in(np.sort(high), points, "right")
    return int((begun - ended).sum())


def measure(
    rivals: dict[str, Callable[[IntervalQuestion], IntervalRival]], asked: IntervalQuestion
) -> list[dict[str, Any]]:
    """A row for each rival. They take turns, so that the machine's other work meets all of them alike.

    Each round has points of its own; the first one warms up.
    """
    output = np.empty(max(asked.pairs), np.int32)
    made = {name: timed(partial(make, asked)) for name, make in rivals.items()}
    located: dict[str, list[float]] = {name: [] for name in made}
    reported: dict[str, list[float]] = {name: [] for name in made}
    for turn, points in enumerate(asked.points):
        for name, (_, rival) in made.items():
            seconds, ends = timed(partial(rival.report, points, output))
            check(name, asked, turn, ends, output)
            reported[name].append(seconds / len(points))
            if rival.locate is not None:
                others = asked.others[turn]
                located[name].append(timed(partial(rival.locate, others))[0] / len(others))
    return [_row(name, asked, *made[name], _median(located[name]), _median(reported[name])) for name in made]


def _median(rounds: list[float]) -> float:
    return float(np.median(rounds[1:])) if rounds else math.nan


def _row(
    name: str, asked: IntervalQuestion, build_s: float, rival: IntervalRival, locate_s: float, report_s: float
) -> dict[str, Any]:
    points = len(asked.points[0])
    return {
        "engine": name,
        "workload": "table 3: intervals",
        "rules": len(asked.low),
        "events": points,
        "build_s": round(build_s, 4),
        "us_per_event": round(1e6 * report_s, 4),
        "encode_us": None if rival.locate is None else round(1e6 * locate_s, 4),
        "hits_per_event": require_hits(sum(asked.pairs), name) / points / len(asked.points),
        "bytes_index": rival.nbytes,
        "bytes": rival.nbytes,
        "checked": True,
        "locate_ms": None if rival.locate is None else round(1e3 * locate_s * points, 3),
        "report_ms": round(1e3 * report_s * points, 3),
        "paper_ms": PAPER_MS.get(name),
    }


def check(name: str, asked: IntervalQuestion, turn: int, ends: NDArray[np.int64], output: NDArray[np.int32]) -> None:
    """Every report is as long as it must be, and the first ones name the right intervals."""
    points, pairs = asked.points[turn], asked.pairs[turn]
    if ends[-1] != pairs:
        raise WrongAnswer(f"{name}: {ends[-1]:,} intervals reported instead of {pairs:,}")
    starts = np.concatenate(([0], ends))
    for point in range(min(CHECKED, len(points))):
        held = np.flatnonzero((asked.low <= points[point]) & (points[point] < asked.high))
        if not np.array_equal(np.sort(output[starts[point] : starts[point + 1]]), held):
            raise WrongAnswer(f"{name}: point {point} lies in {len(held):,} intervals, others are reported")


def _spaces(asked: IntervalQuestion, name: str) -> IntervalRival:
    """Spaces whose labels are positions, so that a label is the number of a list."""
    bounds = np.unique(np.concatenate((asked.low, asked.high)))
    labels, ones = np.arange(1, len(bounds) + 1, dtype=np.int32), np.ones(len(bounds), np.int32)
    nothing = np.empty(0, np.float32)
    saved: dict[str, NDArray[Any]] = {"primary": bounds, "labels": labels, "counts": ones, "observed": nothing}
    spaces: Spaces = spaces_class(name)("int", saved)
    first, last = spaces.locate_many(asked.low), spaces.locate_many(asked.high) - 1
    offsets, ids = by_space.lists(frozen(first), frozen(last), len(bounds) + 1)

    def report(points: NDArray[np.int64], output: NDArray[np.int32]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = by_space.report(offsets, ids, spaces.locate_many(points), output)
        return found

    nbytes = spaces.stats()["bytes"] + offsets.nbytes + ids.nbytes
    return IntervalRival(spaces.locate_many, report, nbytes)


def _segments(asked: IntervalQuestion) -> IntervalRival:
    bounds = np.unique(np.concatenate((asked.low, asked.high)))
    tree: tuple[Any, Any, Any] = segment_tree.build(asked.low, asked.high, bounds)
    return IntervalRival(
        lambda points: segment_tree.locate(tree[0], points),
        lambda points, output: segment_tree.report(*tree, points, output),
        sum(array.nbytes for array in tree),
    )


def _intervals(asked: IntervalQuestion) -> IntervalRival:
    tree: tuple[Any, Any, Any] = interval_tree.build(asked.low, asked.high)
    nbytes = sum(array.nbytes for array in tree) + asked.low.nbytes + asked.high.nbytes
    return IntervalRival(
        None, lambda points, output: interval_tree.report(*tree, asked.low, asked.high, points, output), nbytes
    )


def _scan(asked: IntervalQuestion) -> IntervalRival:
    return IntervalRival(
        None,
        lambda points, output: by_space.scan(asked.low, asked.high, points, output),
        asked.low.nbytes + asked.high.nbytes,
    )


RIVALS: dict[str, Callable[[IntervalQuestion], IntervalRival]] = {
    "PS-Tree": lambda asked: _spaces(asked, "pstree"),
    "sorted array": lambda asked: _spaces(asked, "sorted"),
    "Segment-Tree": _segments,
    "Interval-Tree": _intervals,
}
