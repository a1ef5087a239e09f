"""Forms: the hash of one, and its evaluation node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood._hashing import combine64
from matchwood._jit import kernel
from matchwood.engines._record_kernels import FLAG_BITS, WIDTH, hash_records, pack
from matchwood.engines._verify_kernels import clear, passes, scatter

AND = -1
OR = -2


@kernel
def pack_all(source: Any, records: Any, position: int, intervals: Any, used: int) -> int:
    """Write all constraints of `source` as records from `position` on; returns the intervals then in use."""
    for constraint in range(len(source.attributes)):
        used = pack(source, constraint, records, position + constraint, intervals, used)
    return used


@kernel
def hash_form(forms: Any, unit: int) -> Any:
    """A hash of all that a form says, wherever it is stored."""
    accumulated = hash_records(forms.records, forms.intervals, forms.offsets[unit], forms.offsets[unit + 1])
    for node in range(forms.node_offsets[unit], forms.node_offsets[unit + 1]):
        start, stop = forms.child_offsets[node], forms.child_offsets[node + 1]
        accumulated = combine64(accumulated, np.uint64(np.int64(forms.nodes[node]) + 2))
        accumulated = combine64(accumulated, np.uint64(stop - start))
        for child in range(start, stop):
            accumulated = combine64(accumulated, np.uint64(forms.children[child]))
    return accumulated


@kernel
def hash_all(forms: Any, hashes: Any) -> None:
    """The hashes of all forms, dead ones included."""
    for unit in range(len(hashes)):
        hashes[unit] = hash_form(forms, unit)


@kernel
def evaluate(forms: Any, unit: int, labels: Any, values: Any) -> Any:
    """Whether a form is true of the scattered labels; `values` has room for its nodes."""
    first, end = forms.node_offsets[unit], forms.node_offsets[unit + 1]
    for node in range(first, end):
        kind = forms.nodes[node]
        if kind >= 0:
            at = WIDTH * (forms.offsets[unit] + kind)
            code, low, high = forms.records[at], forms.records[at + 1], forms.records[at + 2]
            values[node - first] = passes(code, low, high, labels[code >> FLAG_BITS], forms.intervals)
            continue
        verdict = kind == AND
        for child in range(forms.child_offsets[node], forms.child_offsets[node + 1]):
            if values[forms.children[child]] != verdict:
                verdict = not verdict
                break
        values[node - first] = verdict
    return values[end - 1 - first]


@kernel
def match_forms(
    forms: Any, indexed: Any, live: int, events: Any, first: int, labels: Any, values: Any,
    units: Any, offsets: Any, work: Any,
) -> None:  # fmt: skip
    """Evaluate every indexed form for every event from `first` on, while a whole event's hits have room."""
    used = 0
    for event in range(first, len(events.offsets) - 1):
        if len(units) - used < live:
            break
        scatter(events, event, labels)
        for unit in range(len(indexed)):
            if indexed[unit] and evaluate(forms, unit, labels, values):
                units[used] = unit
                used += 1
        clear(events, event, labels)
        offsets[event - first + 1] = used
        work[0] += 1
    work[1] = work[2] = work[0] * live
    work[3] = used
