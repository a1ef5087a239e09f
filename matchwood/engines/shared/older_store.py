"""Stores that were saved when each constraint was a record of three integers: a code, and two labels, or the range of
its intervals in an array of those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in, require, require_offsets, require_range, saved, saved_count
from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions

_NULL, _SEVERAL, _FLAG_BITS, _ALTERNATIVE, _WIDTH = 1, 2, 2, 1 << 30, 3


def is_older(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a saved store has records."""
    return "records" in arrays and "words" not in arrays


def older_constraints(
    arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any], clauses: bool
) -> EncodedConjunctions:
    """The conjunctions of such a store, those of dead units included; refuses what leads out of the arrays."""
    offsets, intervals = saved(arrays, "offsets", np.int64), saved(arrays, "intervals", np.int32)
    records = saved(arrays, "records", np.int32)
    require(len(records) % _WIDTH == 0 and len(intervals) % 2 == 0, "a record is cut off")
    codes, first, last = (np.asarray(records[field::_WIDTH]) for field in range(_WIDTH))
    require_offsets(offsets, len(codes), "offsets")
    several, attributes = codes & _SEVERAL != 0, (codes & ~_ALTERNATIVE) >> _FLAG_BITS
    require(not len(codes) or int(codes.min()) >= 0, "an attribute is negative")
    require(clauses or not (codes & _ALTERNATIVE).any(), "an alternative stands where no clause may")
    require(saved_count(header, "attributes") == int(attributes.max(initial=-1)) + 1, "attributes are miscounted")
    for places in (first[several], last[several]):
        require_range(places, 0, len(intervals) // 2 + 1, "interval positions")
    counts = np.where(several, last.astype(np.int64) - first, 1)
    require(bool((counts >= 0).all()), "a constraint's intervals end before they start")
    require_range(np.concatenate((first[~several], last[~several], intervals)), 0, TOP_LABEL + 1, "labels")
    pieces = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(counts, out=pieces[1:])
    owners = np.repeat(np.arange(len(codes)), counts)
    taken = np.where(several, first, 0)[owners] + np.arange(len(owners)) - pieces[owners]
    ends = np.append(intervals, np.zeros(2, np.int32)).reshape(-1, 2)[np.minimum(taken, len(intervals) // 2)]
    low = np.where(several[owners], ends[:, 0], first[owners]).astype(np.int32)
    high = np.where(several[owners], ends[:, 1], last[owners]).astype(np.int32)
    _replace_inverted(low, high, owners, saved(arrays, "alive", np.bool_), offsets)
    alternatives = codes & _ALTERNATIVE != 0 if clauses else np.empty(0, np.bool_)
    return EncodedConjunctions(
        np.asarray(offsets), attributes.astype(np.int32), codes & _NULL != 0, pieces, low, high, alternatives
    )


def _replace_inverted(
    low: NDArray[np.int32], high: NDArray[np.int32], owners: NDArray[np.int64], alive: NDArray[Any], offsets: Any
) -> None:
    """Put whole domains in the place of intervals that end before they begin: of units that died before labels were
    chosen anew, when only one of two boundaries was still known."""
    inverted = np.flatnonzero(low >= high)
    if len(inverted):
        units = places_in(np.asarray(offsets, np.int64), owners[inverted], "right") - 1
        require(not np.asarray(alive)[units].any(), "an interval ends before it begins")
        low[inverted], high[inverted] = BOTTOM_LABEL, TOP_LABEL
