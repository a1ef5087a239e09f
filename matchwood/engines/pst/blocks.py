"""Which candidates of long lists are packed, and their packs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.engines.pst._block_kernels import HEAD_WIDTH, MARK_WIDTH, MASK_WIDTH, PACK_START, PACKED, PLAIN_WIDTH
from matchwood.engines.pst._block_write_kernels import NOT_PACKED, packed_units, plan_packs, write_packs
from matchwood.engines.pst._candidate_kernels import MOST_COPIES
from matchwood.engines.shared.access import SelectivityOrder
from matchwood.engines.shared.store import Conjunctions


class Packing(NamedTuple):
    """The packs of some units, and the postings that go into none.

    `packs`, `starts`  the packs of list l are packs[starts[l] : starts[l + 1]]
    `gains`            how many candidates of each list are packed
    `sizes`, `lists`   in how many lists each unit is left, and which
    """

    packs: NDArray[np.int32]
    starts: NDArray[np.int64]
    gains: NDArray[np.int64]
    sizes: NDArray[np.int64]
    lists: NDArray[np.int32]


def packed(
    conjunctions: Conjunctions,
    units: NDArray[np.int32],
    ranking: SelectivityOrder,
    access: NDArray[np.uint16],
    wanted: int,
    tests: NDArray[np.int32],
    sizes: NDArray[np.int64],
    lists: NDArray[np.int32],
    count: int,
    least: int,
) -> Packing:
    """Pack the candidates of every list that would have at least so many of them in packs.

    Unit i is in sizes[i] of the lists, which number `count`. One in many lists shares a single tail among them, and
    is not packed.
    """
    needed, plain, masked = (np.empty(len(units), dtype=np.int32) for _ in range(3))
    plan_packs(conjunctions, units, access, wanted, tests, needed, plain, masked)
    places = np.repeat(np.arange(len(units), dtype=np.int32), sizes)
    chosen = ((needed != NOT_PACKED) & (sizes <= MOST_COPIES))[places]
    chosen &= (np.bincount(lists[chosen], minlength=count) >= least)[lists]
    order = np.flatnonzero(chosen)
    order = order[np.argsort(lists[order], kind="stable")]
    gains = np.bincount(lists[order], minlength=count)
    entries = np.bincount(lists[order], (PLAIN_WIDTH * plain + MASK_WIDTH * masked)[places[order]], minlength=count)
    starts = np.zeros(count + 1, dtype=np.int64)
    words = PACK_START * -(-gains // PACKED) + (HEAD_WIDTH + MARK_WIDTH) * gains + entries.astype(np.int64)
    np.cumsum(words, out=starts[1:])
    packs = np.empty(starts[-1], dtype=np.int32)
    write_packs(
        conjunctions, units, ranking, access, wanted, tests, needed, plain, masked, places[order], gains, packs
    )  # fmt: skip
    left = np.bincount(places[~chosen], minlength=len(units))
    return Packing(packs, starts, gains, left, lists[~chosen])


def units_in_packs(packs: NDArray[np.int32], starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The list and the unit of every packed candidate."""
    lists, units = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    count = int(packed_units(packs, starts, lists, units))
    lists, units = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    packed_units(packs, starts, lists, units)
    return lists, units
