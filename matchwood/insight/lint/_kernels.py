"""Which conjunctions contain which: candidates by one access constraint, verified constraint by constraint.

A conjunction G contains S when G has no constraint that S does not meet: each of G's sets includes S's set on the
same attribute. So S names an attribute for every constraint of G, among them G's access constraint, and the
lowest label of S's set lies in G's. That label finds G in lists of dyadic blocks, like an event would.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import kernel
from matchwood.encoding.spaces.dyadic import LEVELS, ancestor, count_blocks, fill_blocks

NULL_CODE = 0
"""The code of the list for access constraints that accept NULL; blocks have positive codes."""


LOOK, COMPARISON = 4, 32
"""What it costs to look at a conjunction, and to compare it, in passed-over signatures: about half a nanosecond."""


@kernel
def block_key(attribute: Any, code: Any) -> Any:
    """A dyadic block of an attribute as one integer."""
    return (np.int64(attribute) << np.int64(32)) | np.int64(code)


@kernel
def access_constraints(offsets: Any, attributes: Any, pieces: Any, low: Any, high: Any, uses: Any, access: Any) -> None:
    """For each conjunction the constraint that fewest others find: rare attribute, narrow set; -1 if it has none."""
    for unit in range(len(offsets) - 1):
        best, access[unit] = np.inf, -1
        for constraint in range(offsets[unit], offsets[unit + 1]):
            width = 1.0
            for piece in range(pieces[constraint], pieces[constraint + 1]):
                width += np.float64(high[piece]) - np.float64(low[piece])
            cost = uses[attributes[constraint]] * width
            if cost < best:
                best, access[unit] = cost, constraint


@kernel
def post(
    access: Any, attributes: Any, accepts_null: Any, pieces: Any, low: Any, high: Any, keys: Any, units: Any
) -> int:
    """The blocks of all access constraints, as far as `keys` has room; returns how many there are."""
    count = 0
    for unit in range(len(access)):
        constraint = access[unit]
        if constraint < 0:
            continue
        if accepts_null[constraint]:
            if count < len(keys):
                keys[count], units[count] = block_key(attributes[constraint], NULL_CODE), unit
            count += 1
        for piece in range(pieces[constraint], pieces[constraint + 1]):
            found = count_blocks(low[piece], high[piece])
            if count + found <= len(keys):
                fill_blocks(low[piece], high[piece], keys, count)
                for number in range(count, count + found):
                    keys[number], units[number] = block_key(attributes[constraint], keys[number]), unit
            count += found
    return count


@kernel
def _includes(one: Any, other: Any, accepts_null: Any, pieces: Any, low: Any, high: Any) -> bool:
    """Whether the set of constraint `one` includes that of constraint `other`."""
    if accepts_null[other] and not accepts_null[one]:
        return False
    position, end = pieces[one], pieces[one + 1]
    for piece in range(pieces[other], pieces[other + 1]):
        while position < end and high[position] < high[piece]:
            position += 1
        if position == end or low[position] > low[piece]:
            return False
    return True


@kernel
def _contains(
    one: Any, other: Any, offsets: Any, attributes: Any, accepts_null: Any, pieces: Any, low: Any, high: Any
) -> bool:
    """Whether conjunction `one` is true whenever `other` is; constraints are ordered by attribute."""
    position, end = offsets[other], offsets[other + 1]
    for constraint in range(offsets[one], offsets[one + 1]):
        while position < end and attributes[position] < attributes[constraint]:
            position += 1
        if position == end or attributes[position] != attributes[constraint]:
            return False
        if not _includes(constraint, position, accepts_null, pieces, low, high):
            return False
    return True


@kernel
def attribute_signatures(offsets: Any, attributes: Any, signatures: Any) -> None:
    """The attributes of each conjunction as 64 bits; several may share one."""
    one = np.uint64(1)
    for unit in range(len(offsets) - 1):
        signature = np.uint64(0)
        for constraint in range(offsets[unit], offsets[unit + 1]):
            signature |= one << np.uint64(attributes[constraint] & 63)
        signatures[unit] = signature


class BlockLists(NamedTuple):
    """Conjunctions by the blocks of their access constraints.

    `keys`    distinct and sorted; list k is units[starts[k] : starts[k + 1]]
    `posted`  the signatures of these units
    `levels`  by attribute: the levels in use, as bits
    """

    keys: NDArray[np.int64]
    starts: NDArray[np.int64]
    units: NDArray[np.int64]
    posted: NDArray[np.uint64]
    levels: NDArray[np.int64]


@kernel
def find_contained(conjunctions: Any, lists: BlockLists, signatures: Any, order: Any, budget: int, first: Any) -> int:
    """For each conjunction the first one, by `order`, that it contains, into `first` (-1 if none).

    A conjunction with order -1 is not asked for. Returns how many gave up because their effort was beyond the budget.

    Signatures lie in the order in which they are read: on 200,000 rules of 7 constraints, of which some 10,000 share
    a block with each, they made the search ten times faster. The effort of passing over one is counted as 1.
    """
    offsets, attributes, accepts_null = conjunctions.offsets, conjunctions.attributes, conjunctions.accepts_null
    pieces, low, high = conjunctions.pieces, conjunctions.low, conjunctions.high
    keys, starts, units, posted, levels = lists
    gave_up = 0
    for unit in range(len(offsets) - 1):
        if order[unit] < 0:
            continue
        effort = 0
        absent = ~signatures[unit]
        for constraint in range(offsets[unit], offsets[unit + 1]):
            attribute = attributes[constraint]
            some = pieces[constraint] < pieces[constraint + 1]
            for level in range(LEVELS):
                if (some and not (levels[attribute] >> level) & 1) or (level and not some):
                    continue
                key = block_key(attribute, ancestor(low[pieces[constraint]], level) if some else NULL_CODE)
                where = np.searchsorted(keys, key)
                if where == len(keys) or keys[where] != key:
                    continue
                effort += starts[where + 1] - starts[where]
                if effort > budget:
                    break
                for position in range(starts[where], starts[where + 1]):
                    if posted[position] & absent != 0:
                        continue
                    wide = units[position]
                    effort += LOOK
                    if wide == unit or (first[wide] >= 0 and order[first[wide]] <= order[unit]):
                        continue
                    effort += COMPARISON
                    if _contains(wide, unit, offsets, attributes, accepts_null, pieces, low, high):
                        first[wide] = unit
        gave_up += effort > budget
    return gave_up
