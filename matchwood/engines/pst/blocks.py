"""Which candidates of long lists are packed, and their blocks.

VLDB 2018, ours, as `_block_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.engines.pst._block_kernels import (
    BLOCK_SIZE,
    BLOCK_START,
    BLOCK_TEST_WIDTH,
    MARK_WIDTH,
    MASK_WIDTH,
    SINGLE_WIDTH,
)
from matchwood.engines.pst._block_write_kernels import (
    NOT_IN_BLOCKS,
    BlockPlan,
    list_block_units,
    plan_blocks,
    write_blocks,
)
from matchwood.engines.pst._candidate_kernels import MOST_COPIES, NewCandidates
from matchwood.engines.shared.store import Conjunctions


class BlockLayout(NamedTuple):
    """The blocks of some units, and the postings that go into none.

    `blocks`, `starts`  the blocks of list l are blocks[starts[l] : starts[l + 1]]
    `gains`            how many candidates of each list are packed
    `sizes`, `lists`   in how many lists each unit is left, and which
    """

    blocks: NDArray[np.int32]
    starts: NDArray[np.int64]
    gains: NDArray[np.int64]
    sizes: NDArray[np.int64]
    lists: NDArray[np.int32]


def block_layout(
    conjunctions: Conjunctions,
    new: NewCandidates,
    wanted: int,
    sizes: NDArray[np.int64],
    lists: NDArray[np.int32],
    count: int,
    least: int,
) -> BlockLayout:
    """Put the candidates of every list into blocks that would have at least so many of them there.

    Unit i is in sizes[i] of the lists, which number `count`. One in many lists shares one residual among them, and
    is not packed.
    """
    units = new.units
    needed, single, masked = plan = BlockPlan._make(np.empty(len(units), dtype=np.int32) for _ in range(3))
    plan_blocks(conjunctions, new, wanted, plan)
    places = np.repeat(np.arange(len(units), dtype=np.int32), sizes)
    chosen = ((needed != NOT_IN_BLOCKS) & (sizes <= MOST_COPIES))[places]
    chosen &= (np.bincount(lists[chosen], minlength=count) >= least)[lists]
    order = np.flatnonzero(chosen)
    order = order[np.argsort(lists[order], kind="stable")]
    gains = np.bincount(lists[order], minlength=count)
    entries = np.bincount(lists[order], (SINGLE_WIDTH * single + MASK_WIDTH * masked)[places[order]], minlength=count)
    starts = np.zeros(count + 1, dtype=np.int64)
    words = BLOCK_START * -(-gains // BLOCK_SIZE) + (BLOCK_TEST_WIDTH + MARK_WIDTH) * gains + entries.astype(np.int64)
    np.cumsum(words, out=starts[1:])
    blocks = np.empty(starts[-1], dtype=np.int32)
    write_blocks(conjunctions, new, wanted, plan, places[order], gains, blocks)
    left = np.bincount(places[~chosen], minlength=len(units))
    return BlockLayout(blocks, starts, gains, left, lists[~chosen])


def units_in_blocks(
    blocks: NDArray[np.int32], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The list and the unit of every packed candidate."""
    lists, units = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    count = int(list_block_units(blocks, starts, lists, units))
    lists, units = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    list_block_units(blocks, starts, lists, units)
    return lists, units
