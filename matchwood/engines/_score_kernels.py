"""Kernels that score rules by their programs (`scoring.py` describes them) and keep the best of an event."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines._verify_kernels import clear, scatter
from matchwood.engines.scoring import AND, FALSE, KEEP, LOAD, NOT_TRUE, ONE, OP_BITS, OR, SURE, TEST, TRUE

_MASK = (1 << OP_BITS) - 1

UNSCORABLE = -1
"""What `rank` returns if a rule that matched is not TRUE by its program, or has none."""


@kernel
def score(programs: Any, row: Any, scratch: Any) -> Any:
    """The score of a rule that is TRUE of the event whose labels and weights are in `scratch`.

    Every engine calls this, and it does all additions in the order of the text: so scores agree to the bit.
    """
    code, stack = programs.code, scratch.stack
    at, depth = programs.starts[row], 0
    if at < 0:
        return NOT_TRUE
    while True:
        word = code[at]
        at += 1
        operation, operand = word & _MASK, word >> OP_BITS
        if operation == ONE:
            stack[depth] = scratch.weights[operand]
            depth += 1
        elif operation == SURE:
            stack[depth] = programs.weights[code[at]] * scratch.weights[operand]
            at += 1
            depth += 1
        elif operation == TEST:
            stack[depth] = NOT_TRUE
            label, end = scratch.labels[code[at + 1]], at + 3 + 2 * code[at + 2]
            for piece in range(at + 3, end, 2):
                if code[piece] <= label < code[piece + 1]:
                    stack[depth] = programs.weights[code[at]] * scratch.weights[operand]
                    break
            at = end
            depth += 1
        elif operation == AND:
            first = depth - operand
            total = stack[first]
            for position in range(first + 1, depth):
                if stack[position] < 0 or total < 0:
                    total = NOT_TRUE
                    break
                total += stack[position]
            stack[first] = total
            depth = first + 1
        elif operation == OR:
            first = depth - operand
            best = stack[first]
            for position in range(first + 1, depth):
                best = max(best, stack[position])
            stack[first] = best
            depth = first + 1
        elif operation == TRUE:
            stack[depth] = 0.0
            depth += 1
        elif operation == FALSE:
            stack[depth] = NOT_TRUE
            depth += 1
        elif operation == KEEP:
            scratch.slots[operand] = stack[depth - 1]
        elif operation == LOAD:
            stack[depth] = scratch.slots[operand]
            depth += 1
        else:
            break
    found = stack[0] if depth else 0.0
    return found + programs.constants[row] if found >= 0 else NOT_TRUE


@kernel
def begin_event(judging: Any, event: int) -> None:
    """Put the labels and weights of an event where `score` looks for them."""
    scatter(judging.events, event, judging.scratch.labels)
    given = judging.weights
    if len(given.offsets):
        for position in range(given.offsets[event], given.offsets[event + 1]):
            judging.scratch.weights[given.names[position]] = given.values[position]


@kernel
def end_event(judging: Any, event: int) -> None:
    """Undo `begin_event`."""
    clear(judging.events, event, judging.scratch.labels)
    given = judging.weights
    if len(given.offsets):
        for position in range(given.offsets[event], given.offsets[event + 1]):
            name = given.names[position]
            judging.scratch.weights[name] = given.shared[name]


@kernel
def _is_worse(left_score: Any, left_row: Any, right_score: Any, right_row: Any) -> Any:
    return left_score < right_score or (left_score == right_score and left_row > right_row)


@kernel
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


@kernel
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


@kernel
def settle(scores: Any, rows: Any, start: Any, size: Any) -> None:
    """Put the heap at `start` in order: best first, ties by row."""
    for last in range(size - 1, 0, -1):
        value, row = scores[start], rows[start]
        scores[start], rows[start] = scores[start + last], rows[start + last]
        scores[start + last], rows[start + last] = value, row
        _sift_down(scores, rows, start, last)


@kernel
def rank(judging: Any, first: int, offsets: Any, rows: Any, n: int, reach: Any, best: Any, scores: Any) -> Any:
    """The best `n` of each event's rows, in `best` and `scores` up to reach[event].

    Event i of `offsets` is event first + i of `judging`. Returns how many rules were scored, or UNSCORABLE.
    """
    start, scored = np.int64(0), 0
    for event in range(len(offsets) - 1):
        begin_event(judging, first + event)
        size = 0
        for position in range(offsets[event], offsets[event + 1]):
            value = score(judging.programs, rows[position], judging.scratch)
            if value < 0:
                scored = UNSCORABLE
                break
            size = push(scores, best, start, size, n, value, rows[position])
            scored += 1
        end_event(judging, first + event)
        if scored == UNSCORABLE:
            return UNSCORABLE
        settle(scores, best, start, size)
        start += size
        reach[event] = start
    return scored


@kernel
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
