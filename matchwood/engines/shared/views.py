"""Arrays in the one form that kernels are compiled for: contiguous and read-only.

A kernel is compiled again for each mix of writable and read-only arguments, so whatever comes from
outside (codes from the encoding, arrays mapped from files) passes through here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from matchwood.encoding import EncodedEvents


def read_only(array: Any, dtype: DTypeLike) -> NDArray[Any]:
    """A contiguous read-only view of `array`; a copy only where its type or layout is another."""
    if type(array) is np.ndarray and array.dtype == dtype and not array.flags.writeable and array.flags.c_contiguous:
        return array
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def read_only_events(events: EncodedEvents) -> EncodedEvents:
    """Events as the match kernels take them."""
    return EncodedEvents(
        read_only(events.offsets, np.int64),
        read_only(events.attributes, np.int32),
        read_only(events.labels, np.int32),
    )
