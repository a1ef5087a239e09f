"""Sorting within kernels.

A few elements are put in order by insertion, where they are needed. For more, Numba has NumPy's `argsort`: its merge
sort took two seconds to compile, a twentieth of all that an index needs for its first match, for conjunctions of more
than 32 constraints. A heap takes a third of that, and no room.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel


@bare_kernel
def _sink(keys: Any, names: Any, start: Any, place: Any, count: Any, order: Any) -> None:
    """Let the position at a place of the heap sink below all that come after it."""
    sinking = order[start + place]
    key = keys[names[start + sinking]] if len(names) > 0 else keys[start + sinking]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        found = order[start + child]
        other = keys[names[start + found]] if len(names) > 0 else keys[start + found]
        if child + 1 < count:
            second = order[start + child + 1]
            right = keys[names[start + second]] if len(names) > 0 else keys[start + second]
            if right > other or (right == other and second > found):
                child, found, other = child + 1, second, right
        if key > other or (key == other and sinking > found):
            break
        order[start + place] = found
        place = child
    order[start + place] = sinking


@bare_kernel
def order_by(keys: Any, names: Any, start: Any, stop: Any, order: Any) -> None:
    """Make order[start:stop] the positions from `start` on in the order of their keys, equal ones as they stand.

    The key of position p is keys[names[start + p]], or keys[start + p] if there are no names. No key is NaN.
    """
    begin, count = np.int64(start), np.int64(stop) - np.int64(start)
    for position in range(count):
        order[begin + position] = position
    for place in range(count // 2 - 1, -1, -1):
        _sink(keys, names, begin, np.int64(place), count, order)
    for last in range(count - 1, 0, -1):
        largest = order[begin]
        order[begin] = order[begin + last]
        order[begin + last] = largest
        _sink(keys, names, begin, np.int64(0), np.int64(last), order)
