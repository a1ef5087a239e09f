"""Conjunctions as rows of bits, one for each leaf of a rule: expanded, simplified and ordered as `canonical` does.

Leaves stand in canonical order, the first at the highest bit: of two rows neither of which holds all leaves of the
other, the one that comes first is the greater number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import bit_count
from matchwood.core.jit import bare_kernel
from matchwood.logic.columnar._builder_kernels import by_attribute, has_repeated
from matchwood.logic.columnar._leaf_kernels import (
    FAILED,
    STAMP,
    accepts_only,
    combined,
    is_before,
    is_empty,
    is_full,
)

MOST_WORDS = 8
MOST_LEAVES = 64 * MOST_WORDS
MOST_ROWS = 1_024
COMPARISON_BUDGET = 1 << 21
"""As in `conjunctions.py`: where that would leave out comparisons, the rule goes the way of single rules."""


@bare_kernel
def in_order(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, count: int) -> Any:
    """Sort the leaves work.local[:count] into canonical order, and number them so; the words that a row needs."""
    if count > MOST_LEAVES:
        state[FAILED] = 1
        return 1
    for place in range(1, count):
        leaf, at = work.local[place], place
        while at > 0 and is_before(leaves, ranks, key_ranks, leaf, work.local[at - 1]):
            work.local[at] = work.local[at - 1]
            at -= 1
        work.local[at] = leaf
    for place in range(count):
        leaves.numbers[work.local[place]] = place
    return max(1, (count + 63) >> 6)


@bare_kernel
def clear_row(rows: Any, row: int, words: int) -> None:
    for word in range(words):
        rows[row, word] = np.uint64(0)


@bare_kernel
def set_bit(rows: Any, row: int, place: int) -> None:
    rows[row, place >> 6] |= np.uint64(1) << np.uint64(63 - (place & 63))


@bare_kernel
def has_bit(rows: Any, row: int, place: int) -> Any:
    return (rows[row, place >> 6] >> np.uint64(63 - (place & 63))) & np.uint64(1) != np.uint64(0)


@bare_kernel
def _copy(rows: Any, source: int, target: int, words: int) -> None:
    for word in range(words):
        rows[target, word] = rows[source, word]


@bare_kernel
def _is_greater(rows: Any, left: int, right: int, words: int) -> Any:
    for word in range(words):
        if rows[left, word] != rows[right, word]:
            return rows[left, word] > rows[right, word]
    return False


@bare_kernel
def distinct_rows(rows: Any, count: int, words: int) -> Any:
    """Sort the rows, the greatest first, and keep each once; how many are left. The row behind the last is scratch."""
    for row in range(1, count):
        _copy(rows, row, MOST_ROWS, words)
        at = row
        while at > 0 and _is_greater(rows, MOST_ROWS, at - 1, words):
            _copy(rows, at - 1, at, words)
            at -= 1
        _copy(rows, MOST_ROWS, at, words)
    kept = 1
    for row in range(1, count):
        if _is_greater(rows, kept - 1, row, words):
            _copy(rows, row, kept, words)
            kept += 1
    return min(kept, count)


@bare_kernel
def _collect(work: Any, leaves: Any, rows: Any, row: int, count: int) -> Any:
    """Write the leaves of a row; how many it has."""
    held = 0
    for place in range(count):
        if has_bit(rows, row, place):
            work.leaves[held] = work.local[place]
            held += 1
    return held


@bare_kernel
def met(work: Any, leaves: Any, state: Any, ranks: Any, held: int) -> Any:
    """Fold the leaves work.leaves[:held] of each attribute into one; how many there are then, -1 if nothing passes."""
    by_attribute(leaves, work.leaves, held)
    kept = first = 0
    while first < held:
        stop = first + 1
        while stop < held and leaves.keys[work.leaves[stop]] == leaves.keys[work.leaves[first]]:
            stop += 1
        leaf = work.leaves[first]
        if stop - first > 1:
            leaf = combined(leaves, state, ranks, work.leaves, first, stop, 1, work.buffers)
            if is_empty(leaves, leaf):
                return -1
        work.leaves[kept] = leaf
        kept += 1
        first = stop
    return kept


@bare_kernel
def _keep_row(work: Any, leaves: Any, state: Any, held: int, listed: int, count: int) -> Any:
    """Note the leaves work.leaves[:held] as a row of the next round; how many leaves are listed and known then."""
    if listed + held + 1 > len(work.listed):
        state[FAILED] = 1
        return listed, count
    work.listed[listed] = held
    for place in range(held):
        leaf = work.leaves[place]
        work.listed[listed + 1 + place] = leaf
        if leaves.stamps[leaf] != state[STAMP]:
            leaves.stamps[leaf] = state[STAMP]
            if count < MOST_LEAVES:
                work.next_local[count] = leaf
            count += 1
    return listed + 1 + held, count


@bare_kernel
def _next_round(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, listed: int, count: int) -> Any:
    """Make rows of what was listed; how many rows, leaves and words there are then."""
    if count > MOST_LEAVES:
        state[FAILED] = 1
        return 0, 0, 1
    for place in range(count):
        work.local[place] = work.next_local[place]
    words = in_order(work, leaves, state, ranks, key_ranks, count)
    made = at = 0
    while at < listed:
        clear_row(work.rows, made, words)
        for place in range(work.listed[at]):
            set_bit(work.rows, made, leaves.numbers[work.listed[at + 1 + place]])
        at += 1 + work.listed[at]
        made += 1
    return distinct_rows(work.rows, made, words), count, words


@bare_kernel
def with_meets(
    work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, rows: int, count: int, words: int
) -> Any:
    """Fold the leaves of one attribute in each row, and drop rows that nothing satisfies."""
    repeated = False
    for row in range(rows if has_repeated(work, leaves, work.local, count) else 0):
        held = _collect(work, leaves, work.rows, row, count)
        repeated = repeated or has_repeated(work, leaves, work.leaves, held)
    if not repeated:
        return rows, count, words
    state[STAMP] += 1
    listed = known = 0
    for row in range(rows):
        held = met(work, leaves, state, ranks, _collect(work, leaves, work.rows, row, count))
        if held >= 0 and not state[FAILED]:
            listed, known = _keep_row(work, leaves, state, held, listed, known)
    return _next_round(work, leaves, state, ranks, key_ranks, listed, known)


@bare_kernel
def with_singles_joined(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, rows: int, count: int,
                        words: int) -> Any:  # fmt: skip
    """Join rows of one leaf each where they share the attribute; one that accepts all leaves a single empty row."""
    singles = 0
    for row in range(rows if has_repeated(work, leaves, work.local, count) else 0):
        if _collect(work, leaves, work.rows, row, count) == 1:
            work.singles[singles] = work.leaves[0]
            singles += 1
    if singles < 2 or not has_repeated(work, leaves, work.singles, singles):
        return rows, count, words
    by_attribute(leaves, work.singles, singles)
    state[STAMP] += 1
    listed = known = first = 0
    while first < singles:
        stop = first + 1
        while stop < singles and leaves.keys[work.singles[stop]] == leaves.keys[work.singles[first]]:
            stop += 1
        work.leaves[0] = work.singles[first]
        if stop - first > 1:
            work.leaves[0] = combined(leaves, state, ranks, work.singles, first, stop, 0, work.buffers)
            if is_full(leaves, work.leaves[0]):
                clear_row(work.rows, 0, 1)
                return 1, 0, 1
        listed, known = _keep_row(work, leaves, state, 1, listed, known)
        first = stop
    for row in range(rows):
        held = _collect(work, leaves, work.rows, row, count)
        if held != 1:
            listed, known = _keep_row(work, leaves, state, held, listed, known)
    return _next_round(work, leaves, state, ranks, key_ranks, listed, known)


@bare_kernel
def _bring_along(work: Any, leaves: Any, ranks: Any, rows: int, count: int, words: int) -> None:
    """Add to each row, in `brought`, the leaves that hold wherever one of its own of the same attribute does."""
    for row in range(rows):
        for word in range(words):
            work.brought[row, word] = work.rows[row, word]
    if not has_repeated(work, leaves, work.local, count):
        return
    for place in range(count):
        leaf = work.local[place]
        for other in range(count):
            wide = work.local[other]
            if other == place or leaves.keys[wide] != leaves.keys[leaf] or not accepts_only(leaves, ranks, leaf, wide):
                continue
            for row in range(rows):
                if has_bit(work.rows, row, place):
                    set_bit(work.brought, row, other)


@bare_kernel
def uncovered(work: Any, leaves: Any, state: Any, ranks: Any, rows: int, count: int, words: int) -> Any:
    """Without rows all of whose events satisfy another one; how many are left, in order."""
    total = 0
    for row in range(rows):
        for word in range(words):
            total += bit_count(work.rows[row, word])
    if rows > COMPARISON_BUDGET // (1 + total):
        state[FAILED] = 1
        return 0
    _bring_along(work, leaves, ranks, rows, count, words)
    for row in range(rows):
        work.covered[row] = 0
        for wide in range(rows):
            word = 0
            while word < words and work.rows[wide, word] & ~work.brought[row, word] == np.uint64(0):
                word += 1
            if word == words and wide != row:
                work.covered[row] = 1
                break
    kept = 0
    for row in range(rows):
        if not work.covered[row]:
            _copy(work.rows, row, kept, words)
            kept += 1
    return kept
