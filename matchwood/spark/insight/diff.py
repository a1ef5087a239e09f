"""What another version of an index changes for events: the rules that each gains and loses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from matchwood.errors import InvalidArgument
from matchwood.spark.frames import checked_frame
from matchwood.spark.match.event_columns import by_position, column_named
from matchwood.spark.match.match import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OLD, _NEW = "matchwood_old_", "matchwood_new_"


def diff(events: DataFrame, path: str | os.PathLike[str], old: int, new: int, key: str) -> DataFrame:
    """DataFrame(key, gained array, lost array): the events for which versions `new` and `old` give different answers.

    `key`  the column of the events that becomes the column `key` of the result

    `gained` are rules that are true in `new` only, `lost` those in `old` only, each in rule order. Events for which
    both versions answer the same are left out.
    """
    checked_frame(events, "events")
    if key not in events.columns:
        raise InvalidArgument(f"the events have no column {key!r} (they have {', '.join(events.columns)})")
    before = match(events, path, output="array", version=old, prefix=_OLD, on_error="null")
    both = match(before, path, output="array", version=new, prefix=_NEW, on_error="null")
    was, now = column_named(both, f"{_OLD}rules"), column_named(both, f"{_NEW}rules")
    changed = by_position(both).select(
        column_named(both, key).alias("key"),
        sf.array_except(now, was).alias("gained"),
        sf.array_except(was, now).alias("lost"),
    )
    return changed.where((sf.size("gained") > 0) | (sf.size("lost") > 0))
