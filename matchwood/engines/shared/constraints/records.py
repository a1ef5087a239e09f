"""What both stores do with whole arrays of records: count, unpack, relabel, check."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable, require, require_offsets, require_range
from matchwood.encoding import EncodedConjunctions
from matchwood.engines.shared._store_kernels import count_pieces, unpack_all
from matchwood.engines.shared.constraints._record_kernels import ALTERNATIVE, FLAG_BITS, SEVERAL, WIDTH, relabel_records
from matchwood.engines.shared.views import read_only
from matchwood.errors import InvalidArgument


def attribute_count(attributes: NDArray[np.int32]) -> int:
    """One more than the largest attribute."""
    return int(attributes.max()) + 1 if len(attributes) else 0


def unpacked(
    offsets: NDArray[np.int32],
    leaves: NDArray[np.int32],
    records: NDArray[np.int32],
    intervals: NDArray[np.int32],
    units: NDArray[np.int32],
    clauses: bool = False,
) -> EncodedConjunctions:
    """The constraints of these units, as they were packed; with `clauses`, also which are alternatives."""
    wanted = read_only(units, np.int32)
    constraints = int((offsets[1:][wanted] - offsets[wanted]).sum(dtype=np.int64))
    pieces = int(count_pieces(offsets, leaves, records, wanted))
    target = EncodedConjunctions(
        np.zeros(len(wanted) + 1, dtype=np.int64),
        np.empty(constraints, dtype=np.int32),
        np.empty(constraints, dtype=np.bool_),
        np.zeros(constraints + 1, dtype=np.int64),
        np.empty(pieces, dtype=np.int32),
        np.empty(pieces, dtype=np.int32),
        np.empty(constraints if clauses else 0, dtype=np.bool_),
    )
    unpack_all(offsets, leaves, records, intervals, wanted, target)
    return target


def relabel(records: Growable, intervals: Growable, attribute: int, old: Any, new: Any) -> None:
    """Replace the labels of one attribute; those not in `old` stay."""
    old, new = np.asarray(old), np.asarray(new)
    order = np.argsort(old, kind="stable")
    old_labels, new_labels = read_only(old[order], np.int32), read_only(new[order], np.int32)
    relabel_records(records.writable(), intervals.writable(), attribute, old_labels, new_labels)


def renumber(records: Growable, numbers: NDArray[np.int32]) -> int:
    """Give attributes other numbers, in the same order; returns one more than the largest."""
    codes = records.writable()[::WIDTH]
    moved = np.asarray(numbers, np.int32)[(codes & ~ALTERNATIVE) >> FLAG_BITS]
    if len(moved) and int(moved.min()) < 0:
        raise InvalidArgument("an attribute that is in use has no new number")
    codes[:] = (moved << FLAG_BITS) | (codes & (ALTERNATIVE | (1 << FLAG_BITS) - 1))
    return int(moved.max(initial=-1)) + 1


def check_records(
    offsets: NDArray[np.int32],
    leaves: NDArray[np.int32],
    records: NDArray[np.int32],
    intervals: NDArray[np.int32],
    attributes: int,
    clauses: bool = False,
) -> None:
    """Refuse records that could lead a kernel out of its arrays; alternatives too, unless there may be `clauses`."""
    require(len(records) % WIDTH == 0 and len(intervals) % 2 == 0, "a record is cut off")
    require_offsets(offsets, len(leaves), "offsets")
    require_range(leaves, 0, len(records) // WIDTH, "leaves")
    codes = records[::WIDTH]
    require(not len(codes) or int(codes.min()) >= 0, "an attribute is negative")
    attributes_only = codes & ~ALTERNATIVE if clauses else codes
    require(attributes == (int(attributes_only.max(initial=-1)) >> FLAG_BITS) + 1, "attributes are miscounted")
    several = codes & SEVERAL != 0
    starts, stops = records[1::WIDTH][several], records[2::WIDTH][several]
    require_range(starts, 0, len(intervals) // 2 + 1, "interval positions")
    require_range(stops, 0, len(intervals) // 2 + 1, "interval positions")
    require((starts <= stops).all(), "a constraint's intervals end before they start")
