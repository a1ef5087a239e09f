"""Kernels of REIN: for each attribute buckets of lower ends and of upper ones; what a value excludes is marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.bench.rivals._bucket_kernels import append, room_wanted, take_out
from matchwood.core.jit import kernel


@kernel
def _bucket(attribute: int, side: int, value: Any, span: int, buckets: int) -> Any:
    return (2 * attribute + side) * buckets + np.int64(value) * buckets // (span + 1)


@kernel
def insert(lists: Any, low: Any, high: Any, span: int, buckets: int, first: int, last: int) -> int:
    for rule in range(first, last):
        wanted = 0
        for attribute in range(low.shape[1]):
            wanted += room_wanted(lists, _bucket(attribute, 0, low[rule, attribute], span, buckets))
            wanted += room_wanted(lists, _bucket(attribute, 1, high[rule, attribute], span, buckets))
        if lists.used[0] + wanted > len(lists.pool):
            return rule
        for attribute in range(low.shape[1]):
            append(lists, _bucket(attribute, 0, low[rule, attribute], span, buckets), rule)
            append(lists, _bucket(attribute, 1, high[rule, attribute], span, buckets), rule)
    return last


@kernel
def remove(lists: Any, low: Any, high: Any, span: int, buckets: int, rules: Any, steps: Any) -> None:
    for rule in rules:
        for attribute in range(low.shape[1]):
            steps[2] += take_out(lists, _bucket(attribute, 0, low[rule, attribute], span, buckets), rule)
            steps[2] += take_out(lists, _bucket(attribute, 1, high[rule, attribute], span, buckets), rule)


@kernel
def match(
    lists: Any, low: Any, high: Any, span: int, buckets: int, values: Any, live: Any, bits: Any, output: Any, steps: Any
) -> int:
    """`live` has a bit for every rule that is in; steps count the marks set, and the rules compared in a value's own
    buckets."""
    starts, counts, pool = lists.starts, lists.counts, lists.pool
    for word in range(len(bits)):
        bits[word] = live[word]
    marked, compared = 0, 0
    for attribute in range(len(values)):
        value = values[attribute]
        own_low, own_high = (
            _bucket(attribute, 0, value, span, buckets),
            _bucket(attribute, 1, value, span, buckets),
        )
        for bucket in range(own_low + 1, (2 * attribute + 1) * buckets):
            for place in range(starts[bucket], starts[bucket] + counts[bucket]):
                rule = np.uint64(np.uint32(pool[np.uint64(place)]))
                bits[rule >> np.uint64(6)] &= ~(np.uint64(1) << (rule & np.uint64(63)))
            marked += counts[bucket]
        for bucket in range((2 * attribute + 1) * buckets, own_high):
            for place in range(starts[bucket], starts[bucket] + counts[bucket]):
                rule = np.uint64(np.uint32(pool[np.uint64(place)]))
                bits[rule >> np.uint64(6)] &= ~(np.uint64(1) << (rule & np.uint64(63)))
            marked += counts[bucket]
        for bucket in (own_low, own_high):
            for place in range(starts[bucket], starts[bucket] + counts[bucket]):
                compared += 1
                rule = np.uint64(np.uint32(pool[np.uint64(place)]))
                if low[rule, attribute] > value or high[rule, attribute] < value:
                    bits[rule >> np.uint64(6)] &= ~(np.uint64(1) << (rule & np.uint64(63)))
    steps[0] += marked
    steps[1] += compared
    found = 0
    for word in range(len(bits)):
        left, unmarked = bits[word], 64 * word
        while left != 0:
            if left & np.uint64(1) != 0:
                output[found] = unmarked
                found += 1
            left >>= np.uint64(1)
            unmarked += 1
    return found
