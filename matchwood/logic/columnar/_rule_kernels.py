"""The conjunctions of many rules: tree, form, estimate, expansion and canonical order; nothing recurses."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.bits import highest_bit
from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.language.columnar._tree_kernels import (
    AND_NODE,
    NOT_NODE,
    OR_NODE,
    PREDICATE_NODE,
    TEST_TRUE,
    TRUTH_NODE,
)
from matchwood.logic.columnar._builder_kernels import (
    ALWAYS_TRUE,
    LEAF,
    LEAF_BASE,
    NEVER_TRUE,
    OR,
    UNKNOWN,
    has_repeated,
)
from matchwood.logic.columnar._leaf_kernels import CHILDREN, COUNT, FAILED, NODES, STAMP, TOUCHED
from matchwood.logic.columnar._row_kernels import (
    MOST_ROWS,
    clear_row,
    distinct_rows,
    in_order,
    met,
    set_bit,
    uncovered,
    with_meets,
    with_singles_joined,
)
from matchwood.logic.columnar._walk_kernels import IS_TRUE, answer_of, answered, is_or_of_ands

ANY_RULE, OR_OF_ANDS, AS_WRITTEN, AS_FORMS = range(4)
"""Which rules are taken: all, those that `route.py` takes without a form, or of these such as are written in *terms*:
as an AND of predicates, or an OR of such that are its conjunctions in the end. What is negated in a single AND stands
in no term. Or all, as forms (`_form_kernels.py`) and not as conjunctions."""

NO_TERM = -1

MOST_TREE = 4_096
MOST_DIRECT = 64
"""As MOST_ROWS in `route.py`."""

AHEAD = 16
"""How many predicates before its turn the answers of one are asked for."""

RANK_SHIFT, LEAF_MASK = 32, (1 << 32) - 1
"""What `plain` remembers of a predicate is sorted by attribute as it is."""

LENGTH = 1_024
"""As in `dnf.py`."""

_SATURATED = 1 << 30
RULE_LEAVES, RULE_CUTS, RULE_OUT = 8_192, 1 << 17, 1 << 17
"""Room that is there before a rule begins; one that needs more goes the way of single rules."""


@bare_kernel
def is_plain(tree: Any, root: int) -> Any:
    """Whether a rule is a predicate, or an AND of nothing else."""
    if tree.kinds[root] == PREDICATE_NODE:
        return True
    if tree.kinds[root] != AND_NODE or tree.sizes[root] != tree.arguments[root] + 1:
        return False
    node = root - tree.arguments[root]
    while tree.kinds[node] == PREDICATE_NODE:
        node += 1
    return node == root


@bare_kernel
def _plain_row(given: Any, work: Any, base: int, root: int) -> Any:
    """The leaves of an AND of predicates, in work.leaves; how many, or -1 if it is never true."""
    tree, leaves, state, held = given.tree, given.leaves, given.state, 0
    last = root if tree.kinds[root] != PREDICATE_NODE else root + 1
    for node in range(base, last):
        predicate = given.predicate_of[tree.arguments[node]]
        answer = answer_of(given.predicates, leaves, state, work.buffers, predicate, IS_TRUE)
        if answer == NEVER_TRUE:
            return -1
        if answer != ALWAYS_TRUE:
            work.leaves[held] = answer - LEAF_BASE
            held += 1
    if has_repeated(work, leaves, work.leaves, held):
        held = met(work, leaves, state, given.ranks, held)
    return held


@bare_kernel
def _put_plain(work: Any, leaves: Any, key_ranks: Any, held: int, out: Any, position: int) -> None:
    """Write the leaves of a row by attribute."""
    ranks = work.given
    for place in range(held):
        leaf, at = work.leaves[place], place
        rank = key_ranks[leaves.keys[leaf]]
        while at > 0 and ranks[at - 1] > rank:
            ranks[at], out[position + at] = ranks[at - 1], out[position + at - 1]
            at -= 1
        ranks[at], out[position + at] = rank, leaf


@bare_kernel
def _plain_answer(given: Any, work: Any, predicate: int) -> Any:
    """Where a predicate is TRUE, as `plain` remembers it: NEVER_TRUE, ALWAYS_TRUE, or a leaf below the rank of its
    attribute."""
    answer = answer_of(given.predicates, given.leaves, given.state, work.buffers, predicate, IS_TRUE)
    if answer >= LEAF_BASE:
        leaf = answer - LEAF_BASE
        answer = given.key_ranks[given.leaves.keys[leaf]] << RANK_SHIFT | leaf
    if not given.state[FAILED]:
        given.plain[predicate] = answer
    return answer


@bare_kernel
def _sort_plain(given: Any, work: Any, base: int, root: int) -> Any:
    """The answers of the predicates of an AND by attribute, in work.given; how many, or -1 if one is never true, and
    whether two are of the same attribute."""
    arguments, predicate_of, plain, ordered = given.tree.arguments, given.predicate_of, given.plain, work.given
    held, repeated, furthest = 0, False, len(predicate_of) - 1
    for node in range(base, max(root, base + 1)):
        # Answers lie anywhere: they are asked for before their turn.
        prefetch(plain, predicate_of[min(arguments[node] + AHEAD, furthest)])
        answer = plain[predicate_of[arguments[node]]]
        if answer == UNKNOWN:
            answer = np.int64(_plain_answer(given, work, predicate_of[arguments[node]]))
        if answer == NEVER_TRUE:
            return -1, False
        if answer == ALWAYS_TRUE:
            continue
        at = held
        while at > 0 and ordered[at - 1] > answer:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = answer
        held += 1
    for place in range(1, held):
        repeated |= ordered[place] >> RANK_SHIFT == ordered[place - 1] >> RANK_SHIFT
    return held, repeated


@bare_kernel
def put_row(given: Any, work: Any, base: int, root: int, out: Any, position: int) -> Any:
    """Write the leaves of an AND of predicates by attribute; how many, or -1 if it is never true."""
    held, repeated = _sort_plain(given, work, base, root)
    if not repeated:
        for place in range(held):
            out[position + place] = work.given[place] & LEAF_MASK
        return held
    held = _plain_row(given, work, base, root)
    _put_plain(work, given.leaves, given.key_ranks, held, out, position)
    return held


@bare_kernel
def _is_negated(tree: Any, node: int) -> Any:
    """Whether a node is a negation, or a truth test other than `is true`."""
    kind = tree.kinds[node]
    return kind == NOT_NODE or (kind == TRUTH_NODE and tree.arguments[node] != 2 * TEST_TRUE)


@bare_kernel
def _is_in_terms(tree: Any, root: int) -> Any:
    """Whether a rule is an OR of predicates and plain ANDs, an AND of predicates and negations, or a negation."""
    kind = tree.kinds[root]
    if kind != OR_NODE and kind != AND_NODE:
        return _is_negated(tree, root)
    below = root - 1
    for _ in range(tree.arguments[root]):
        fits = is_plain(tree, below) if kind == OR_NODE else tree.kinds[below] == PREDICATE_NODE
        if not (fits or (kind == AND_NODE and _is_negated(tree, below))):
            return False
        below -= tree.sizes[below]
    return True


@bare_kernel
def _tell_single(tree: Any, root: int, output: Any, made: int, rows: int) -> None:
    """Note that rows behind `made` others are the only term, and which predicates stand in none."""
    for row in range(made, made + rows):
        output.row_terms[row] = 0
    below, first = root, root
    if tree.kinds[root] == AND_NODE:
        below, first = root - 1, root - tree.sizes[root] + 1
    while below >= first:
        for node in range(below - tree.sizes[below] + 1, below):
            if tree.kinds[node] == PREDICATE_NODE:
                output.terms[tree.arguments[node]] = NO_TERM
        below -= tree.sizes[below]


@bare_kernel
def _row_like(work: Any, held: int, output: Any, made: int, rows: int) -> Any:
    """Which of the rows behind `made` others has the leaves work.singles[:held]; -1 if none has."""
    for row in range(made, made + rows):
        begin = output.row_ends[row - 1] if row else 0
        place = 0
        if output.row_ends[row] - begin == held:
            while place < held and output.leaves[begin + place] == work.singles[place]:
                place += 1
            if place == held:
                return row
    return -1


@bare_kernel
def _tell_terms(given: Any, work: Any, root: int, output: Any, made: int, rows: Any) -> Any:
    """Note which term each row behind `made` others is, and in which each predicate stands; whether all are one."""
    tree = given.tree
    if tree.kinds[root] != OR_NODE:
        _tell_single(tree, root, output, made, rows)
        return True
    if rows != tree.arguments[root]:
        return False
    term = root - 1
    for number in range(rows - 1, -1, -1):
        first = term if tree.kinds[term] == PREDICATE_NODE else term - tree.arguments[term]
        held = _plain_row(given, work, first, term)
        if held < 0 or given.state[FAILED]:
            return False
        _put_plain(work, given.leaves, given.key_ranks, held, work.singles, 0)
        row = _row_like(work, held, output, made, rows)
        if row < 0:
            return False
        output.row_terms[row] = number
        for node in range(first, max(term, first + 1)):
            output.terms[tree.arguments[node]] = number
        term -= tree.sizes[term]
    return True


@bare_kernel
def mark_reached(work: Any, root: int) -> None:
    """Mark what is below a root, and the root itself, in `reached`."""
    for node in range(root + 1):
        work.reached[node] = 0
    work.reached[root] = 1
    for node in range(root, -1, -1):
        if work.reached[node]:
            for child in range(work.child_ends[node], work.child_ends[node + 1]):
                work.reached[work.children[child]] = 1


@bare_kernel
def _survey(work: Any, state: Any, root: int, limit: int) -> Any:
    """Mark what is below the root in `reached`; whether its expansion is within the limit."""
    mark_reached(work, root)
    for node in range(root + 1):
        if not work.reached[node]:
            continue
        rows, held = np.int64(work.kinds[node] != OR), np.int64(work.kinds[node] == LEAF)
        for child in range(work.child_ends[node], work.child_ends[node + 1]):
            below = work.children[child]
            if work.kinds[node] == OR:
                rows, held = rows + work.sizes[below, 0], held + work.sizes[below, 1]
            else:
                held = held * work.sizes[below, 0] + rows * work.sizes[below, 1]
                rows = rows * work.sizes[below, 0]
            rows, held = min(rows, np.int64(_SATURATED)), min(held, np.int64(_SATURATED))
        work.sizes[node, 0], work.sizes[node, 1] = rows, held
    rows, held = work.sizes[root, 0], work.sizes[root, 1]
    return rows <= limit and rows <= MOST_ROWS and (rows == 1 or held <= limit * LENGTH)


@bare_kernel
def _cross(work: Any, start: int, before: int, below: int, at: int, words: int) -> Any:
    """Write each of `before` rows from `start` on joined with each row of a child; where they end."""
    for row in range(start, start + before):
        for more in range(work.row_starts[below], work.row_starts[below] + work.sizes[below, 0]):
            for word in range(words):
                work.expanded[at, word] = work.expanded[row, word] | work.expanded[more, word]
            at += 1
    return at


@bare_kernel
def _expand(work: Any, leaves: Any, state: Any, root: int, words: int) -> Any:
    """Write the rows of all reached nodes, the root's last: where they begin. The rule fails if there is no room."""
    at = 0
    room = len(work.expanded)
    for node in range(root + 1):
        if not work.reached[node]:
            continue
        if at + 2 * work.sizes[node, 0] + 2 > room:
            state[FAILED] = 1
            return 0
        work.row_starts[node] = at
        if work.kinds[node] == LEAF:
            clear_row(work.expanded, at, words)
            set_bit(work.expanded, at, leaves.numbers[work.leaf_of[node]])
            at += 1
        elif work.kinds[node] == OR:
            for child in range(work.child_ends[node], work.child_ends[node + 1]):
                below = work.children[child]
                for row in range(work.row_starts[below], work.row_starts[below] + work.sizes[below, 0]):
                    for word in range(words):
                        work.expanded[at, word] = work.expanded[row, word]
                    at += 1
        else:
            clear_row(work.expanded, at, words)
            before = 1
            at += 1
            for child in range(work.child_ends[node], work.child_ends[node + 1]):
                below = work.children[child]
                if at + before * work.sizes[below, 0] > room:
                    state[FAILED] = 1
                    return 0
                at = _cross(work, work.row_starts[node], before, below, at, words)
                work.row_starts[node] += before
                before *= work.sizes[below, 0]
    return work.row_starts[root]


