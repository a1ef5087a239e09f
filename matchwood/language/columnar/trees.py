"""Trees of many rules in columns, read from the bytes of their texts by kernels.

What a predicate means is not known here: it is an attribute's name and a *test*, the bytes behind the name (or before
it, as in `5 < age`), and both are spans of the texts. Whatever the kernels do not take has no nodes, and is for the
parser, which also has the words for what is wrong: quoted names, `escape`, casts, names in other letters than ASCII's,
more than 64 open parentheses, texts of more than 20,000 bytes, and every mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.language.columnar._tree_kernels import GROUP, MOST_OPEN, SPARE, read_rules
from matchwood.language.limits import MAX_DEPTH

LONGEST = MAX_DEPTH
"""Bytes of a text that is read here: a shorter one cannot nest too deep."""

AT_ONCE, ROOM = 4_096, 1 << 16
"""Rules that are read before their predicates are handed on, and the most of these: few enough that they are still in
the caches then, and that the memory for them is cleared by the system once and not for all rules."""

_BYTES_A_NODE = 12
"""Most rules have fewer nodes; for others there is more room when they come."""


class _Texts(NamedTuple):
    """The bytes of all rules, where each begins and how long it is, and which are to be read."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    given: NDArray[np.bool_]


class _Nodes(NamedTuple):
    kinds: NDArray[np.int8]
    arguments: NDArray[np.int32]
    sizes: NDArray[np.int32]


class PredicateSpans(NamedTuple):
    """Predicates in the order of the texts: where each begins and how long it is, and so its name and its test.

    `reversed_`  whether its constant stands before the attribute
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    names: NDArray[np.int64]
    name_lengths: NDArray[np.int32]
    tests: NDArray[np.int64]
    test_lengths: NDArray[np.int32]
    reversed_: NDArray[np.bool_]


class RuleTrees(NamedTuple):
    """Nodes of all rules, operands before the node that holds them.

    `kinds`      as `_tree_kernels` names them
    `arguments`  of each node: the number of its predicate, its constant, its truth test, or how many operands it has
    `sizes`      nodes of the tree below each, itself counted
    `node_ends`, `predicate_ends`  where those of each rule end; a rule without nodes was not read
    """

    kinds: NDArray[np.int8]
    arguments: NDArray[np.int32]
    sizes: NDArray[np.int32]
    node_ends: NDArray[np.int64]
    predicate_ends: NDArray[np.int64]


def read_trees(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int32],
    given: NDArray[np.bool_],
    take: Callable[[PredicateSpans], None],
) -> RuleTrees:
    """The trees of those texts data[starts[i] : starts[i] + lengths[i]] that are given.

    Their predicates are handed to `take`, some at a time; what it gets is written over afterwards.

    >>> text, found = np.frombuffer(b"age > 5 and not vip", np.uint8), []
    >>> given = np.array([0]), np.array([19], np.int32), np.array([True])
    >>> trees = read_trees(text, *given, lambda spans: found.extend(spans.names.tolist()))
    >>> trees.kinds.tolist(), trees.sizes.tolist(), found
    ([0, 0, 2, 3], [1, 1, 2, 4], [0, 16])
    """
    texts = _Texts(data, starts, lengths, given)
    node_ends, predicate_ends = (np.empty(len(starts), np.int64) for _ in range(2))
    longest = min(LONGEST, int(lengths.max(initial=0))) // 2 + SPARE
    nodes = _Nodes(np.empty(0, np.int8), np.empty(0, np.int32), np.empty(0, np.int32))
    nodes = _with_room(nodes, 0, int(lengths.sum(dtype=np.int64)) // _BYTES_A_NODE + longest)
    found, groups = _spans(max(ROOM, longest)), np.empty((MOST_OPEN, GROUP), np.int64)
    count = known = first = 0
    while first < len(starts):
        last = min(first + AT_ONCE, len(starts))
        first, count, more = read_rules(
            texts, LONGEST, first, last, nodes, count, found, known, node_ends, predicate_ends, groups
        )
        take(PredicateSpans._make(column[:more] for column in found))
        known += more
        if count + longest > len(nodes.kinds):
            nodes = _with_room(nodes, count, count + count // 2 + longest)
    return RuleTrees(nodes.kinds[:count], nodes.arguments[:count], nodes.sizes[:count], node_ends, predicate_ends)


def _spans(room: int) -> PredicateSpans:
    begins, names, tests = (pooled(room, np.int64) for _ in range(3))
    whole, name_lengths, test_lengths = (pooled(room, np.int32) for _ in range(3))
    return PredicateSpans(begins, whole, names, name_lengths, tests, test_lengths, pooled(room, np.bool_))


def _with_room(nodes: _Nodes, count: int, room: int) -> _Nodes:
    """The first of these nodes, with room for so many."""
    larger = _Nodes(pooled(room, np.int8), pooled(room, np.int32), pooled(room, np.int32))
    larger.kinds[:count], larger.arguments[:count] = nodes.kinds[:count], nodes.arguments[:count]
    larger.sizes[:count] = nodes.sizes[:count]
    return larger
