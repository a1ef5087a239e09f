"""Labels: 31-bit numbers that order boundaries, with gaps, chosen so that they are seldom chosen anew.

Round numbers are best: a space between two labels that are multiples of a power of two is a single dyadic
block (`dyadic.py`), and so is most of what predicates ask for.

- *Between* two labels a new one is the roundest number in the middle of the gap, unless the gap seems to
  fill from one side (`direction`): then it stands one step from that side, so that a million constants in
  order need few new labels.
- *Assigned anew*, half of all labels go evenly to all gaps, and half to those that grew since the last time
  and are expected to grow on: the two beside each run of recent boundaries, by its length, and the one that was full.
  So a gap that takes all new constants may take as many as there are already before labels run out again, which
  makes the number of such times logarithmic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.errors import LimitExceeded

SPAN = 2**31
"""Where the last gap ends. TOP_LABEL itself stays free, one below it."""

UPWARD, MIDDLE, DOWNWARD = 1, 0, -1

NEAR = 1 / 8
"""An element that lies in this part of a gap, at either side, is taken to continue what stands there."""

MOST_CONSTANTS = SPAN // 8
"""Of one attribute: with labels assigned anew, each gap then still has room for two more."""

_COARSEST_UNIT = 1 << 15


def between(low: int, high: int, direction: int, unit: int, count: int) -> int:
    """A label in the gap, or -1 when it is full; `unit` as `assigned` returned it, `count` of all boundaries.

    >>> between(0, TOP_LABEL, MIDDLE, 1, 0) == 2**30, between(4, 5, MIDDLE, 1, 2)
    (True, -1)
    """
    high = SPAN - 1 if high == TOP_LABEL else high
    room = high - low
    if room < 2:
        return -1
    step = _step(room, unit, count)
    if direction == MIDDLE or 2 * step > room:
        first = max(low + 1, low + room // 4)
        return _roundest(first, max(first + 1, high - room // 4))
    return (low // step + 1) * step if direction == UPWARD else (high - 1) // step * step


def _step(room: int, unit: int, count: int) -> int:
    """How far apart labels stand where a gap grows: less and less, so that its room never ends quickly."""
    share = room // (4 * (count + 4))
    return max(unit, 1 << share.bit_length() - 1 if share else 1)


def _roundest(first: int, end: int) -> int:
    """The number from `first` on and below `end` with the most trailing zeros."""
    shift = ((first - 1) ^ (end - 1)).bit_length() - 1
    return (end - 1) >> shift << shift


def at_end(low: int, high: int) -> int | None:
    """The direction in which a gap at an end of the domain is taken to fill: outwards; None for other gaps."""
    if low != BOTTOM_LABEL and high != TOP_LABEL:
        return None
    return (low != BOTTOM_LABEL) - (high != TOP_LABEL)


def direction(low: int, high: int, place: float, last: int, low_recent: bool, high_recent: bool) -> int:
    """From which side the gap between two boundaries' labels seems to fill.

    `place` is where the new element lies between its neighbours, from 0 to 1 (nan where nobody can tell), `last`
    the label that was given last, and the other two tell whether the neighbours are recent.
    """
    if place < NEAR or place > 1 - NEAR:
        return UPWARD if place < NEAR else DOWNWARD
    if last in (low, high):
        return UPWARD if last == low else DOWNWARD
    return low_recent - high_recent


def spread(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    added: NDArray[np.int64],
    direction: NDArray[np.int8],
    unit: int,
    count: int,
) -> NDArray[np.int32] | None:
    """Labels for `added[g]` new boundaries in each gap g, in order; None when some gap is too small."""
    high = np.where(high == TOP_LABEL, SPAN - 1, high)
    step = _power_of_two(np.maximum(high - low, 0) // (added + 1))
    if not step.all():
        return None
    growing = direction != MIDDLE
    share = _power_of_two((high - low) // (4 * (count + added + 4)))
    step = np.where(growing, np.minimum(step, np.maximum(share, unit)), step)
    room = (high - 1) // step - low // step - added
    skipped = np.where(growing, np.where(direction == UPWARD, 0, room), room // 2)
    first = (low // step + 1 + skipped) * step
    within = np.arange(int(added.sum())) - np.repeat(np.cumsum(added) - added, added)
    return (np.repeat(first, added) + within * np.repeat(step, added)).astype(np.int32)


def _power_of_two(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The greatest power of two that is not above each number; 0 for 0."""
    exponent = np.frexp(numbers.astype(np.float64))[1]
    return np.where(numbers > 0, np.left_shift(1, np.maximum(exponent - 1, 0)), 0)


def assigned(recent: NDArray[np.bool_], full_gap: int = -1) -> tuple[NDArray[np.int32], int]:
    """Labels for all boundaries of an attribute, and the smallest step for those that come later.

    `recent` tells which of them came since labels were last assigned; `full_gap` is the number of the gap
    (gap g stands before boundary g) that had no room for one more.
    """
    _refuse_more(len(recent))
    weights = _weights(recent, full_gap)
    total = int(weights.sum())
    step = 1 << (SPAN // total).bit_length() - 1
    spare = (SPAN // step - total) // 2
    labels = (np.cumsum(weights[:-1]) + spare) * step
    return labels.astype(np.int32), max(1, min(step // 2, _COARSEST_UNIT))


def first(count: int) -> tuple[NDArray[np.int32], int]:
    """The same for the first boundaries of an attribute: half of all steps lie at both ends, and one between any two.

    >>> labels, unit = first(3)
    >>> labels.tolist() == assigned(np.ones(3, np.bool_))[0].tolist()
    True
    """
    _refuse_more(count)
    outer = 1 + count // 2
    total = 2 * outer + count - 1
    step = 1 << (SPAN // total).bit_length() - 1
    begin = (outer + (SPAN // step - total) // 2) * step
    labels = np.arange(begin, begin + count * step, step, dtype=np.int64)
    return labels.astype(np.int32), max(1, min(step // 2, _COARSEST_UNIT))


def _refuse_more(count: int) -> None:
    if count > MOST_CONSTANTS:
        raise LimitExceeded(f"an attribute can be compared with at most {MOST_CONSTANTS:,} constants")


def _weights(recent: NDArray[np.bool_], full_gap: int) -> NDArray[np.int64]:
    """How many steps each gap gets."""
    growth = np.zeros(len(recent) + 1, np.float64)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], recent, [False]))))
    starts, stops = edges[::2], edges[1::2]
    growth[starts] += stops - starts
    growth[stops] += stops - starts
    if full_gap >= 0:
        growth[full_gap] += 2 * np.count_nonzero(recent) + 1
    share = len(recent) / max(growth.sum(), 1.0)
    weights: NDArray[np.int64] = 1 + (growth * share).astype(np.int64)
    return weights


def translated(labels: NDArray[np.int32], old: NDArray[np.int32], new: NDArray[np.int32]) -> NDArray[np.int32]:
    """Labels of spaces after a relabelling; one whose boundary is gone becomes that of the space below.

    >>> translated(np.array([0, 5, 6, 9], np.int32), np.array([5, 9], np.int32), np.array([50, 90], np.int32)).tolist()
    [0, 50, 50, 90]
    """
    found: NDArray[np.int32] = np.append(np.int32(BOTTOM_LABEL), new)[places_in(old, labels, "right")]
    return found


def is_inner(labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which labels are those of boundaries, not the ends of the domain."""
    inner: NDArray[np.bool_] = (labels != BOTTOM_LABEL) & (labels != TOP_LABEL)
    return inner
