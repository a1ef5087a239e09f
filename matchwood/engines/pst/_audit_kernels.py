"""Kernels of `audit`: whether candidates of live units are tested for what those say.

VLDB 2018, the invariants of 5 and 6; tests are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH, decided_by, given_of
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    PAYLOAD,
    attribute_of,
    body,
    constraint_at,
    end_of,
    hull,
    interval_word,
)


@kernel
def _is_implied(conjunctions: Any, unit: Any, state: Any, test: Any) -> bool:
    """Whether a unit has a right test: for the constraint that it decides, for what encloses one that it does not, or
    for what all events pass that have the attribute of its lists."""
    places, words, sets, bits = conjunctions
    first, given, decided = np.int64(places[unit]), given_of(state), np.int64(decided_by(test))
    word = np.uint32(test) & np.uint32(PAYLOAD)
    if decided > given:
        return bool(decided == given + 1 and body(words[first + given]) == word)
    if word == interval_word(attribute_of(words, sets, bits, first), BOTTOM_LABEL, TOP_LABEL, bits):
        return True
    for position in range(first + given, end_of(words, first)):
        code, low, high = constraint_at(words, sets, bits, position)
        if code & ACCEPTS_NULL == 0:
            low, high = hull(sets, code, low, high)
            if interval_word(code >> FLAG_BITS, low, high, bits) == word:
                return True
    return False


@kernel
def wrong_candidates(conjunctions: Any, tests: Any, starts: Any, counts: Any, states: Any, live: Any) -> int:
    """How many candidates of live units are tested for what those do not say."""
    wrong = 0
    for found in range(len(starts)):
        for test in range(starts[found], starts[found] + counts[found]):
            unit = np.int64(tests[TEST_WIDTH * test + 1])
            if live[unit]:
                wrong += not _is_implied(conjunctions, unit, states[unit], tests[TEST_WIDTH * test])
    return wrong
