"""Compiled writing of the columns that users get: each hit's event, and the id of its rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.rules._stream_kernels import RUN, end_streams, first_run, stream_added, stream_repeated

STREAMED = 2**18
"""Numbers of 64 bits that are too many for the caches; smaller results are read before they have left these."""


@kernel
def take_integers(ids: Any, rows: Any, out: Any) -> Any:
    """Write the ids of rows to out; False, and some of them, if a row lies outside."""
    for place in range(np.uint64(len(rows))):
        row = np.uint64(rows[place])  # one below 0 is beyond all
        if row >= np.uint64(len(ids)):
            return False
        out[place] = ids[row]
    return True


@kernel
def count_on(first: Any, count: Any, rows: Any, out: Any) -> Any:
    """The same for ids that are first, first + 1, …: nothing is looked up, and one loop does it for many at once."""
    most = np.uint32(0)
    for place in range(np.uint64(len(rows))):
        out[place] = first + np.int64(rows[place])
        most = max(most, np.uint32(rows[place]))
    return len(rows) == 0 or np.int64(most) < count


@bare_kernel
def _run_from(first: Any, place: Any) -> Any:
    """Where a run begins at `place` or behind it, if the first of all begins at `first`."""
    return place + ((first - place) & np.int64(RUN - 1))


@kernel
def repeat_positions(first: Any, offsets: Any, out: Any) -> None:
    """Write first + i to out[offsets[i] : offsets[i + 1]], for every i."""
    begin = first_run(out) if len(out) >= STREAMED else np.int64(-1)
    for event in range(len(offsets) - 1):
        place, stop = np.int64(offsets[event]), np.int64(offsets[event + 1])
        if begin >= 0 and stop - place >= 2 * RUN:
            run = _run_from(begin, place)
            for before in range(np.uint64(place), np.uint64(run)):
                out[before] = first + event
            place = stop - ((stop - run) & np.int64(RUN - 1))
            for at in range(run, place, RUN):
                stream_repeated(out, at, first + event)
        for after in range(np.uint64(place), np.uint64(stop)):
            out[after] = first + event
    if begin >= 0:
        end_streams()


@bare_kernel
def write_ordered(rows: Any, count: Any, added: Any, out: Any, filled: Any, begin: Any) -> Any:
    """Write rows[:count] and `added` to each to out[filled:], if there is room for all; returns where they would end.

    `begin`  where the first run of `out` begins, if they are to be streamed; -1 if not
    """
    place, end, done = np.int64(filled), np.int64(filled) + np.int64(count), np.int64(0)
    if end > len(out):
        return end
    if begin >= 0 and count >= 2 * RUN:
        done = _run_from(begin, place) - place
        for early in range(np.uint64(done)):
            out[np.uint64(place) + early] = added + np.int64(rows[early])
        last = np.int64(count) - ((np.int64(count) - done) & np.int64(RUN - 1))
        for at in range(done, last, RUN):
            stream_added(out, place + at, rows, at, added)
        done = last
    for late in range(np.uint64(done), np.uint64(count)):
        out[np.uint64(place) + late] = added + np.int64(rows[late])
    return end
