"""Kernel of `pstbloom` and `psthash` for one event at a time: all that it reads is pinned (`core/pinned.py`).

VLDB 2018, Algorithms 5 (5.3) and 7 (6.3), as `_match_kernels` has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.pinned import readable, writable
from matchwood.core.prefetch import prefetch
from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.spaces.dyadic import ancestor
from matchwood.engines._one_event_kernels import unpack
from matchwood.engines.pst._match_kernels import ListedUnits, ListScratch, ListSearch, match_lists
from matchwood.engines.pst.candidates import CandidateLists
from matchwood.engines.pst.signatures import SignatureArrays
from matchwood.engines.shared._posting_kernels import key_of
from matchwood.engines.shared.output import HitOutput
from matchwood.engines.shared.store import Conjunctions


@bare_kernel
def _fetch_spaces(lists: Any, events: Any, slots: Any) -> None:
    """Ask for all that leads from an event's labels to its lists, so that the misses overlap.

    Each label is in a space at every level in use, some hundred of them, and what another event has left of the table
    and of the lists' numbers in the caches is of little use. Most spaces stand in the first slot that is looked at.
    """
    table, levels_in_use, count = lists.table, lists.levels, np.uint64(0)
    mask = np.uint64(len(table) - 1)
    for pair in range(events.offsets[0], events.offsets[1]):
        attribute, label = events.attributes[pair], events.labels[pair]
        left = levels_in_use[attribute] if attribute < len(levels_in_use) else np.uint32(0)
        level = 0
        while left != 0:
            if left & np.uint32(1) != 0 and count < np.uint64(len(slots)):
                slot = mix64(key_of(attribute, ancestor(label, level))) & mask
                prefetch(table, np.int64(slot))
                slots[count] = slot
                count += np.uint64(1)
            left >>= np.uint32(1)
            level += 1
    for place in range(count):
        listed = np.int64(table[np.uint64(slots[place])])
        prefetch(lists.keys, listed)
        prefetch(lists.starts, listed)
        prefetch(lists.counts, listed)


@kernel
def match_one(table: Any, count: int, combined: Any, alone: Any) -> Any:
    """The number of hits of the event whose `count` packed pairs stand in the buffers.

    The table has the buffers of the event, and then all fields of the arguments of `match_lists`, in their order; the
    numbers of the search are an array. `combined` and `alone` are as there.
    """
    pairs = writable(table, 1, np.int64), writable(table, 2, np.int32), writable(table, 3, np.int32)
    unpack(readable(table, 0, np.int64), count, pairs[0], pairs[1], pairs[2])
    events = EncodedEvents(readable(table, 1, np.int64), readable(table, 2, np.int32), readable(table, 3, np.int32))
    numbers = readable(table, 20, np.int64)
    conjunctions = Conjunctions(
        readable(table, 4, np.int32), readable(table, 5, np.uint32), readable(table, 6, np.uint16), numbers[0]
    )
    lists = CandidateLists(
        readable(table, 7, np.int32),
        readable(table, 8, np.int32),
        readable(table, 9, np.uint64),
        readable(table, 10, np.uint64),
        readable(table, 11, np.int64),
        readable(table, 12, np.int32),
        readable(table, 13, np.uint32),
        readable(table, 14, np.uint32),
        readable(table, 15, np.uint64),
        readable(table, 16, np.uint32),
    )
    signatures = SignatureArrays(
        readable(table, 17, np.int64), readable(table, 18, np.int64), readable(table, 19, np.uint64)
    )  # fmt: skip
    search = ListSearch(numbers[1], numbers[2] != 0, numbers[3] != 0, numbers[4])
    listed = ListedUnits(readable(table, 21, np.uint8), readable(table, 22, np.int32))
    scratch = ListScratch(
        writable(table, 23, np.int32),
        writable(table, 24, np.int32),
        writable(table, 25, np.uint64),
        writable(table, 26, np.uint32),
        writable(table, 27, np.int32),
        writable(table, 28, np.int32),
        writable(table, 29, np.int32),
    )
    output = HitOutput(writable(table, 30, np.int32), writable(table, 31, np.int64), writable(table, 32, np.int64))
    for place in range(len(output.work)):
        output.work[place] = 0
    _fetch_spaces(lists, events, scratch.spaces)
    match_lists(conjunctions, lists, signatures, search, listed, events, 0, scratch, output, combined, alone)
    return output.work[3]
