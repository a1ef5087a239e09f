"""The pairs of one event's numbers, in one call: each is looked up among the boundaries of its attribute, by address.

All that is touched is pinned (`core/pinned.py`); keys and look-ups are those of `events/columns/_fixed_kernels.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.core.machine_code.brief import brief_kernel
from matchwood.core.pinned import readable, writable
from matchwood.core.prefetch import prefetch
from matchwood.encoding.events.columns._address_kernels import double_of, fetch_at, int32_at
from matchwood.encoding.events.columns._fixed_kernels import SPACES, count_up_to, double_key, number_key
from matchwood.encoding.spaces.keys import DOUBLE

UNKNOWN, OTHERWISE = -1, -2
"""In the place of an attribute: no rule asks for the value; or it is read in another way."""

MISSING, ASTRAY = -1, -2
"""What is returned for an attribute whose line is not known, and for a value that is read in another way."""

_LABEL_BITS = 32


@bare_kernel
def _label_of(lines: Any, line: Any, key: Any, rest: Any) -> Any:
    """The label of a key among the boundaries that a line leads to."""
    found = count_up_to(lines[line] - 1, lines[line + 1], lines[line + 2], key, rest)
    label = np.int64(int32_at(lines[line + 3] + 4 * (found - 1))) if found else np.int64(0)
    if lines[line + 4]:
        found = count_up_to(lines[line + 4], lines[line + 5], lines[line + 6], key, rest)
        if found:
            label = max(label, np.int64(int32_at(lines[line + 7] + 4 * (found - 1))))
    return label


@brief_kernel
def write_pairs(table: Any, integers: int, doubles: int, others: int) -> int:
    """Write an event's pairs in order, packed; returns how many, or MISSING, or ASTRAY.

    The table has what is given, lines by attribute (`numbers.py`), and room for the pairs. Given are the attributes of
    all numbers, then these, integers first and doubles as their bits, then pairs that others have found.
    """
    given, lines, pairs = readable(table, 0, np.int64), readable(table, 1, np.int64), writable(table, 2, np.int64)
    numbers, written = integers + doubles, 0
    # Each event has other attributes, none of which is in the caches: their misses are waited for together.
    for place in range(numbers):
        prefetch(lines, SPACES * given[place])
    for place in range(numbers):
        if given[place] < 0:
            if given[place] == OTHERWISE:
                return ASTRAY
            continue
        line = SPACES * given[place]
        if lines[line] == 0:
            return MISSING
        fetch_at(lines[line + 1] + 4 * lines[line])
        fetch_at(lines[line + 3])
    for place in range(numbers + others):
        pair = given[numbers + place]
        if place < numbers:
            attribute, value = given[place], pair
            if attribute < 0:
                continue
            line = SPACES * attribute
            key, rest = value, np.int64(DOUBLE)
            if place >= integers:
                key = double_key(double_of(value))
            elif lines[line + 2] != 0 or lines[line + 6] != 0:
                key, rest = number_key(value)
            pair = (attribute << _LABEL_BITS) + _label_of(lines, line, key, rest)
        at = written
        while at > 0 and pairs[at - 1] > pair:
            pairs[at] = pairs[at - 1]
            at -= 1
        pairs[at] = pair
        written += 1
    return written
