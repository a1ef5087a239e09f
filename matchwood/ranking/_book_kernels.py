"""Kernel that rewrites the labels in programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._jit import kernel
from matchwood.engines.scoring import OP_BITS, SUM, SURE, TEST


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
