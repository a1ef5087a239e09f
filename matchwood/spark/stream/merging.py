"""Write the hits of a stream into a table, each once: a writer for `match_stream` that merges by what names a hit."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from matchwood.errors import InvalidArgument
from matchwood.spark.follow.tables import table_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERSION = "rules_version"
"""The column with the version of the index that a hit is by."""


def merge_hits(
    table: str | os.PathLike[str], key: str | Iterable[str], rule: str = "rule", format: str = "delta"
) -> MergingWriter:
    """A writer for `match_stream` that adds to a table the hits which it does not have.

    `table`   its name, or the path of a Delta table; made by the first batch if it is not there
    `key`     the column that tells events apart, or several
    `rule`    the column with the rule, `prefix` included if `match_stream` is given one
    `format`  of a table that is to be made: `delta`, `iceberg` or any other that knows MERGE

    Key, rule and the column `rules_version` name a hit. So a batch that is written again adds nothing, and neither does
    an event that arrives twice, as long as the rules are the same.
    """
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not keys or not all(isinstance(name, str) for name in keys):
        raise InvalidArgument(f"key must be the column that tells events apart, or several (got {key!r:.80})")
    return MergingWriter(table_name(table), keys, rule, format)


@dataclass(frozen=True)
class MergingWriter:
    """Plain data, so that Spark Connect can send it to the server."""

    table: str
    keys: tuple[str, ...]
    rule: str
    format: str

    def __call__(self, hits: DataFrame, batch_id: int, version: int) -> None:
        self._check(hits)
        names = (*self.keys, self.rule, VERSION)
        new = hits.withColumn(VERSION, F.lit(version).cast("bigint")).dropDuplicates(list(names))
        self._make(new)
        spark, view = hits.sparkSession, f"matchwood_hits_{uuid.uuid4().hex}"
        new.createOrReplaceTempView(view)
        same = " AND ".join(f"known.{_quoted(name)} <=> new.{_quoted(name)}" for name in names)
        try:
            spark.sql(f"MERGE INTO {self.table} known USING {view} new ON {same} WHEN NOT MATCHED THEN INSERT *")
        finally:
            spark.catalog.dropTempView(view)

    def _check(self, hits: DataFrame) -> None:
        lacking = [name for name in (*self.keys, self.rule) if name not in hits.columns]
        if lacking:
            raise InvalidArgument(
                f"hits have no column {lacking[0]!r} to be merged by (they have {', '.join(hits.columns)}): keep= must "
                "include the key, and output must be 'rows'"
            )

    def _make(self, hits: DataFrame) -> None:
        """Make the table if there is none; of two that try, one finds it made."""
        try:
            len(hits.sparkSession.table(self.table).columns)
        except AnalysisException:
            columns = ", ".join(f"{_quoted(field.name)} {field.dataType.simpleString()}" for field in hits.schema)
            hits.sparkSession.sql(f"CREATE TABLE IF NOT EXISTS {self.table} ({columns}) USING {self.format}")


def _quoted(name: str) -> str:
    """
    >>> _quoted("odd`name")
    '`odd``name`'
    """
    return "`" + name.replace("`", "``") + "`"
