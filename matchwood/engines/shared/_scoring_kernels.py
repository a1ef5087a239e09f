"""Kernels that score rules by their programs (`scoring.py` describes them) and keep the best of an event."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared._verification_kernels import clear, scatter
from matchwood.engines.shared.scoring import (
    AHEAD,
    AND,
    END,
    FALSE,
    KEEP,
    NOT_TRUE,
    ONE,
    OP_BITS,
    OR,
    SUM,
    SURE,
    TEST,
    TRUE,
)

_MASK = (1 << OP_BITS) - 1


UNSCORABLE = -1
"""What `rank` returns if a rule that matched is not TRUE by its program, or has none."""


@bare_kernel
def score_rows(programs: Any, rows: Any, first: Any, stop: Any, scratch: Any) -> Any:
    """Score the rules rows[first : stop], at most AHEAD, into scratch.scores; NOT_TRUE for what has no program.

    The event's labels and weights are in `scratch`. Every engine calls this, and it does all additions in the order of
    the text: so scores agree to the bit. Measured on 100,000 rules of 8 predicates: 133 ns a rule if each is a call of
    its own, whose arguments are all the arrays, and 27 ns in a loop here.
    """
    starts, code, constants, own = programs.starts, programs.code, programs.constants, programs.weights
    labels, weights, stack, slots = scratch.labels, scratch.weights, scratch.stack, scratch.slots
    scores, one, two = scratch.scores, np.uint64(1), np.uint64(2)
    touched = np.int32(0)
    # These loads are independent, so that their cache misses overlap.
    for position in range(first, stop):
        start = starts[np.uint64(rows[position])]
        if start >= 0:
            touched ^= code[np.uint64(start)]
    for position in range(first, stop):
        row = np.uint64(rows[position])
        if starts[row] < 0:
            scores[position - first] = NOT_TRUE
            continue
        at, depth = np.uint64(starts[row]), np.uint64(0)
        while True:
            word = code[at]
            at += one
            operation, operand = word & _MASK, np.uint64(word >> OP_BITS)
            if operation == SUM:
                total = weights[np.uint64(code[at])]
                for place in range(at + one, at + operand):
                    total += weights[np.uint64(code[place])]
                stack[depth] = total
                at += operand
                depth += one
            elif operation == END:
                break
            elif operation == ONE:
                stack[depth] = weights[operand]
                depth += one
            elif operation == SURE:
                stack[depth] = own[np.uint64(code[at])] * weights[operand]
                at += one
                depth += one
            elif operation == TEST:
                stack[depth] = NOT_TRUE
                label, piece = labels[np.uint64(code[at + one])], at + np.uint64(3)
                end = piece + two * np.uint64(code[at + two])
                while piece < end:
                    if code[piece] <= label < code[piece + one]:
                        stack[depth] = own[np.uint64(code[at])] * weights[operand]
                        break
                    piece += two
                at = end
                depth += one
            elif operation == AND:
                depth -= operand
                total = stack[depth]
                for place in range(depth + one, depth + operand):
                    if stack[place] < 0 or total < 0:
                        total = NOT_TRUE
                        break
                    total += stack[place]
                stack[depth] = total
                depth += one
            elif operation == OR:
                depth -= operand
                best = stack[depth]
                for place in range(depth + one, depth + operand):
                    best = max(best, stack[place])
                stack[depth] = best
                depth += one
            elif operation == TRUE:
                stack[depth] = 0.0
                depth += one
            elif operation == FALSE:
                stack[depth] = NOT_TRUE
                depth += one
            elif operation == KEEP:
                slots[operand] = stack[depth - one]
            else:
                stack[depth] = slots[operand]
                depth += one
        found = stack[0] if depth else 0.0
        scores[position - first] = found + constants[row] if found >= 0 else NOT_TRUE
    slots[0] = touched


@bare_kernel
def score(programs: Any, row: Any, scratch: Any) -> Any:
    """The score of one rule. `score_rows` takes a tenth of the time for each of many: collect them where you can."""
    scratch.row[0] = row
    score_rows(programs, scratch.row, 0, 1, scratch)
    return scratch.scores[0]


@bare_kernel
def begin_event(context: Any, event: int) -> None:
    """Put the labels and weights of an event where `score` looks for them."""
    scatter(context.events, event, context.scratch.labels)
    given = context.weights
    if len(given.offsets):
        for position in range(given.offsets[event], given.offsets[event + 1]):
            context.scratch.weights[given.names[position]] = given.values[position]


@bare_kernel
def end_event(context: Any, event: int) -> None:
    """Undo `begin_event`."""
    clear(context.events, event, context.scratch.labels)
    given = context.weights
    if len(given.offsets):
        for position in range(given.offsets[event], given.offsets[event + 1]):
            name = given.names[position]
            context.scratch.weights[name] = given.shared[name]


@bare_kernel
def _is_worse(left_score: Any, left_row: Any, right_score: Any, right_row: Any) -> Any:
    return left_score < right_score or (left_score == right_score and left_row > right_row)


@bare_kernel
def _sift_down(scores: Any, rows: Any, start: Any, size: Any) -> None:
    """Let what stands first sink below what is worse; the worst of all then stands first."""
    value, row = scores[start], rows[start]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        left, right = start + child, start + child + 1
        if child + 1 < size and _is_worse(scores[right], rows[right], scores[left], rows[left]):
            child += 1
        if not _is_worse(scores[start + child], rows[start + child], value, row):
            break
        scores[start + place], rows[start + place] = scores[start + child], rows[start + child]
        place = child
    scores[start + place], rows[start + place] = value, row


@bare_kernel
def push(scores: Any, rows: Any, start: Any, size: Any, n: Any, value: Any, row: Any) -> Any:
    """Offer a rule to the best `n` so far, a heap of `size` at `start`, its worst first; returns the new size."""
    if size == n:
        if _is_worse(scores[start], rows[start], value, row):
            scores[start], rows[start] = value, row
            _sift_down(scores, rows, start, size)
        return size
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if not _is_worse(value, row, scores[start + parent], rows[start + parent]):
            break
        scores[start + place], rows[start + place] = scores[start + parent], rows[start + parent]
        place = parent
    scores[start + place], rows[start + place] = value, row
    return size + 1


@bare_kernel
def settle(scores: Any, rows: Any, start: Any, size: Any) -> None:
    """Put the heap at `start` in order: best first, ties by row."""
    for last in range(size - 1, 0, -1):
        value, row = scores[start], rows[start]
        scores[start], rows[start] = scores[start + last], rows[start + last]
        scores[start + last], rows[start + last] = value, row
        _sift_down(scores, rows, start, last)


@bare_kernel
def rank(context: Any, first: int, offsets: Any, rows: Any, n: int, reach: Any, best: Any, scores: Any) -> Any:
    """The best `n` of each event's rows, in `best` and `scores` up to reach[event].

    Event i of `offsets` is event first + i of `context`. Returns how many rules were scored, or UNSCORABLE.
    """
    start, scored = np.int64(0), 0
    found = context.scratch.scores
    for event in range(len(offsets) - 1):
        begin_event(context, first + event)
        size, end = 0, offsets[event + 1]
        for block in range(offsets[event], end, AHEAD):
            stop = min(block + AHEAD, end)
            score_rows(context.programs, rows, block, stop, context.scratch)
            for position in range(block, stop):
                value = found[position - block]
                if value < 0:
                    scored = UNSCORABLE
                    break
                # Rows ascend, so that a later one with the same score is worse.
                if size < n or value > scores[start]:
                    size = push(scores, best, start, size, n, value, rows[position])
            if scored == UNSCORABLE:
                break
        end_event(context, first + event)
        if scored == UNSCORABLE:
            return UNSCORABLE
        scored += end - offsets[event]
        settle(scores, best, start, size)
        start += size
        reach[event] = start
    return scored


@bare_kernel
def merge(left: Any, right: Any, n: int, reach: Any, rows: Any, scores: Any) -> None:
    """The best `n` of two lists an event, each best first; both cover the events of `reach`."""
    start = np.int64(0)
    for event in range(len(reach)):
        one, one_end = left.offsets[event], left.offsets[event + 1]
        two, two_end = right.offsets[event], right.offsets[event + 1]
        end = start + min(np.int64(n), one_end - one + two_end - two)
        for place in range(start, end):
            if two == two_end or (
                one < one_end and _is_worse(right.scores[two], right.rows[two], left.scores[one], left.rows[one])
            ):
                rows[place], scores[place] = left.rows[one], left.scores[one]
                one += 1
            else:
                rows[place], scores[place] = right.rows[two], right.scores[two]
                two += 1
        start = end
        reach[event] = end