@bare_kernel
def _rows_of(work: Any, leaves: Any, state: Any, ranks: Any, key_ranks: Any, root: int, limit: int) -> Any:
    """The canonical rows of a node, in work.rows, over the leaves work.local: how many of both; and if they fit."""
    if not _survey(work, state, root, limit):
        return 0, 0, False
    count = 0
    for node in range(root + 1):
        if work.reached[node] and work.kinds[node] == LEAF:
            work.local[count] = work.leaf_of[node]
            count += 1
    words = in_order(work, leaves, state, ranks, key_ranks, count)
    start = 0 if state[FAILED] else _expand(work, leaves, state, root, words)
    if state[FAILED]:
        return 0, 0, False
    rows = work.sizes[root, 0]
    for row in range(rows):
        for word in range(words):
            work.rows[row, word] = work.expanded[start + row, word]
    rows = distinct_rows(work, rows, words)
    rows, count, words = with_meets(work, leaves, state, ranks, key_ranks, rows, count, words)
    if rows > 1:
        rows, count, words = with_singles_joined(work, leaves, state, ranks, key_ranks, rows, count, words)
    if rows > 1:
        rows = uncovered(work, leaves, state, ranks, rows, count, words)
    return rows, count, True


@bare_kernel
def _put_rows(work: Any, rows: Any, count: Any, out: Any, position: int, row_ends: Any, made: int) -> Any:
    """Write rows behind `made` others; where the leaves end. Rows of a constant rule have no leaves."""
    for row in range(rows):
        for word in range((count + 63) >> 6):
            bits = work.rows[row, word]
            while bits != np.uint64(0):
                highest = highest_bit(bits)
                bits ^= np.uint64(1) << np.uint64(highest)
                out[position] = work.local[64 * word + 63 - highest]
                position += 1
        row_ends[made + row] = position
    return position


