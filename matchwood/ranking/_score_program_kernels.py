"""Kernels over the code of programs: labels rewritten, and saved code held against what it may say."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.engines.shared.scoring import AND, END, FALSE, KEEP, LOAD, ONE, OP_BITS, OR, SUM, SURE, TEST, TRUE


@kernel
def relabel_code(code: Any, attribute: int, old: Any, new: Any) -> None:
    """Replace the labels of one attribute, wherever a test has them; `old` ascends, labels not in it stay."""
    at = 0
    while at < len(code):
        operation, operand = code[at] & ((1 << OP_BITS) - 1), code[at] >> OP_BITS
        at += 1
        if operation == SURE:
            at += 1
        elif operation == SUM:
            at += operand
        elif operation == TEST:
            end = at + 3 + 2 * code[at + 2]
            if code[at + 1] == attribute:
                for position in range(at + 3, end):
                    place = np.searchsorted(old, code[position])
                    if place < len(old) and old[place] == code[position]:
                        code[position] = new[place]
            at = end


@kernel
def survey_code(code: Any, names: int, weights: int, attributes: int, begins: Any) -> Any:
    """Mark where programs begin; returns how deep their stacks get, how many slots they have, and how many they are.

    A depth of -1 says that a word leads out of an array: names, weights and attributes are numbered below the numbers
    given, a stack holds what is taken from it, and a slot is kept before it is loaded.
    """
    size, at, count, deepest, most, begin = len(code), 0, 0, 1, 1, True
    depth = kept = 0
    while at < size:
        if begin:
            begins[at], begin = True, False
            count, depth, kept = count + 1, 0, 0
        operation, operand = code[at] & ((1 << OP_BITS) - 1), code[at] >> OP_BITS
        at += 1
        sound = operand >= 0 and operation <= LOAD
        if operation == END:
            sound &= depth <= 1
            begin = True
        elif operation == SUM:
            sound &= operand >= 1 and at + operand <= size
            if sound:
                for place in range(at, at + operand):
                    sound &= 0 <= code[place] < names
            at += operand
            depth += 1
        elif operation in (AND, OR):
            sound &= 1 <= operand <= depth
            depth -= operand - 1
        elif operation == KEEP:
            sound &= depth >= 1 and operand <= kept
            kept = max(kept, operand + 1)
        elif operation == LOAD:
            sound &= operand < kept
            depth += 1
        elif operation == ONE:
            sound &= operand < names
            depth += 1
        elif operation == SURE:
            sound &= operand < names and at < size and 0 <= code[min(at, size - 1)] < weights
            at += 1
            depth += 1
        elif operation == TEST:
            sound &= operand < names and at + 3 <= size
            if sound:
                sound &= 0 <= code[at] < weights and 0 <= code[at + 1] < attributes and code[at + 2] >= 0
                at += 3 + 2 * int(code[at + 2])
            sound &= at <= size
            depth += 1
        elif operation in (TRUE, FALSE):
            depth += 1
        if not sound:
            return -1, 0, 0
        deepest, most = max(deepest, depth), max(most, kept)
    return (deepest if begin else -1), most, count
