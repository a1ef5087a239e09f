"""From the tree of one rule to its form: the four questions of `questions.py`, passed down as `normalise.py` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.language.columnar._tree_kernels import (
    AND_NODE,
    CONSTANT_NODE,
    NOT_NODE,
    OR_NODE,
    PREDICATE_NODE,
    TEST_TRUE,
    TEST_UNKNOWN,
    TRUTH_NODE,
    XNOR_NODE,
    XOR_NODE,
)
from matchwood.logic.columnar._builder_kernels import (
    ALWAYS_TRUE,
    AND,
    LEAF_BASE,
    NEVER_TRUE,
    OR,
    UNKNOWN,
    junction,
    parity,
)
from matchwood.logic.columnar._leaf_kernels import FAILED, MOST_CUTS, complemented, is_empty, is_full, leaf_number

IS_TRUE, IS_FALSE, NOT_TRUE, NOT_FALSE = range(4)
NO_VERDICT, VERDICT_TRUE, VERDICT_FALSE = range(3)
"""What a predicate says of NULL: nothing, or that a null test holds, or does not."""

_PARITY = -1
_WITHIN = 4
"""Marks a question about an operand of an AND."""

MOST_PENDING, MOST_VISITED = 8_192, 400


@bare_kernel
def _holds_for_true(question: int) -> Any:
    return question in (IS_TRUE, NOT_FALSE)


@bare_kernel
def answer_of(predicates: Any, leaves: Any, state: Any, buffers: Any, predicate: int, question: int) -> Any:
    """The answer to a question about a predicate, which is remembered."""
    known = predicates.answers[predicate, question]
    if known != UNKNOWN:
        return known
    binding = predicates.bindings[predicate]
    first, stop = predicates.ends[binding], predicates.ends[binding + 1]
    if stop - first + 1 > MOST_CUTS:
        state[FAILED] = 1
        return np.int64(NEVER_TRUE)
    verdict = predicates.verdicts[binding]
    if question in (IS_TRUE, NOT_FALSE):
        for place in range(first, stop):
            buffers[0, place - first] = predicates.cuts[place]
        count = stop - first
        null = verdict == VERDICT_TRUE if question == IS_TRUE else verdict != VERDICT_FALSE
    else:
        count = complemented(predicates.cuts, first, stop, buffers[0])
        null = verdict == VERDICT_FALSE if question == IS_FALSE else verdict != VERDICT_TRUE
    leaf = leaf_number(leaves, state, predicates.keys[predicate], int(null), buffers[0], count)
    if state[FAILED]:
        return np.int64(NEVER_TRUE)
    answer = LEAF_BASE + leaf
    if is_empty(leaves, leaf):
        answer = np.int64(NEVER_TRUE)
    elif is_full(leaves, leaf):
        answer = np.int64(ALWAYS_TRUE)
    predicates.answers[predicate, question] = answer
    return answer


@bare_kernel
def resolved(tree: Any, node: int, question: int) -> Any:
    """The node and question behind `not`, `is true` and `is false`."""
    while True:
        kind = tree.kinds[node]
        if kind == NOT_NODE:
            question ^= 1
        elif kind == TRUTH_NODE and tree.arguments[node] >> 1 != TEST_UNKNOWN:
            affirmed = _holds_for_true(question) != (tree.arguments[node] & 1)
            wanted = IS_TRUE if tree.arguments[node] >> 1 == TEST_TRUE else IS_FALSE
            question = wanted if affirmed else wanted ^ 2
        else:
            return node, question
        node -= 1


@bare_kernel
def junction_of(tree: Any, node: int, question: int) -> Any:
    """How the answers of a node's operands are joined; -1 for a parity, a predicate or a constant."""
    kind = tree.kinds[node]
    if kind == AND_NODE:
        return AND if _holds_for_true(question) else OR
    if kind == OR_NODE:
        return OR if _holds_for_true(question) else AND
    if kind == TRUTH_NODE:
        return AND if _holds_for_true(question) != (tree.arguments[node] & 1) else OR
    return _PARITY


@bare_kernel
def _push_operands(tree: Any, node: int, question: int, joint: int, work: Any, top: int) -> Any:
    """Put the questions about a junction's operands on the stack of the nest."""
    if tree.kinds[node] == TRUTH_NODE:
        first = NOT_TRUE if joint == AND else IS_TRUE
        work.nest[top, 0], work.nest[top, 1] = node - 1, first
        work.nest[top + 1, 0], work.nest[top + 1, 1] = node - 1, first ^ 1
        return top + 2
    child = node - 1
    for _ in range(tree.arguments[node]):
        work.nest[top, 0], work.nest[top, 1] = child, question
        top += 1
        child -= tree.sizes[child]
    return top


@bare_kernel
def _known(given: Any, work: Any, base: int, node: int, question: int) -> Any:
    """The answer to a resolved question, if it is there already; UNKNOWN if not."""
    tree = given.tree
    kind = tree.kinds[node]
    if kind == PREDICATE_NODE:
        predicate = given.predicate_of[tree.arguments[node]]
        return answer_of(given.predicates, given.leaves, given.state, work.buffers, predicate, question)
    if kind == CONSTANT_NODE:
        yes = _holds_for_true(question) == (tree.arguments[node] == 1)
        return np.int64(ALWAYS_TRUE if yes else NEVER_TRUE)
    return work.answers[node - base, question]


