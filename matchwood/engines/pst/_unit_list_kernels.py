"""Kernels of lists that hold units alone, as PSTBloom's and PSTHash's do: each is verified from the store.

VLDB 2018, Algorithm 5, lines 8 to 13, and the verification of Algorithm 7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.pst._candidate_kernels import given_of
from matchwood.engines.pst._signature_kernels import is_signed
from matchwood.engines.shared._verification_kernels import LIVE, holds_from
from matchwood.engines.shared.constraints._word_kernels import LAST, has


@bare_kernel
def examine_units(
    conjunctions: Any, lists: Any, signatures: Any, states: Any, count: int, scratch: Any, used: Any, output: Any
) -> Any:
    """All hits in the lists found; returns their end. The constraints that gave access to a unit hold."""
    places, words, sets, bits = conjunctions
    found, labels, units, work = scratch.found, scratch.labels, output.units, output.work
    tests, starts, counts, signed = lists.tests, lists.starts, lists.counts, len(signatures.words) > 0
    for place in range(count):
        start = starts[found[place]]
        stop = start + counts[found[place]]
        work[1] += stop - start
        for at in range(start, stop):
            unit = np.int64(tests[at])
            if states[unit] & np.uint8(LIVE) == 0 or used >= len(units):
                continue
            if signed and not is_signed(conjunctions, signatures, states, unit, labels):
                continue
            work[2] += 1
            position = np.int64(places[unit]) + given_of(states[unit])
            if has(words[position - 1], LAST) or holds_from(words, sets, bits, position, labels):
                units[used] = unit
                used += 1
    return used
