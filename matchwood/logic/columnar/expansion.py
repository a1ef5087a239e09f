"""Rules in columns to conjunctions in columns: what `route.py` makes of single rules, for many of them at once.

What stands in a rule's tree is known by numbers: predicates, attributes (`keys`) and cuts. Whoever numbers them tells
their order: cuts of one attribute by their values, keys by their names. Leaves are numbered here, each distinct one
once, and kept from one call to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled, pooled_full
from matchwood.core._interning_kernels import enter_hashes
from matchwood.language import RuleTrees
from matchwood.logic.columnar import _builder_kernels as building
from matchwood.logic.columnar import _row_kernels as rows
from matchwood.logic.columnar import _rule_kernels as rules
from matchwood.logic.columnar._builder_kernels import LEAF_BASE
from matchwood.logic.columnar._builder_kernels import UNKNOWN as UNKNOWN_ANSWER
from matchwood.logic.columnar._form_kernels import write_forms
from matchwood.logic.columnar._leaf_kernels import COUNT, EMPTY_SLOT, MOST_CUTS
from matchwood.logic.columnar._rule_kernels import ANY_RULE, AS_FORMS, AS_WRITTEN, OR_OF_ANDS, expand_rules
from matchwood.logic.columnar._walk_kernels import MOST_PENDING, NO_VERDICT, VERDICT_FALSE, VERDICT_TRUE
from matchwood.logic.columnar.shapes import FormShapes
from matchwood.logic.form import AND, OR

__all__ = [
    "ANY_RULE",
    "AS_FORMS",
    "AS_WRITTEN",
    "LEAF_BASE",
    "NO_VERDICT",
    "OR_OF_ANDS",
    "UNKNOWN_ANSWER",
    "VERDICT_FALSE",
    "VERDICT_TRUE",
]

_KINDS = np.zeros(2, np.int8)
_KINDS[building.AND], _KINDS[building.OR] = AND, OR
"""Kinds of a form's nodes, by those of the kernels."""

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
    `plain`         where each predicate is TRUE, if it was asked before: small enough for the caches
    """

    tree: _Tree
    ends: NDArray[np.int64]
    predicates: PredicateColumns
    predicate_of: NDArray[np.int32]
    leaves: _Leaves
    state: NDArray[np.int64]
    ranks: NDArray[np.int64]
    key_ranks: NDArray[np.int64]
    plain: NDArray[np.int64]


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


class _FormOutput(NamedTuple):
    """Where forms go.

    `leaves`, `row_ends`, `rule_rows`  as in `_Output`: the leaves of a form are a row
    `node_counts`  the inner nodes of each form; `kinds` and `child_counts` of each of these, and all `children`
    `done`         how many leaves, forms, inner nodes and children were written so far
    """

    leaves: NDArray[np.int32]
    row_ends: NDArray[np.int64]
    rule_rows: NDArray[np.int64]
    node_counts: NDArray[np.int32]
    kinds: NDArray[np.int8]
    child_counts: NDArray[np.int32]
    children: NDArray[np.int32]
    done: NDArray[np.int64]

    def roomy(self) -> _FormOutput:
        """The same with room for more."""
        return self._replace(
            leaves=_roomy(self.leaves, int(self.done[0]) + 2 * rules.RULE_OUT),
            kinds=_roomy(self.kinds, int(self.done[2]) + 2 * building.MOST_NODES),
            child_counts=_roomy(self.child_counts, int(self.done[2]) + 2 * building.MOST_NODES),
            children=_roomy(self.children, int(self.done[3]) + 2 * building.MOST_CHILDREN),
        )


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
        ("beside", np.uint64, (every,)),
        ("shared", np.uint64, (64,)),
    ]
    return np.dtype(fields, align=True)


_NO_TERMS = np.empty(0, np.int32)


class ExpandedRules(NamedTuple):
    """Conjunctions of rules, or their forms.

    `counts`   conjunctions of each rule, -1 for one that was not expanded
    `lengths`  leaves of each conjunction, rule by rule
    `leaves`   their numbers, in canonical order
    `terms`    if rules were taken AS_WRITTEN: in which of its rule's terms each predicate of the trees stands
    `row_terms`  and which of these each conjunction is
    `shapes`   if they were taken AS_FORMS: what stands above the leaves of each form, of which the others tell then
    """

    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    leaves: NDArray[np.int32]
    terms: NDArray[np.int32] = _NO_TERMS
    row_terms: NDArray[np.int32] = _NO_TERMS
    shapes: FormShapes | None = None


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
        self._expect(predicates, len(key_ranks))
        tree = _Tree(trees.kinds, trees.arguments, trees.sizes)
        plain = pooled_full(len(predicates.bindings), UNKNOWN_ANSWER, np.int64)

        def given() -> _Given:
            held = self._leaves, self._state
            return _Given(tree, trees.node_ends, predicates, predicate_of, *held, ranks, key_ranks, plain)

        if taking == AS_FORMS:
            return self._as_forms(given, wanted)
        counts = np.empty(len(wanted), np.int64)
        out = pooled(2 * len(predicate_of) + rules.RULE_OUT, np.int32)
        row_ends = pooled(2 * len(wanted) + rows.MOST_ROWS, np.int64)
        told = taking == AS_WRITTEN
        terms, row_terms = np.zeros(told * len(predicate_of), np.int32), np.zeros(told * len(row_ends), np.int32)
        done, at = np.zeros(2, np.int64), 0
        while True:
            output = _Output(out, row_ends, counts, done, terms, row_terms)
            at = expand_rules(given(), self._work, wanted, limit, taking, at, output)
            if at == len(wanted):
                lengths = np.diff(row_ends[: done[1]], prepend=0)
                return ExpandedRules(counts, lengths, out[: done[0]], terms, row_terms[: told * int(done[1])])
            self._enlarge()
            out = _roomy(out, int(done[0]) + 2 * rules.RULE_OUT)
            row_ends = _roomy(row_ends, int(done[1]) + 2 * rows.MOST_ROWS)
            row_terms = _roomy(row_terms, told * len(row_ends))

    def _as_forms(self, given: Callable[[], _Given], wanted: NDArray[np.bool_]) -> ExpandedRules:
        """The forms of the wanted rules."""
        rules_given, predicates = len(wanted), len(given().predicate_of)
        output = _FormOutput(
            pooled(predicates + rules.RULE_OUT, np.int32),
            pooled(rules_given, np.int64),
            np.empty(rules_given, np.int64),
            pooled(rules_given, np.int32),
            pooled(predicates + building.MOST_NODES, np.int8),
            pooled(predicates + building.MOST_NODES, np.int32),
            pooled(2 * predicates + building.MOST_CHILDREN, np.int32),
            np.zeros(4, np.int64),
        )
        at = 0
        while (at := write_forms(given(), self._work, wanted, at, output)) < rules_given:
            self._enlarge()
            output = output.roomy()
        leaves, forms, nodes, children = output.done.tolist()
        kinds = _KINDS[output.kinds[:nodes]]
        shapes = FormShapes(output.node_counts[:forms], kinds, output.child_counts[:nodes], output.children[:children])
        lengths = np.diff(output.row_ends[:forms], prepend=0)
        return ExpandedRules(output.rule_rows, lengths, output.leaves[:leaves], shapes=shapes)

    def _expect(self, predicates: PredicateColumns, keys: int) -> None:
        """Most leaves are those of single predicates: to grow is to copy all, into memory that has to be cleared."""
        if len(self._leaves.key_marks) < keys:
            self._leaves = self._leaves._replace(key_marks=np.zeros(2 * keys, np.int64))
        cuts = int(np.diff(predicates.ends)[predicates.bindings].sum()) + len(predicates.bindings)
        self._make_room(len(predicates.bindings) + rules.RULE_LEAVES, cuts + rules.RULE_CUTS)

    def _enlarge(self) -> None:
        """Room for more leaves than there are, and than one rule can have."""
        held = int(self._leaves.ends[self.count])
        self._make_room(2 * (self.count + rules.RULE_LEAVES), 2 * (held + rules.RULE_CUTS))

    def _make_room(self, wanted: int, cuts: int) -> None:
        """Room for so many leaves and cuts, those there are included."""
        leaves, slots = self._leaves, self._leaves.slots
        if len(slots) < 2 * wanted:
            slots = pooled_full(1 << (2 * wanted).bit_length(), EMPTY_SLOT, np.int32)
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
    larger = pooled(max(room, len(array) * 3 // 2), array.dtype)
    larger[: len(array)] = array
    return larger
