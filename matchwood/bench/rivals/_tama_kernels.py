"""Kernels of TAMA: for each attribute a hierarchy of cells, an interval in the fewest cells that cover it."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.bench.rivals._bucket_kernels import append, room_wanted, take_out
from matchwood.core.jit import kernel

INSERT, REMOVE, ROOM = 0, 1, 2


@kernel
def _cell(value: Any, span: int, levels: int) -> Any:
    """The cell of the finest level that a value lies in."""
    return np.int64(value) * (1 << (levels - 1)) // (span + 1)


@kernel
def _cover(
    lists: Any, attribute: int, low: Any, high: Any, span: int, levels: int, rule: int, action: int, steps: Any
) -> Any:
    """Walk the cells that cover an interval, from the finest level up; those at its ends may reach beyond it."""
    first, last = _cell(low, span, levels), _cell(high, span, levels) + 1
    base, wanted = attribute * (1 << levels), 0
    for level in range(levels - 1, -1, -1):
        if first >= last:
            break
        for side in range(2):
            if (side == 0 and first & 1 == 1) or (side == 1 and last & 1 == 1) or level == 0:
                if first >= last:
                    break
                cell = first if side == 0 else last - 1
                bucket = base + (1 << level) + cell
                if action == INSERT:
                    append(lists, bucket, rule)
                elif action == REMOVE:
                    steps[2] += take_out(lists, bucket, rule)
                else:
                    wanted += room_wanted(lists, bucket)
                if side == 0:
                    first += 1
                else:
                    last -= 1
        first, last = first >> 1, last >> 1
    return wanted


@kernel
def insert(lists: Any, low: Any, high: Any, span: int, levels: int, first: int, last: int, steps: Any) -> int:
    for rule in range(first, last):
        wanted = 0
        for attribute in range(low.shape[1]):
            ends = low[rule, attribute], high[rule, attribute]
            wanted += _cover(lists, attribute, ends[0], ends[1], span, levels, rule, ROOM, steps)
        if lists.used[0] + wanted > len(lists.pool):
            return rule
        for attribute in range(low.shape[1]):
            ends = low[rule, attribute], high[rule, attribute]
            _cover(lists, attribute, ends[0], ends[1], span, levels, rule, INSERT, steps)
    return last


@kernel
def remove(lists: Any, low: Any, high: Any, span: int, levels: int, rules: Any, steps: Any) -> None:
    for rule in rules:
        for attribute in range(low.shape[1]):
            ends = low[rule, attribute], high[rule, attribute]
            _cover(lists, attribute, ends[0], ends[1], span, levels, rule, REMOVE, steps)


@kernel
def match(lists: Any, span: int, levels: int, values: Any, counters: Any, output: Any, steps: Any) -> int:
    """Count the attributes on which each rule has a cell of the value; steps count cells and entries."""
    starts, counts, pool, attributes = lists.starts, lists.counts, lists.pool, len(values)
    for rule in range(len(counters)):
        counters[rule] = 0
    for attribute in range(attributes):
        finest = _cell(values[attribute], span, levels)
        for level in range(levels):
            bucket = attribute * (1 << levels) + (1 << level) + (finest >> (levels - 1 - level))
            for place in range(starts[bucket], starts[bucket] + counts[bucket]):
                counters[np.uint64(np.uint32(pool[np.uint64(place)]))] += np.uint8(1)
            steps[0] += 1
            steps[1] += counts[bucket]
    found = 0
    for rule in range(len(counters)):
        output[found] = rule
        found += counters[rule] == attributes
    return found
