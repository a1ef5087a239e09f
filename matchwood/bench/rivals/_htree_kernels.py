"""Kernels of H-TREE: the cells of a few attributes make a tree, whose leaves hold the rules that reach into them."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.bench.rivals._bucket_kernels import append, room_wanted, take_out
from matchwood.core.jit import kernel

INSERT, REMOVE, ROOM = 0, 1, 2


@kernel
def _leaves(
    lists: Any,
    low: Any,
    high: Any,
    span: int,
    cells: int,
    indexed: int,
    rule: int,
    action: int,
    chosen: Any,
    steps: Any,
) -> Any:
    """Walk all leaves that a rule reaches into: one for each choice of a cell on every indexed attribute."""
    wanted = 0
    for attribute in range(indexed):
        chosen[attribute] = np.int64(low[rule, attribute]) * cells // (span + 1)
    while True:
        leaf = np.int64(0)
        for attribute in range(indexed):
            leaf = leaf * cells + chosen[attribute]
        if action == INSERT:
            append(lists, leaf, rule)
        elif action == REMOVE:
            steps[2] += take_out(lists, leaf, rule)
        else:
            wanted += room_wanted(lists, leaf)
        attribute = indexed - 1
        while attribute >= 0:
            chosen[attribute] += 1
            if chosen[attribute] <= np.int64(high[rule, attribute]) * cells // (span + 1):
                break
            chosen[attribute] = np.int64(low[rule, attribute]) * cells // (span + 1)
            attribute -= 1
        if attribute < 0:
            return wanted


@kernel
def insert(
    lists: Any, low: Any, high: Any, span: int, cells: int, indexed: int, first: int, last: int, steps: Any
) -> int:
    chosen = np.empty(indexed, np.int64)
    for rule in range(first, last):
        wanted = _leaves(lists, low, high, span, cells, indexed, rule, ROOM, chosen, steps)
        if lists.used[0] + wanted > len(lists.pool):
            return rule
        _leaves(lists, low, high, span, cells, indexed, rule, INSERT, chosen, steps)
    return last


@kernel
def remove(lists: Any, low: Any, high: Any, span: int, cells: int, indexed: int, rules: Any, steps: Any) -> None:
    chosen = np.empty(indexed, np.int64)
    for rule in rules:
        _leaves(lists, low, high, span, cells, indexed, rule, REMOVE, chosen, steps)


@kernel
def match(
    lists: Any, low: Any, high: Any, span: int, cells: int, indexed: int, values: Any, output: Any, steps: Any
) -> int:
    """Verify the rules of the one leaf that an event falls into; steps count the nodes on the way and those rules."""
    leaf, found = np.int64(0), 0
    for attribute in range(indexed):
        leaf = leaf * cells + np.int64(values[attribute]) * cells // (span + 1)
    steps[0] += indexed
    start, count = lists.starts[leaf], lists.counts[leaf]
    steps[1] += count
    for place in range(start, start + count):
        rule = lists.pool[place]
        holds = True
        for attribute in range(len(values)):
            if low[rule, attribute] > values[attribute] or high[rule, attribute] < values[attribute]:
                holds = False
                break
        if holds:
            output[found] = rule
            found += 1
    return found
