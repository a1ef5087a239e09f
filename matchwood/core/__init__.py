"""What every room stands on: arrays, declared state, compilation, locks, hashing. It knows nothing of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.core.arrays import (
        BulkMemory,
        Growable,
        ScratchGrowable,
        bulk_memory,
        grouped,
        places_in,
        pooled,
        pooled_copy,
        pooled_full,
        runs,
    )
    from matchwood.core.checks import require, require_offsets, require_range, saved, saved_count
    from matchwood.core.compiling import BESIDE
    from matchwood.core.fields import MOST_COUNT, Column, Counts, Field, Number, Part, Room, Table, widened
    from matchwood.core.interning import IntegerNumbers, SpanNumbers
    from matchwood.core.interpreting import (
        INTERPRET,
        MOST_EVENTS,
        MOST_RULES,
        always_compiled,
        count_of,
        may_interpret,
    )
    from matchwood.core.lanes import LANES
    from matchwood.core.later import Later
    from matchwood.core.locks import ReadersWriterLock
    from matchwood.core.machine_code.collecting import without_collecting
    from matchwood.core.machine_code.kept import (
        CACHE,
        PRECOMPILED,
        cache_directory,
        compilations,
        interpretations,
        loading,
    )
    from matchwood.core.notice import tell_of_compiling
    from matchwood.core.parallel import in_parallel
    from matchwood.core.pinned import Pinned
    from matchwood.core.state import State, arrays_of, headers_of, restore_rooms
    from matchwood.core.turns import (
        BeginAgain,
        LittleTurn,
        MatchingTurn,
        UnchangedTurn,
        at_rest,
        before_kernels,
        begun_again,
        giving_up,
        leads_others,
        little_work,
        within_this_turn,
    )

__all__ = [
    "BESIDE",
    "CACHE",
    "INTERPRET",
    "LANES",
    "MOST_COUNT",
    "MOST_EVENTS",
    "MOST_RULES",
    "PRECOMPILED",
    "BeginAgain",
    "BulkMemory",
    "Column",
    "Counts",
    "Field",
    "Growable",
    "IntegerNumbers",
    "Later",
    "LittleTurn",
    "MatchingTurn",
    "Number",
    "Part",
    "Pinned",
    "ReadersWriterLock",
    "Room",
    "ScratchGrowable",
    "SpanNumbers",
    "State",
    "Table",
    "UnchangedTurn",
    "always_compiled",
    "arrays_of",
    "at_rest",
    "before_kernels",
    "begun_again",
    "bulk_memory",
    "cache_directory",
    "compilations",
    "count_of",
    "giving_up",
    "grouped",
    "headers_of",
    "in_parallel",
    "interpretations",
    "leads_others",
    "little_work",
    "loading",
    "may_interpret",
    "places_in",
    "pooled",
    "pooled_copy",
    "pooled_full",
    "require",
    "require_offsets",
    "require_range",
    "restore_rooms",
    "runs",
    "saved",
    "saved_count",
    "tell_of_compiling",
    "widened",
    "within_this_turn",
    "without_collecting",
]

__getattr__ = exports(__name__)
