"""A Delta table as `follow` sees it: versions from its log, changes from its change data feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from matchwood.spark.follow.tables import ORDER, NoFeed, TableState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEED = "delta.enableChangeDataFeed"
_STAYS = ("insert", "update_postimage")


class DeltaTable:
    """A Delta table, by its name in SQL."""

    format = "delta"

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark, self.name = spark, name

    def state(self) -> TableState:
        detail = self._spark.sql(f"DESCRIBE DETAIL {self.name}").select("id").collect()[0]
        newest = self._spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT 1").select("version").collect()[0]
        return TableState(detail["id"], int(newest["version"]))

    def at(self, version: int | None) -> DataFrame:
        return self._spark.read.option("versionAsOf", str(version)).table(self.name)

    def is_known(self, version: int | None, newest: int | None) -> bool:
        """Versions count up, and a table that was made anew has another identity."""
        return version is not None and newest is not None and version <= newest

    def feed(self, after: int | None, until: int | None) -> DataFrame:
        self._check_feed()
        reader = self._spark.read.option("readChangeFeed", "true").option("startingVersion", str((after or 0) + 1))
        rows = reader.option("endingVersion", str(until)).table(self.name)
        stays = F.col("_change_type").isin(*_STAYS).cast("bigint")
        return rows.withColumn(ORDER, 2 * F.col("_commit_version") + stays)

    def _check_feed(self) -> None:
        properties = self._spark.sql(f"DESCRIBE DETAIL {self.name}").select("properties").collect()[0][0] or {}
        if str(properties.get(FEED)).lower() != "true":
            raise NoFeed(
                f"its change data feed is off (ALTER TABLE {self.name} SET TBLPROPERTIES ({FEED} = true) turns it on)"
            )
