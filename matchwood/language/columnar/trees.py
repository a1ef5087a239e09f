"""Trees of many rules in columns, read from the bytes of their texts by kernels.

What a predicate means is not known here: it is an attribute's name and a *test*, the bytes behind the name (or before
it, as in `5 < age`), and both are spans of the texts. Whatever the kernels do not take has no nodes, and is for the
parser, which also has the words for what is wrong: quoted names, `escape`, casts, names in other letters than ASCII's,
more than 64 open parentheses, texts of more than 20,000 bytes, and every mistake.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.language.columnar._tree_kernels import GROUP, MOST_OPEN, read_rules
from matchwood.language.limits import MAX_DEPTH

LONGEST = MAX_DEPTH
"""Bytes of a text that is read here: a shorter one cannot nest too deep."""


class _Nodes(NamedTuple):
    kinds: NDArray[np.int8]
    arguments: NDArray[np.int32]
    sizes: NDArray[np.int32]


class _Found(NamedTuple):
    """Predicates: where the name and the test of each begin, how long they are, and which comes first."""

    names: NDArray[np.int64]
    name_lengths: NDArray[np.int64]
    tests: NDArray[np.int64]
    test_lengths: NDArray[np.int64]
    reversed_: NDArray[np.bool_]


class RuleTrees(NamedTuple):
    """Nodes of all rules, operands before the node that holds them.

    `kinds`      as `_tree_kernels` names them
    `arguments`  of each node: the number of its predicate, its constant, its truth test, or how many operands it has
    `sizes`      nodes of the tree below each, itself counted
    `node_ends`, `predicate_ends`  where those of each rule end; a rule without nodes was not read
    `names`, `tests`  the spans of each predicate: first byte and length
    `reversed_`  whether its constant stands before the attribute
    """

    kinds: NDArray[np.int8]
    arguments: NDArray[np.int32]
    sizes: NDArray[np.int32]
    node_ends: NDArray[np.int64]
    predicate_ends: NDArray[np.int64]
    names: tuple[NDArray[np.int64], NDArray[np.int64]]
    tests: tuple[NDArray[np.int64], NDArray[np.int64]]
    reversed_: NDArray[np.bool_]


def read_trees(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int32], given: NDArray[np.bool_]
) -> RuleTrees:
    """The trees of those texts data[starts[i] : starts[i] + lengths[i]] that are given.

    >>> text = np.frombuffer(b"age > 5 and not vip", np.uint8)
    >>> trees = read_trees(text, np.array([0]), np.array([19], np.int32), np.array([True]))
    >>> trees.kinds.tolist(), trees.sizes.tolist(), trees.names[0].tolist()
    ([0, 0, 2, 3], [1, 1, 2, 4], [0, 16])
    """
    # Two predicates need five bytes, `a or b`; what stays unused is never touched.
    room = (int(lengths.sum(dtype=np.int64)) + 4 * len(starts)) // 2 + 4
    nodes = _Nodes(pooled(room, np.int8), pooled(room, np.int32), pooled(room, np.int32))
    names, name_lengths, tests, test_lengths = (pooled(room, np.int64) for _ in range(4))
    found = _Found(names, name_lengths, tests, test_lengths, pooled(room, np.bool_))
    ends = np.empty((len(starts), 2), np.int64)
    groups = np.empty((MOST_OPEN, GROUP), np.int64)
    count, known = read_rules(data, starts, lengths, given, LONGEST, nodes, found, ends, groups)
    taken = _Found._make(column[:known] for column in found)
    return RuleTrees(
        nodes.kinds[:count],
        nodes.arguments[:count],
        nodes.sizes[:count],
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        (taken.names, taken.name_lengths),
        (taken.tests, taken.test_lengths),
        taken.reversed_,
    )
