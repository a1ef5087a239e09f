"""Where the sorted boundaries of an attribute lie in memory, as `events/columns/_fixed_kernels.py` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matchwood.encoding.spaces.key_columns import KeyColumn

    Part: TypeAlias = tuple[KeyColumn, NDArray[np.int32]]

NO_SPACES: NDArray[np.int64] = np.array([-1, 0, 0, 0, 0, 0, 0, 0], np.int64)
"""The line of an attribute that has no boundaries, since rules only ask for its NULL."""


class Lookup(NamedTuple):
    """A line of `FixedLayout.spaces`, valid as long as these labels stand in their place; and what it leads to."""

    line: NDArray[np.int64]
    main: NDArray[np.int32]
    tail: NDArray[np.int32]
    keys: tuple[KeyColumn, KeyColumn]


def lookup_of(main: Part, tail: Part) -> Lookup | None:
    """None for texts, and for arrays from a file that are not what they should be."""
    lines = [_part(*part) for part in (main, tail)]
    if lines[0] is None or lines[1] is None:
        return None
    return Lookup(np.array(lines[0] + lines[1], np.int64), main[1], tail[1], (main[0], tail[0]))


def _part(keys: KeyColumn, labels: NDArray[np.int32]) -> list[int] | None:
    arrays = keys.arrays()
    primary, rest = arrays.get("primary"), arrays.get("rest")
    if primary is None or not _is_sound(primary, np.int64, len(labels)) or not _is_sound(labels, np.int32, len(labels)):
        return None
    if rest is None:
        return [len(labels), primary.ctypes.data, 0, labels.ctypes.data]
    if not _is_sound(rest, np.int16, len(labels)):
        return None
    return [len(labels), primary.ctypes.data, rest.ctypes.data, labels.ctypes.data]


def _is_sound(array: NDArray[Any], dtype: Any, size: int) -> bool:
    return array.dtype == dtype and array.shape == (size,) and array.flags.c_contiguous
