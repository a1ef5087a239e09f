"""What every room stands on: arrays, declared state, compilation, locks, hashing. It knows nothing of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.core.arrays import Growable, grouped, places_in, pooled, pooled_copy
    from matchwood.core.locks import ReadersWriterLock
    from matchwood.core.state import arrays_of, headers_of, restore_rooms

__all__ = [
    "Growable",
    "ReadersWriterLock",
    "arrays_of",
    "grouped",
    "headers_of",
    "places_in",
    "pooled",
    "pooled_copy",
    "restore_rooms",
]

__getattr__ = exports(__name__)
