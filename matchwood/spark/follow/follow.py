"""`mws.follow`: an index that has the rules of a table, and keeps having them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from matchwood import storage
from matchwood.errors import InvalidArgument
from matchwood.matching import RejectLimit, checked_flag
from matchwood.spark.build.build import check_choices
from matchwood.spark.build.rule_columns import RuleColumns
from matchwood.spark.follow.delta import DeltaTable
from matchwood.spark.follow.follower import Follower
from matchwood.spark.follow.following import Following
from matchwood.spark.follow.iceberg import IcebergTable
from matchwood.spark.follow.tables import FollowedTable, described_table, table_name
from matchwood.spark.locations import location_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUILDING = ("engine", "options", "schema", "shards", "nan", "coerce", "events")


def follow(
    spark: SparkSession,
    table: str | os.PathLike[str],
    path: storage.Path,
    id: str = "id",
    expression: str = "expression",
    weight: str | None = None,
    weights: str | None = None,
    *,
    trigger: Mapping[str, Any] | None = None,
    reset: bool = False,
    on_error: str = "quarantine",
    max_rejected: float | None = None,
    **building: Any,
) -> Following:
    """Bring the index at `path` to what a Delta or Iceberg table of rules is now, and keep it there if asked.

    `table`     the table's name, or the path of a Delta table
    `trigger`   {"availableNow": True}, the default, returns once the index has the table's newest version;
                {"processingTime": "10 seconds"} then continues in the background and looks this often for a newer one
    `reset`     build the index again from the whole table, as a new version

    The other arguments are those of `build`; engine, options, schema, shards, nan, coerce and events count when the
    index is built. Each version of the index records the version of the table that it stands for, and following
    continues from what was published last: every change is applied exactly once. See docs/lakehouse.md.
    """
    check_choices(on_error, "error", None)
    _check_building(building)
    interval = _interval(trigger)
    columns = RuleColumns(id, expression, weight, weights)
    place, limit = location_for(spark, path), RejectLimit.of(max_rejected)
    follower = Follower(spark, opened_table(spark, table), place, columns, on_error, limit, building)
    step = follower.step(checked_flag("reset", reset))
    return Following(follower, [] if step is None else [step], interval)


def opened_table(spark: SparkSession, table: str | os.PathLike[str]) -> FollowedTable:
    """A table that can be followed; InvalidArgument for any other."""
    if not hasattr(spark, "createDataFrame"):
        raise InvalidArgument(f"follow(spark, table, path) takes a Spark session first (got {spark!r:.80})")
    name = table_name(table)
    told = described_table(spark, name)
    provider = str(told.get("Provider")).lower()
    if provider == "delta":
        return DeltaTable(spark, name)
    if provider == "iceberg":
        return IcebergTable(spark, name, str(told.get("Location")))
    raise InvalidArgument(
        f"only Delta and Iceberg tables tell what changed in them, and {name} is neither (its provider: "
        f"{told.get('Provider')}): use build and update"
    )


def _interval(trigger: Mapping[str, Any] | None) -> timedelta | None:
    given: dict[str, Any] = {"availableNow": True} if trigger is None else dict(trigger)
    if given == {"availableNow": True}:
        return None
    if list(given) == ["processingTime"]:
        return storage.duration_of("trigger: processingTime", given["processingTime"])
    raise InvalidArgument(
        f"trigger must be {{'availableNow': True}} or {{'processingTime': '10 seconds'}} (got {trigger!r:.80})"
    )


def _check_building(given: Mapping[str, Any]) -> None:
    unknown = [name for name in given if name not in BUILDING]
    if unknown:
        raise InvalidArgument(
            f"follow has no argument {unknown[0]!r} (of those of build, it takes {', '.join(BUILDING)})"
        )
