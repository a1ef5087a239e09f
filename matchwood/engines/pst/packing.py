"""Which candidates of long lists are packed, and how.

VLDB 2018, ours, as `_packed_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled, pooled_full
from matchwood.engines.pst._candidate_kernels import NewCandidates
from matchwood.engines.pst._packed_kernels import MASK_WIDTH, PACKED_START, PACKED_TEST_WIDTH, SINGLE_WIDTH
from matchwood.engines.pst._packing_kernels import (
    DRAFT_START,
    PackingPlan,
    SortedPostings,
    pack_drafts,
    plan_packing,
    sort_postings,
    write_drafts,
)
from matchwood.engines.shared.store import Conjunctions


class PackedLists(NamedTuple):
    """The packed candidates of some units, and the postings that are not packed.

    `tests`, `starts`  list l has the packed tests starts[l] : starts[l + 1]
    `residuals`        what these lead to, each unit's once
    `sizes`, `lists`   in how many lists each unit is left, and which
    """

    tests: NDArray[np.uint16]
    starts: NDArray[np.int64]
    residuals: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    lists: NDArray[np.int32]


def packed_lists(
    conjunctions: Conjunctions,
    new: NewCandidates,
    wanted: int,
    sizes: NDArray[np.int64],
    lists: NDArray[np.int32],
    count: int,
    least: int,
) -> PackedLists:
    """Pack the candidates of every list that has at least so many that can be.

    Unit i is in sizes[i] of the lists, which number `count`.
    """
    plan = PackingPlan._make(pooled(len(new.units), np.int32) for _ in range(3))
    plan_packing(conjunctions, new, wanted, plan)
    postings = _sorted_postings(plan, sizes, lists, count, least)
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(postings.counts, out=starts[1:])
    is_packed = postings.left_sizes < sizes
    entries = SINGLE_WIDTH * plan.single.astype(np.int64) + MASK_WIDTH * plan.masked
    draft_starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.where(is_packed, DRAFT_START + PACKED_START + entries, 0), out=draft_starts[1:])
    drafts = pooled(int(draft_starts[-1]), np.uint16)
    write_drafts(conjunctions, new, wanted, plan, draft_starts, drafts)
    tests = np.empty(PACKED_TEST_WIDTH * len(postings.places), np.uint16)
    residuals = np.empty(len(drafts) - DRAFT_START * int(np.count_nonzero(is_packed)), np.uint16)
    pack_drafts(draft_starts, drafts, postings.places, pooled_full(len(sizes), -1, np.int64), tests, residuals)
    return PackedLists(tests, starts, residuals, postings.left_sizes, postings.left_lists)


def _sorted_postings(
    plan: PackingPlan, sizes: NDArray[np.int64], lists: NDArray[np.int32], count: int, least: int
) -> SortedPostings:
    counts, ends = (np.zeros(count, dtype=np.int64) for _ in range(2))
    places, left_lists = pooled(len(lists), np.int32), pooled(len(lists), np.int32)
    found = SortedPostings(counts, ends, places, pooled(len(sizes), np.int64), left_lists)
    left = sort_postings(sizes, lists, plan, least, found)
    return found._replace(places=places[: len(lists) - left], left_lists=left_lists[:left].copy())


def packed_postings(
    tests: NDArray[np.uint16], starts: NDArray[np.int64], residuals: NDArray[np.uint16]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The list and the unit of every packed candidate."""
    at = _long_words(tests, np.arange(3, len(tests), PACKED_TEST_WIDTH))
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts)), _long_words(residuals, at).astype(np.int32)


def _long_words(words: NDArray[np.uint16], at: NDArray[np.int64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = words[at].astype(np.int64) | words[at + 1].astype(np.int64) << 16
    return found
