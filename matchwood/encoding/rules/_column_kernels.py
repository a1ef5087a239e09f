"""Kernels of `compiled_rules`: numbers by first use, and what rules ask of their attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel

ANY_KIND, REFUSED_KIND = 0, -1
"""The kinds of a predicate that only tests for NULL, and of one that could not be bound."""

KIND_BITS = 3

CUT_BITS, START_CUT = 32, 0
"""The bits below a key that hold the number of a cut, and the number of START."""


@bare_kernel
def number_by_first_use(numbers: Any, known: Any, places: Any, distinct: Any) -> Any:
    """For each number its place among the distinct ones, in the order in which they first come; how many these are.

    `known`  one element a number, all -1 before and after
    """
    count = 0
    for at in range(len(numbers)):
        number = numbers[at]
        if known[number] < 0:
            known[number] = count
            distinct[count] = number
            count += 1
        places[at] = known[number]
    for at in range(count):
        known[distinct[at]] = -1
    return count


@bare_kernel
def resolve_uses(
    predicate_ends: Any, name_of: Any, predicates: Any, kind_of: Any, wanted: Any, slots: Any, uses: Any, ends: Any
) -> Any:
    """The uses of each wanted rule, one an attribute, in the order of the text; a rule with unsound ones is not wanted.

    `name_of`, `kind_of`  the attribute and the kind of each predicate
    `slots`  one element a name, -1 before and after
    """
    count = first = 0
    for rule in range(len(predicate_ends)):
        begin = count
        for at in range(first, predicate_ends[rule] if wanted[rule] else first):
            name, kind = np.int64(name_of[predicates[at]]), kind_of[predicates[at]]
            slot = slots[name]
            if slot < 0:
                slots[name] = count
                uses[count] = name << KIND_BITS | max(kind, 0)
                count += 1
            elif kind > ANY_KIND:
                known = uses[slot] & (1 << KIND_BITS) - 1
                uses[slot] = name << KIND_BITS | kind
                if known != ANY_KIND and known != kind:
                    wanted[rule] = False
            wanted[rule] &= kind != REFUSED_KIND
        for slot in range(begin, count):
            slots[uses[slot] >> KIND_BITS] = -1
        if not wanted[rule]:
            count = begin
        ends[rule] = count
        first = predicate_ends[rule]
    return count


@bare_kernel
def tally_uses(uses: Any, ends: Any, wanted: Any, counts: Any, firsts: Any, met: Any) -> Any:
    """How many wanted rules have each use, and the first that has it; the uses in the order in which they are met."""
    count = 0
    for rule in range(len(ends)):
        if not wanted[rule]:
            continue
        for at in range(ends[rule - 1] if rule else 0, ends[rule]):
            use = uses[at]
            if counts[use] == 0:
                firsts[use] = rule
                met[count] = use
                count += 1
            counts[use] += 1
    return count


@bare_kernel
def drop_contrary(uses: Any, ends: Any, wanted: Any, kinds: Any) -> Any:
    """Want no rule that asks for another kind of an attribute than a wanted rule before it; how many were dropped.

    `kinds`  one element an attribute, ANY_KIND before
    """
    dropped = first = 0
    mask = (1 << KIND_BITS) - 1
    for rule in range(len(ends)):
        begin, first = first, ends[rule]
        if not wanted[rule]:
            continue
        for at in range(begin, first):
            kind, known = uses[at] & mask, kinds[uses[at] >> KIND_BITS]
            if kind != ANY_KIND and known != ANY_KIND and known != kind:
                wanted[rule] = False
        if not wanted[rule]:
            dropped += 1
            continue
        for at in range(begin, first):
            kind = uses[at] & mask
            if kind != ANY_KIND:
                kinds[uses[at] >> KIND_BITS] = kind
    return dropped


@bare_kernel
def gather_cuts(leaves: Any, key_of: Any, leaf_ends: Any, leaf_cuts: Any, starts: Any, pairs: Any) -> Any:
    """The cuts of leaves one behind the other: which are START, and of the others the pairs of key and cut.

    Returns how many pairs there are.
    """
    cut, count = 0, 0
    for place in range(len(leaves)):
        leaf, key = leaves[place], np.int64(key_of[place]) << CUT_BITS
        for own in range(leaf_ends[leaf], leaf_ends[leaf + 1]):
            number = np.int64(leaf_cuts[own])
            starts[cut] = number == START_CUT
            cut += 1
            if number != START_CUT:
                pairs[count] = key | number
                count += 1
    return count
