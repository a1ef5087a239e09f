"""Which candidates of long lists are packed, and their blocks.

VLDB 2018, ours, as `_block_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.engines.pst._block_kernels import (
    BLOCK_SIZE,
    BLOCK_START,
    BLOCK_TEST_WIDTH,
    MARK_WIDTH,
    MASK_WIDTH,
    SINGLE_WIDTH,
)
from matchwood.engines.pst._block_write_kernels import (
    DRAFT_START,
    BlockPlan,
    SortedPostings,
    list_block_units,
    plan_blocks,
    sort_postings,
    write_blocks,
    write_drafts,
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
    plan = BlockPlan._make(pooled(len(new.units), np.int32) for _ in range(3))
    plan_blocks(conjunctions, new, wanted, plan)
    postings = _sorted_postings(plan, sizes, lists, count, least)
    gains, starts = postings.counts, np.zeros(count + 1, dtype=np.int64)
    words = BLOCK_START * -(-gains // BLOCK_SIZE) + (BLOCK_TEST_WIDTH + MARK_WIDTH) * gains + postings.words
    np.cumsum(words, out=starts[1:])
    blocks = np.empty(starts[-1], dtype=np.int32)
    draft_starts = _draft_starts(plan, sizes, postings)
    drafts = pooled(int(draft_starts[-1]), np.int32)
    write_drafts(conjunctions, new, wanted, plan, draft_starts, drafts)
    write_blocks(draft_starts, drafts, plan, postings.places, gains, blocks)
    return BlockLayout(blocks, starts, gains, postings.left_sizes, postings.left_lists)


def _sorted_postings(
    plan: BlockPlan, sizes: NDArray[np.int64], lists: NDArray[np.int32], count: int, least: int
) -> SortedPostings:
    counts, words, ends = (np.zeros(count, dtype=np.int64) for _ in range(3))
    places, left_lists = pooled(len(lists), np.int32), pooled(len(lists), np.int32)
    found = SortedPostings(MOST_COPIES, counts, words, ends, places, pooled(len(sizes), np.int64), left_lists)
    left = sort_postings(sizes, lists, plan, least, found)
    return found._replace(places=places[: len(lists) - left], left_lists=left_lists[:left].copy())


def _draft_starts(plan: BlockPlan, sizes: NDArray[np.int64], postings: SortedPostings) -> NDArray[np.int64]:
    """Where the draft of each unit begins; one that goes into no block has none."""
    words = DRAFT_START + SINGLE_WIDTH * plan.single.astype(np.int64) + MASK_WIDTH * plan.masked
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.where(postings.left_sizes < sizes, words, 0), out=starts[1:])
    return starts


def units_in_blocks(
    blocks: NDArray[np.int32], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The list and the unit of every packed candidate."""
    lists, units = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    count = int(list_block_units(blocks, starts, lists, units))
    lists, units = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    list_block_units(blocks, starts, lists, units)
    return lists, units