@bare_kernel
def _ask_junction(given: Any, work: Any, base: int, node: int, question: int, joint: int, pending: int) -> Any:
    """Answer a junction from its nest of operands, or put it back with what it waits for; returns what is pending."""
    tree, state = given.tree, given.state
    top = _push_operands(tree, node, question, joint, work, 0)
    count, before = 0, pending
    work.pending[pending, 0], work.pending[pending, 1] = node, question
    pending += 1
    while top > 0:
        top -= 1
        below, asked = resolved(tree, work.nest[top, 0], work.nest[top, 1])
        kind = tree.kinds[below]
        if (kind in (AND_NODE, OR_NODE)) and junction_of(tree, below, asked) == joint:
            top = _push_operands(tree, below, asked, joint, work, top)
            continue
        answer = _known(given, work, base, below, asked)
        if answer == UNKNOWN:
            work.pending[pending, 0], work.pending[pending, 1] = below, asked
            pending += 1
        work.given[count] = answer
        count += 1
        if count >= len(work.given) - 2 or pending >= MOST_PENDING - 2:
            state[FAILED] = 1
            return 0
    if pending > before + 1:
        return pending
    work.answers[node - base, question] = junction(work, given.leaves, state, given.ranks, joint, count)
    return before


@bare_kernel
def _ask_parity(given: Any, work: Any, base: int, node: int, question: int, pending: int) -> Any:
    """The same for xor and xnor: the parity of all operands of nested xor, xnor and not, the last one first."""
    tree, state = given.tree, given.state
    asked, before, count = question & 2, pending, 0
    flips = tree.arguments[node] - 1 if tree.kinds[node] == XNOR_NODE else 0
    work.pending[pending, 0], work.pending[pending, 1] = node, question
    pending += 1
    operand = node - 1
    while operand > node - tree.sizes[node]:
        kind = tree.kinds[operand]
        if kind in (XOR_NODE, XNOR_NODE, NOT_NODE):
            flips += 1 if kind == NOT_NODE else tree.arguments[operand] - 1 if kind == XNOR_NODE else 0
            operand -= 1
            continue
        for either in range(2):
            below, about = resolved(tree, operand, asked ^ either)
            answer = _known(given, work, base, below, about)
            if answer == UNKNOWN:
                work.pending[pending, 0], work.pending[pending, 1] = below, about
                pending += 1
            work.pairs[count, either] = answer
        count += 1
        if count >= len(work.pairs) or pending >= MOST_PENDING - 2:
            state[FAILED] = 1
            return 0
        operand -= tree.sizes[operand]
    if pending > before + 1:
        return pending
    parity(work, given.leaves, state, given.ranks, given.key_ranks, count, AND if asked else OR)
    work.answers[node - base, asked | (flips & 1)] = work.pairs[0, 0]
    work.answers[node - base, asked | (1 - (flips & 1))] = work.pairs[0, 1]
    return before


@bare_kernel
def answered(given: Any, work: Any, base: int, root: int) -> Any:
    """Whether the root is TRUE; all that this needs is answered first. `base` is the first node of the rule."""
    tree, state = given.tree, given.state
    node, question = resolved(tree, root, IS_TRUE)
    answer = _known(given, work, base, node, question)
    if answer != UNKNOWN:
        return answer
    work.pending[0, 0], work.pending[0, 1] = node, question
    pending = 1
    while pending > 0 and not state[FAILED]:
        pending -= 1
        below, asked = work.pending[pending, 0], work.pending[pending, 1]
        if work.answers[below - base, asked] != UNKNOWN:
            continue
        joint = junction_of(tree, below, asked)
        if joint == _PARITY:
            pending = _ask_parity(given, work, base, below, asked, pending)
        else:
            pending = _ask_junction(given, work, base, below, asked, joint, pending)
    return work.answers[node - base, question]


@bare_kernel
def is_or_of_ands(tree: Any, root: int, most: int, work: Any) -> Any:
    """Whether a rule is an OR of at most so many ANDs of predicates, and small: `route.py` takes it without a form."""
    work.nest[0, 0], work.nest[0, 1] = root, IS_TRUE
    top, alternatives, visited = 1, 0, 0
    while top > 0:
        top -= 1
        within = work.nest[top, 1] & _WITHIN
        node, question = resolved(tree, work.nest[top, 0], work.nest[top, 1] & 3)
        kind, visited = tree.kinds[node], visited + 1
        if kind == PREDICATE_NODE:
            alternatives += within == 0
            continue
        joint = junction_of(tree, node, question) if kind != TRUTH_NODE else _PARITY
        if joint == _PARITY or (within and joint == OR) or visited + top + tree.arguments[node] > MOST_VISITED:
            return False
        if joint == AND:
            alternatives += within == 0
            within = _WITHIN
        top = _push_operands(tree, node, question | within, joint, work, top)
    return alternatives <= most
