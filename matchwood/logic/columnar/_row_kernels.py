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
_SHORT_STEP = 12
"""Rows that are so few or lie so near are sorted one by one."""

COMPARISON_BUDGET = 1 << 21
"""As in `conjunctions.py`: where that would leave out comparisons, the rule goes the way of single rules."""


@bare_kernel
def in_order(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, count: int) -> Any:
    """Sort the leaves work.local[:count] into canonical order, and number them so; the words that a row needs."""
    if count > MOST_LEAVES:
        state[FAILED] = 1
        return 1
    local, of_keys = work.local, work.given
    for place in range(count):
        leaf, at = local[place], place
        rank = key_ranks[leaves.keys[leaf]]
        while at > 0 and (
            rank < of_keys[at - 1]
            or (rank == of_keys[at - 1] and is_before(leaves, ranks, key_ranks, leaf, local[at - 1]))
        ):
            local[at], of_keys[at] = local[at - 1], of_keys[at - 1]
            at -= 1
        local[at], of_keys[at] = leaf, rank
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
def _distinct_words(rows: Any, count: int, flat: Any) -> Any:
    """The same for rows of one word, which lie side by side meanwhile: sorted in steps that get shorter."""
    for row in range(count):
        flat[row] = rows[row, 0]
    step = count
    while step > 1:
        step = 1 if step < _SHORT_STEP else step // 3
        for row in range(step, count):
            word, at = flat[row], row
            while at >= step and flat[at - step] < word:
                flat[at] = flat[at - step]
                at -= step
            flat[at] = word
    kept = 0
    for row in range(count):
        if row == 0 or flat[row] != flat[row - 1]:
            rows[kept, 0] = flat[row]
            kept += 1
    return kept


@bare_kernel
def distinct_rows(work: Any, count: int, words: int) -> Any:
    """Sort the rows, the greatest first, and keep each once; how many are left. The row behind the last is scratch."""
    rows = work.rows
    if words == 1:
        return _distinct_words(rows, count, work.beside)
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
    return distinct_rows(work, made, words), count, words


@bare_kernel
def _shared_keys(work: Any, leaves: Any, count: int) -> Any:
    """Write for each attribute that has several of the leaves work.local[:count] the bits of these; how many there are.

    Leaves stand in canonical order, and a row has one word.
    """
    found = first = 0
    for place in range(1, count + 1):
        if place < count and leaves.keys[work.local[place]] == leaves.keys[work.local[first]]:
            continue
        if place - first > 1:
            above = ~np.uint64(0) >> np.uint64(first)
            below = ~np.uint64(0) >> np.uint64(place) if place < 64 else np.uint64(0)
            work.shared[found] = above ^ below
            found += 1
        first = place
    return found


@bare_kernel
def _any_meets(work: Any, leaves: Any, rows: int, count: int, words: int) -> Any:
    """Whether a row has two leaves of one attribute."""
    if words > 1:
        for row in range(rows if has_repeated(work, leaves, work.local, count) else 0):
            if has_repeated(work, leaves, work.leaves, _collect(work, leaves, work.rows, row, count)):
                return True
        return False
    for key in range(_shared_keys(work, leaves, count)):
        for row in range(rows):
            held = work.rows[row, 0] & work.shared[key]
            if held & (held - np.uint64(1)) != np.uint64(0):
                return True
    return False


@bare_kernel
def with_meets(
    work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, rows: int, count: int, words: int
) -> Any:
    """Fold the leaves of one attribute in each row, and drop rows that nothing satisfies."""
    if not _any_meets(work, leaves, rows, count, words):
        return rows, count, words
    state[STAMP] += 1
    listed = known = 0
    for row in range(rows):
        held = met(work, leaves, state, ranks, _collect(work, leaves, work.rows, row, count))
        if held >= 0 and not state[FAILED]:
            listed, known = _keep_row(work, leaves, state, held, listed, known)
    return _next_round(work, leaves, state, ranks, key_ranks, listed, known)


@bare_kernel
def _is_single(rows: Any, row: int, words: int) -> Any:
    """Whether a row may have one leaf only."""
    return words > 1 or rows[row, 0] & (rows[row, 0] - np.uint64(1)) == np.uint64(0)


@bare_kernel
def with_singles_joined(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, rows: int, count: int,
                        words: int) -> Any:  # fmt: skip
    """Join rows of one leaf each where they share the attribute; one that accepts all leaves a single empty row."""
    singles = 0
    for row in range(rows if has_repeated(work, leaves, work.local, count) else 0):
        if _is_single(work.rows, row, words) and _collect(work, leaves, work.rows, row, count) == 1:
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
        leaf, first, last = work.local[place], place, place + 1
        # Leaves of one attribute stand together.
        while first > 0 and leaves.keys[work.local[first - 1]] == leaves.keys[leaf]:
            first -= 1
        while last < count and leaves.keys[work.local[last]] == leaves.keys[leaf]:
            last += 1
        for other in range(first, last):
            if other == place or not accepts_only(leaves, ranks, leaf, work.local[other]):
                continue
            for row in range(rows):
                if has_bit(work.rows, row, place):
                    set_bit(work.brought, row, other)


@bare_kernel
def _find_covered_words(rows: Any, brought: Any, count: int, flat: Any, covered: Any) -> None:
    """Which rows of one word hold all leaves of another one: without a branch, several at a time."""
    for row in range(count):
        flat[row] = rows[row, 0]
    for row in range(count):
        outside, held = ~brought[row, 0], np.int64(0)
        for wide in range(count):
            held += np.int64(flat[wide] & outside == np.uint64(0))
        covered[row] = held > 1  # each holds its own


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
    if words == 1:
        _find_covered_words(work.rows, work.brought, rows, work.beside, work.covered)
    for row in range(rows if words > 1 else 0):
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
