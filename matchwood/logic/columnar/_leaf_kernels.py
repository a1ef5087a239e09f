"""Leaves in columns, each distinct one once, and their algebra: what `leaf.py` and `cuts.py` do, by the ranks of cuts.

A cut is a number; `ranks` tells their order, in which START, number 0, is the first. All cuts of an attribute can be
compared, and a set of values has one spelling, so that equal leaves are the same leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import combine64
from matchwood.core.jit import bare_kernel

START = 0
EMPTY_SLOT = -1
COUNT, FAILED, STAMP, NODES, CHILDREN, TOUCHED = range(6)
"""Places in `state`: leaves so far, whether the rule is given up, the last stamp, nodes and children of the rule that
is being built, and the cuts that its merges touched."""

MOST_CUTS = 4_096
"""Cuts of a set that is made here; rules with larger ones go the way of single rules."""


@bare_kernel
def same_cuts(leaves: Any, leaf: int, cuts: Any, count: int) -> Any:
    start = leaves.ends[leaf]
    if leaves.ends[leaf + 1] - start != count:
        return False
    place = 0
    while place < count and leaves.cuts[start + place] == cuts[place]:
        place += 1
    return place == count


@bare_kernel
def leaf_number(leaves: Any, state: Any, key: int, null: int, cuts: Any, count: int) -> Any:
    """The leaf with these cuts, which is made if it is new; the rule fails if there is no room."""
    mixed = combine64(np.uint64(2 * key + null), np.uint64(count))
    for place in range(count):
        mixed = combine64(mixed, np.uint64(cuts[place]))
    mask = np.uint64(len(leaves.slots) - 1)
    slot = mixed & mask
    while leaves.slots[slot] != EMPTY_SLOT:
        known = leaves.slots[slot]
        if leaves.keys[known] == key and leaves.nulls[known] == null and same_cuts(leaves, known, cuts, count):
            return np.int64(known)
        slot = (slot + np.uint64(1)) & mask
    made = state[COUNT]
    start = leaves.ends[made]
    if 2 * (made + 2) > len(leaves.slots) or made + 2 > len(leaves.keys) or start + count > len(leaves.cuts):
        state[FAILED] = 1
        return np.int64(0)
    for place in range(count):
        leaves.cuts[start + place] = cuts[place]
    leaves.keys[made], leaves.nulls[made], leaves.hashes[made] = key, null, mixed
    leaves.ends[made + 1] = start + count
    leaves.stamps[made] = 0
    leaves.slots[slot] = made
    state[COUNT] = made + 1
    return np.int64(made)


@bare_kernel
def complemented(cuts: Any, start: int, stop: int, out: Any) -> Any:
    """Write all values outside a set; how many cuts that takes."""
    if start < stop and cuts[start] == START:
        start += 1
        count = 0
    else:
        out[0] = START
        count = 1
    for place in range(start, stop):
        out[count] = cuts[place]
        count += 1
    return count


@bare_kernel
def merged_cuts(ranks: Any, left: Any, lefts: int, right: Any, start: int, stop: int, both: int, out: Any) -> Any:
    """Write the values in both sets, or in either one; how many cuts that takes."""
    one, two, count = 0, start, 0
    in_left = in_right = inside = 0
    while one < lefts or two < stop:
        left_rank = ranks[left[one]] if one < lefts else np.int64(2**62)
        right_rank = ranks[right[two]] if two < stop else np.int64(2**62)
        cut = left[one] if left_rank <= right_rank else right[two]
        if left_rank <= right_rank:
            in_left ^= 1
            one += 1
        if right_rank <= left_rank:
            in_right ^= 1
            two += 1
        now = in_left & in_right if both else in_left | in_right
        if now != inside:
            out[count] = cut
            count += 1
            inside = now
    return count


@bare_kernel
def accepts_only(leaves: Any, ranks: Any, narrow: int, wide: int) -> Any:
    """Whether a leaf of the same attribute accepts all that another one does."""
    if leaves.nulls[narrow] and not leaves.nulls[wide]:
        return False
    one, last = leaves.ends[narrow], leaves.ends[narrow + 1]
    two, end = leaves.ends[wide], leaves.ends[wide + 1]
    in_narrow = in_wide = 0
    while one < last:
        narrow_rank = ranks[leaves.cuts[one]]
        while two < end and ranks[leaves.cuts[two]] < narrow_rank:
            if in_narrow and in_wide:
                return False
            in_wide ^= 1
            two += 1
        if two < end and ranks[leaves.cuts[two]] == narrow_rank:
            in_wide ^= 1
            two += 1
        in_narrow ^= 1
        one += 1
        if in_narrow and not in_wide:
            return False
    return not in_narrow or two == end


@bare_kernel
def is_before(leaves: Any, ranks: Any, key_ranks: Any, left: int, right: int) -> Any:
    """Whether a leaf comes before another one in the canonical order: by attribute, cuts, and NULL."""
    if leaves.keys[left] != leaves.keys[right]:
        return key_ranks[leaves.keys[left]] < key_ranks[leaves.keys[right]]
    one, two = leaves.ends[left], leaves.ends[right]
    last, end = leaves.ends[left + 1], leaves.ends[right + 1]
    while one < last and two < end:
        if leaves.cuts[one] != leaves.cuts[two]:
            return ranks[leaves.cuts[one]] < ranks[leaves.cuts[two]]
        one += 1
        two += 1
    if one < last or two < end:
        return one == last
    return leaves.nulls[left] < leaves.nulls[right]


@bare_kernel
def is_full(leaves: Any, leaf: int) -> Any:
    start = leaves.ends[leaf]
    return leaves.nulls[leaf] == 1 and leaves.ends[leaf + 1] - start == 1 and leaves.cuts[start] == START


@bare_kernel
def is_empty(leaves: Any, leaf: int) -> Any:
    return leaves.nulls[leaf] == 0 and leaves.ends[leaf + 1] == leaves.ends[leaf]


@bare_kernel
def combined(leaves: Any, state: Any, ranks: Any, group: Any, first: int, stop: int, both: int, buffers: Any) -> Any:
    """What all leaves group[first:stop] of one attribute accept, or what any of them does."""
    count, null, turn = 0, both, 0
    total = 0
    for place in range(first, stop):
        total += leaves.ends[group[place] + 1] - leaves.ends[group[place]]
    if total + 1 > MOST_CUTS:
        state[FAILED] = 1
        return np.int64(0)
    if both:
        buffers[0, 0] = START
        count = 1
    for place in range(first, stop):
        leaf = group[place]
        null = null & leaves.nulls[leaf] if both else null | leaves.nulls[leaf]
        now, then = buffers[turn], buffers[1 - turn]
        count = merged_cuts(ranks, now, count, leaves.cuts, leaves.ends[leaf], leaves.ends[leaf + 1], both, then)
        turn = 1 - turn
    return leaf_number(leaves, state, leaves.keys[group[first]], null, buffers[turn], count)
