"""The match loop of an engine that only tells candidates: each is verified against the store."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel
from matchwood.engines.shared._verification_kernels import clear, scatter, verify


@kernel
def match_candidates(
    conjunctions: Any,
    starts: Any,
    candidates: Any,
    events: Any,
    first: int,
    labels: Any,
    units: Any,
    offsets: Any,
    work: Any,
) -> None:
    """Verify candidates[starts[i] : starts[i + 1]] for event first + i; stops before one whose hits may not fit."""
    places, words, sets, bits = conjunctions
    used = 0
    for place in range(len(starts) - 1):
        start, stop = starts[place], starts[place + 1]
        if stop - start > len(units) - used:
            break
        scatter(events, first + place, labels)
        for at in range(start, stop):
            if verify(places, words, sets, bits, candidates[at], labels):
                units[used] = candidates[at]
                used += 1
        clear(events, first + place, labels)
        offsets[place + 1] = used
        work[0] += 1
        work[1] += stop - start
        work[2] += stop - start
    work[3] = used
