"""What every room stands on: arrays, declared state, compilation, locks, hashing. It knows nothing of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.core.arrays import Growable, grouped, places_in, pooled, pooled_copy
    from matchwood.core.checks import require, require_offsets, require_range, saved, saved_count
    from matchwood.core.fields import Column, Field, Number, Part, Table
    from matchwood.core.interning import IntegerNumbers, SpanNumbers
    from matchwood.core.lanes import LANES
    from matchwood.core.locks import ReadersWriterLock
    from matchwood.core.machine_code import CACHE, PRECOMPILED, cache_directory, compilations, loading
    from matchwood.core.notice import tell_of_compiling
    from matchwood.core.parallel import in_parallel
    from matchwood.core.pinned import Pinned
    from matchwood.core.state import State, arrays_of, headers_of, restore_rooms

__all__ = [
    "CACHE",
    "LANES",
    "PRECOMPILED",
    "Column",
    "Field",
    "Growable",
    "IntegerNumbers",
    "Number",
    "Part",
    "Pinned",
    "ReadersWriterLock",
    "SpanNumbers",
    "State",
    "Table",
    "arrays_of",
    "cache_directory",
    "compilations",
    "grouped",
    "headers_of",
    "in_parallel",
    "loading",
    "places_in",
    "pooled",
    "pooled_copy",
    "require",
    "require_offsets",
    "require_range",
    "restore_rooms",
    "saved",
    "saved_count",
    "tell_of_compiling",
]

__getattr__ = exports(__name__)