@bare_kernel
def begin(work: Any, state: Any, nodes: int) -> None:
    """Nothing is known of a rule when it begins."""
    state[FAILED] = state[NODES] = state[CHILDREN] = state[TOUCHED] = 0
    state[STAMP] += 1
    for node in range(nodes):
        for question in range(4):
            work.answers[node, question] = UNKNOWN


@bare_kernel
def has_room_for_leaves(leaves: Any, state: Any, out: Any, position: int) -> Any:
    """Whether there is room for the leaves of one more rule, and for their numbers behind `position`."""
    count = state[COUNT] + RULE_LEAVES
    return (
        position + RULE_OUT <= len(out)
        and 2 * count <= len(leaves.slots)
        and count <= len(leaves.keys)
        and leaves.ends[state[COUNT]] + RULE_CUTS <= len(leaves.cuts)
    )


@bare_kernel
def expand_rules(given: Any, work: Any, wanted: Any, limit: int, taking: int, first: int, output: Any) -> Any:
    """Expand the wanted rules from `first` on, until room runs out: the rule to go on with."""
    tree, leaves, state, ends = given.tree, given.leaves, given.state, given.ends
    out, row_ends, done = output.leaves, output.row_ends, output.done
    position, made = done[0], done[1]
    for rule in range(first, len(ends)):
        base, root = ends[rule - 1] if rule else 0, ends[rule] - 1
        output.rule_rows[rule] = -1
        if not wanted[rule] or root < base or root - base >= MOST_TREE:
            continue
        room = made + MOST_ROWS <= len(row_ends)
        if not (room and has_room_for_leaves(leaves, state, out, position)):
            done[0], done[1] = position, made
            return rule
        if is_plain(tree, root):
            begin(work, state, 0)
            held = put_row(given, work, base, root, out, position)
            if state[FAILED]:
                continue
            output.rule_rows[rule] = held >= 0
            if held >= 0:
                position += held
                row_ends[made] = position
                if taking == AS_WRITTEN:
                    output.row_terms[made] = 0
                made += 1
            continue
        if taking == AS_WRITTEN and not _is_in_terms(tree, root):
            continue
        if taking != ANY_RULE and not is_or_of_ands(tree, root, min(limit, MOST_DIRECT), work):
            continue
        begin(work, state, root - base + 1)
        answer = answered(given, work, base, root)
        rows, count, fits = np.int64(answer == ALWAYS_TRUE), np.int64(0), not state[FAILED]
        if taking == AS_WRITTEN and tree.kinds[root] == OR_NODE and (answer < 0 or answer >= LEAF_BASE):
            continue
        if fits and answer >= LEAF_BASE:
            work.leaves[0] = answer - LEAF_BASE
            out[position] = answer - LEAF_BASE
            position += 1
            rows = np.int64(1)
        elif fits and answer >= 0:
            rows, count, fits = _rows_of(work, leaves, state, given.ranks, given.key_ranks, answer, limit)
        if state[FAILED] or not fits or rows * count > RULE_OUT:
            continue
        stop = _put_rows(work, rows, count, out, position, row_ends, made)
        if taking == AS_WRITTEN and not _tell_terms(given, work, root, output, made, rows):
            continue
        output.rule_rows[rule] = rows
        position = stop
        made += rows
    done[0], done[1] = position, made
    return len(ends)
