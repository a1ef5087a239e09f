"""An Iceberg table as `follow` sees it: snapshots, and the rows that came and went between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from matchwood.spark.follow.tables import ORDER, TableState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class IcebergTable:
    """An Iceberg table, by its name in a catalog; its versions are the numbers of snapshots, None before the first."""

    format = "iceberg"

    def __init__(self, spark: SparkSession, name: str, location: str) -> None:
        self._spark, self.name, self._location = spark, name, location

    def state(self) -> TableState:
        history = self._spark.table(f"{self.name}.history").orderBy(F.desc("made_current_at"))
        newest = history.select("snapshot_id").limit(1).collect()
        return TableState(self._location, int(newest[0]["snapshot_id"]) if newest else None)

    def at(self, version: int | None) -> DataFrame:
        if version is None:
            return self._spark.table(self.name).limit(0)
        return self._spark.read.option("versionAsOf", str(version)).table(self.name)

    def is_known(self, version: int | None, newest: int | None) -> bool:
        """Whether a snapshot is an ancestor of the current one; a table that was made anew does not have it."""
        history = self._spark.table(f"{self.name}.history").where("is_current_ancestor")
        return version is None or bool(history.where(F.col("snapshot_id") == version).limit(1).collect())

    def feed(self, after: int | None, until: int | None) -> DataFrame:
        reader = self._spark.read.option("end-snapshot-id", str(until))
        if after is not None:
            reader = reader.option("start-snapshot-id", str(after))
        rows = reader.table(f"{self.name}.changes")
        stays = (F.col("_change_type") == "INSERT").cast("bigint")
        return rows.withColumn(ORDER, 2 * F.col("_change_ordinal").cast("bigint") + stays)
