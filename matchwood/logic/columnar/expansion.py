"""Rules in columns to conjunctions in columns: what `route.py` makes of single rules, for many of them at once.

What stands in a rule's tree is known by numbers: predicates, attributes (`keys`) and cuts. Whoever numbers them tells
their order: cuts of one attribute by their values, keys by their names. Leaves are numbered here, each distinct one
once, and kept from one call to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.core._interning_kernels import enter_hashes
from matchwood.language import RuleTrees
from matchwood.logic.columnar import _builder_kernels as building
from matchwood.logic.columnar import _row_kernels as rows
from matchwood.logic.columnar import _rule_kernels as rules
from matchwood.logic.columnar._builder_kernels import LEAF_BASE
from matchwood.logic.columnar._builder_kernels import UNKNOWN as UNKNOWN_ANSWER
from matchwood.logic.columnar._leaf_kernels import COUNT, EMPTY_SLOT, MOST_CUTS
from matchwood.logic.columnar._rule_kernels import AND_ALONE, ANY_RULE, AS_WRITTEN, OR_OF_ANDS, expand_rules
from matchwood.logic.columnar._walk_kernels import MOST_PENDING, NO_VERDICT, VERDICT_FALSE, VERDICT_TRUE

__all__ = [
    "AND_ALONE",
    "ANY_RULE",
    "AS_WRITTEN",
    "LEAF_BASE",
    "NO_VERDICT",
    "OR_OF_ANDS",
    "UNKNOWN_ANSWER",
    "VERDICT_FALSE",
    "VERDICT_TRUE",
]

LARGEST_LIMIT = 65_536
"""Limits of conjunctions up to which sizes are estimated here."""


class PredicateColumns(NamedTuple):
    """What predicates are bound to; several may share a binding.

    `bindings`, `keys`  of each predicate
    `ends`, `cuts`      the cuts of binding b are cuts[ends[b] : ends[b + 1]]
    `verdicts`          of each binding for NULL
    `answers`           of each predicate to the four questions, UNKNOWN until asked; filled in by the kernels
    """

    bindings: NDArray[np.int32]
    keys: NDArray[np.int32]
    ends: NDArray[np.int64]
    cuts: NDArray[np.int32]
    verdicts: NDArray[np.int8]
    answers: NDArray[np.int64]


class _Tree(NamedTuple):
    kinds: NDArray[np.int8]
    arguments: NDArray[np.int32]
    sizes: NDArray[np.int32]


class _Leaves(NamedTuple):
    keys: NDArray[np.int32]
    nulls: NDArray[np.uint8]
    ends: NDArray[np.int64]
    cuts: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    slots: NDArray[np.int32]
    stamps: NDArray[np.int64]
    numbers: NDArray[np.int32]
    key_marks: NDArray[np.int64]


class _Given(NamedTuple):
    """What rules are expanded by.

    `ends`          where the nodes of each rule end
    `predicate_of`  the number of each predicate of the trees
    `state`         counters of `_leaf_kernels.py`: leaves, nodes, whether the rule at hand has failed
    `ranks`, `key_ranks`  the order of cuts, and of attributes
    """

    tree: _Tree
    ends: NDArray[np.int64]
    predicates: PredicateColumns
    predicate_of: NDArray[np.int32]
    leaves: _Leaves
    state: NDArray[np.int64]
    ranks: NDArray[np.int64]
    key_ranks: NDArray[np.int64]


class _Output(NamedTuple):
    """Where rows go.

    `leaves`     the leaves of all rows, and `row_ends` where those of each end
    `rule_rows`  the rows of each rule, -1 for one that is not taken
    `done`       how many leaves and rows were written so far
    `terms`, `row_terms`  of rules taken AS_WRITTEN: the term of each predicate, and that which each row is
    """

    leaves: NDArray[np.int32]
    row_ends: NDArray[np.int64]
    rule_rows: NDArray[np.int64]
    done: NDArray[np.int64]
    terms: NDArray[np.int32]
    row_terms: NDArray[np.int32]


def _work_type() -> np.dtype[Any]:
    """Scratch memory for one rule, as a record: kernels take one pointer in the place of 25 arrays."""
    tree, nodes, words = rules.MOST_TREE + 8, building.MOST_NODES + 1, rows.MOST_WORDS
    every, held = rows.MOST_ROWS + 1, 2 * tree
    fields: list[tuple[str, Any, Any]] = [
        ("answers", np.int64, (tree, 4)),
        ("nest", np.int64, (held, 2)),
        ("pending", np.int64, (MOST_PENDING, 2)),
        ("given", np.int64, (tree,)),
        ("pairs", np.int64, (tree, 2)),
        ("kinds", np.int8, (nodes,)),
        ("leaf_of", np.int32, (nodes,)),
        ("child_ends", np.int32, (nodes + 1,)),
        ("children", np.int32, (building.MOST_CHILDREN,)),
        ("marks", np.int64, (nodes,)),
        ("members", np.int32, (nodes,)),
        ("leaves", np.int32, (held,)),
        ("turn", np.int64, (1,)),
        ("buffers", np.int32, (2, MOST_CUTS + 1)),
        ("reached", np.uint8, (nodes,)),
        ("sizes", np.int64, (nodes, 2)),
        ("row_starts", np.int64, (nodes,)),
        ("local", np.int32, (nodes,)),
        ("next_local", np.int32, (rows.MOST_LEAVES,)),
        ("listed", np.int32, (1 << 16,)),
        ("singles", np.int32, (held,)),
        ("expanded", np.uint64, (1 << 14, words)),
        ("rows", np.uint64, (every, words)),
        ("brought", np.uint64, (every, words)),
        ("covered", np.uint8, (every,)),
    ]
    return np.dtype(fields, align=True)


_NO_TERMS = np.empty(0, np.int32)


class ExpandedRules(NamedTuple):
    """Conjunctions of rules.

    `counts`   conjunctions of each rule, -1 for one that was not expanded
    `lengths`  leaves of each conjunction, rule by rule
    `leaves`   their numbers, in canonical order
    `terms`    if rules were taken AS_WRITTEN: in which of its rule's terms each predicate of the trees stands
    `row_terms`  and which of these each conjunction is
    """

    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    leaves: NDArray[np.int32]
    terms: NDArray[np.int32] = _NO_TERMS
    row_terms: NDArray[np.int32] = _NO_TERMS


class RuleExpander:
    """Expands rules, and numbers the leaves of their conjunctions."""

    def __init__(self) -> None:
        self._work: Any = np.zeros(1, _work_type()).view(np.recarray)[0]
        self._state = np.zeros(8, np.int64)
        room = 1 << 14
        self._leaves = _Leaves(
            np.zeros(room, np.int32),
            np.zeros(room, np.uint8),
            np.zeros(room + 1, np.int64),
            np.empty(1 << 18, np.int32),
            np.zeros(room, np.uint64),
            np.full(4 * room, EMPTY_SLOT, np.int32),
            np.zeros(room, np.int64),
            np.zeros(room, np.int32),
            np.zeros(1, np.int64),
        )
        # What a kernel takes where there is no room for a leaf: the first is of no rule.
        self._state[COUNT] = 1

    @property
    def count(self) -> int:
        """Leaves so far."""
        return int(self._state[COUNT])

    def leaf_columns(self) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]]:
        """Of all leaves: keys, whether NULL is accepted, and where the cuts of each end; and the cuts."""
        return self._leaves.keys, self._leaves.nulls, self._leaves.ends, self._leaves.cuts

    def expand(
        self,
        trees: RuleTrees,
        predicate_of: NDArray[np.int32],
        predicates: PredicateColumns,
        ranks: NDArray[np.int64],
        key_ranks: NDArray[np.int64],
        wanted: NDArray[np.bool_],
        limit: int,
        taking: int = ANY_RULE,
    ) -> ExpandedRules:
        """The conjunctions of the wanted rules that have at most `limit`, and are such as are taken."""
        if len(self._leaves.key_marks) < len(key_ranks):
            self._leaves = self._leaves._replace(key_marks=np.zeros(2 * len(key_ranks), np.int64))
        # Most leaves are those of single predicates: to grow is to copy all, into memory that has to be cleared first.
        cuts = int(np.diff(predicates.ends)[predicates.bindings].sum()) + len(predicates.bindings)
        self._make_room(len(predicates.bindings) + rules.RULE_LEAVES, cuts + rules.RULE_CUTS)
        counts = np.empty(len(wanted), np.int64)
        out = pooled(2 * len(predicate_of) + rules.RULE_OUT, np.int32)
        row_ends = pooled(2 * len(wanted) + rows.MOST_ROWS, np.int64)
        tree = _Tree(trees.kinds, trees.arguments, trees.sizes)
        told = taking == AS_WRITTEN
        terms, row_terms = np.zeros(told * len(predicate_of), np.int32), np.zeros(told * len(row_ends), np.int32)
        done, at = np.zeros(2, np.int64), 0
        while True:
            given = _Given(tree, trees.node_ends, predicates, predicate_of, self._leaves, self._state, ranks, key_ranks)
            output = _Output(out, row_ends, counts, done, terms, row_terms)
            at = expand_rules(given, self._work, wanted, limit, taking, at, output)
            if at == len(wanted):
                lengths = np.diff(row_ends[: done[1]], prepend=0)
                return ExpandedRules(counts, lengths, out[: done[0]], terms, row_terms[: told * int(done[1])])
            held = int(self._leaves.ends[self.count])
            self._make_room(2 * (self.count + rules.RULE_LEAVES), 2 * (held + rules.RULE_CUTS))
            out = _roomy(out, int(done[0]) + 2 * rules.RULE_OUT)
            row_ends = _roomy(row_ends, int(done[1]) + 2 * rows.MOST_ROWS)
            row_terms = _roomy(row_terms, told * len(row_ends))

    def _make_room(self, wanted: int, cuts: int) -> None:
        """Room for so many leaves and cuts, those there are included."""
        leaves, slots = self._leaves, self._leaves.slots
        if len(slots) < 2 * wanted:
            slots = np.full(1 << (2 * wanted).bit_length(), EMPTY_SLOT, np.int32)
        self._leaves = _Leaves(
            _roomy(leaves.keys, wanted),
            _roomy(leaves.nulls, wanted),
            _roomy(leaves.ends, wanted + 1),
            _roomy(leaves.cuts, cuts),
            _roomy(leaves.hashes, wanted),
            slots,
            _roomy(leaves.stamps, wanted),
            _roomy(leaves.numbers, wanted),
            leaves.key_marks,
        )
        if slots is not leaves.slots:
            enter_hashes(slots, self._leaves.hashes, self.count)


def _roomy(array: NDArray[Any], room: int) -> NDArray[Any]:
    """The same with room for so many elements at least."""
    if len(array) >= room:
        return array
    larger: NDArray[Any] = np.zeros(max(room, len(array) * 3 // 2), array.dtype)
    larger[: len(array)] = array
    return larger
