"""Which events of a stream are late or repeated, by what its earlier batches have seen.

    <checkpoint>/matchwood-seen/fold=32/batch=40/*.parquet      the keys that batch 40 had, and their latest times
    <checkpoint>/matchwood-seen/fold=32/batch=-1/*.parquet      those of all batches before 32 that are not too old

A batch looks only at the batches before it, which are done: so it is judged the same way when it is replayed. Each
`FOLD` batches what is left of the earlier ones is written as one, so that no batch has many files to read.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import Window
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.spark.locations import location_for
from matchwood.spark.match.event_columns import by_position
from matchwood.spark.match.options import position_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PROBLEM, REASON = "problem", "reason"
LATE, REPEATED = "late", "repeated"
FOLD = 32
DIRECTORY = "matchwood-seen"

_TIME, _EARLIER, _PLACE = "matchwood_time", "matchwood_earlier", "matchwood_place"
_MICROSECOND = datetime.timedelta(microseconds=1)
_ORDER = ("topic", "partition", "offset")
"""Kafka's own columns, which tell the first of several messages with one time."""


@dataclass(frozen=True)
class Seen:
    """How a stream tells late and repeated events.

    `time`      the column with an event's time
    `within`    how far an event may be behind the latest one of the batches before
    `distinct`  the columns whose values, together, name an event; none if repeated ones do not matter
    """

    checkpoint: str
    time: str
    within: datetime.timedelta
    distinct: tuple[str, ...] = ()

    def check(self, events: DataFrame) -> None:
        """InvalidArgument if the events have no such columns, or not of such types."""
        kind = events.schema.fields[position_of(events.columns, self.time, "time")].dataType
        if not isinstance(kind, st.TimestampType | st.TimestampNTZType):
            cast = f"F.col({self.time!r}).cast('timestamp')"
            raise InvalidArgument(
                f"time: column {self.time!r} must be a timestamp (it is {kind.simpleString()}): write {cast}"
            )
        for name in self.distinct:
            kind = events.schema.fields[position_of(events.columns, name, "distinct")].dataType
            if not isinstance(kind, st.AtomicType):
                raise InvalidArgument(f"distinct: column {name!r} must be a plain value (it is {kind.simpleString()})")

    def judged(self, batch: DataFrame, batch_id: int) -> DataFrame:
        """The columns of a batch, called by position, and a `problem` with its `reason` where an event has one."""
        time = sf.col(f"_{position_of(batch.columns, self.time, 'time')}").cast("timestamp")
        frame, keys = by_position(batch).withColumn(_TIME, sf.unix_micros(time)), self._keys(batch)
        known = self._known(frame, keys, batch_id)
        newest = None if known is None else known.agg(sf.max(_TIME)).collect()[0][0]
        limit = None if newest is None else newest - self.within // _MICROSECOND
        if keys:
            frame = _with_earlier(frame, known, keys, limit).withColumn(_PLACE, _place(keys, batch.columns, limit))
        reasons = {LATE: self._late(limit), REPEATED: self._repeated(keys)}
        problem = sf.coalesce(*(sf.when(reason.isNotNull(), sf.lit(name)) for name, reason in reasons.items()))
        told = frame.withColumn(PROBLEM, problem).withColumn(REASON, sf.coalesce(*reasons.values()))
        return told.drop(_EARLIER, _PLACE)

    def record(self, batch: DataFrame, judged: DataFrame, batch_id: int) -> None:
        """Write down what a batch had in time, in place of what an interrupted run of it wrote."""
        in_time = judged.filter(~sf.col(PROBLEM).eqNullSafe(LATE))
        keys = [sf.col(key).alias(_stored(number)) for number, key in enumerate(self._keys(batch))]
        rows = in_time.groupBy(*keys).agg(sf.max(_TIME).alias(_TIME))
        rows.write.mode("overwrite").parquet(self._folder(_fold(batch_id), batch_id))

    def _keys(self, batch: DataFrame) -> list[str]:
        return [f"_{position_of(batch.columns, name, 'distinct')}" for name in self.distinct]

    def _late(self, limit: int | None) -> Column:
        untimed = sf.when(sf.col(_TIME).isNull(), sf.lit(f"it has no {self.time!r}"))
        if limit is None:
            return untimed
        told = f"its {self.time!r} is more than {self.within} before the latest one of earlier batches"
        return untimed.when(sf.col(_TIME) < limit, sf.lit(told))

    def _repeated(self, keys: list[str]) -> Column:
        if not keys:
            return sf.lit(None).cast("string")
        told = f"an event with the same {', '.join(map(repr, self.distinct))} came before"
        return sf.when(sf.col(_EARLIER) | (_has_key(keys) & (sf.col(_PLACE) > 1)), sf.lit(told))

    def _known(self, frame: DataFrame, keys: list[str], batch_id: int) -> DataFrame | None:
        """What the batches before have seen; a batch that begins a fold first brings the fold before together."""
        fold = _fold(batch_id)
        stored = [(_stored(number), frame.schema[key].dataType) for number, key in enumerate(keys)]
        fields = [*stored, (_TIME, st.LongType()), ("fold", st.LongType()), ("batch", st.LongType())]
        schema = st.StructType([st.StructField(name, kind) for name, kind in fields])
        if fold and fold == batch_id:
            self._bring_together(frame.sparkSession, schema, fold)
        found = self._read(frame.sparkSession, schema)
        return None if found is None else found.filter((sf.col("fold") == fold) & (sf.col("batch") < batch_id))

    def _bring_together(self, spark: SparkSession, schema: st.StructType, fold: int) -> None:
        found = self._read(spark, schema)
        if found is None:
            return
        before = found.filter(sf.col("fold") == fold - FOLD)
        newest = before.agg(sf.max(_TIME)).collect()[0][0]
        stays = before.filter(sf.col(_TIME) >= (newest or 0) - self.within // _MICROSECOND)
        rows = stays.groupBy(*schema.names[:-3]).agg(sf.max(_TIME).alias(_TIME))
        rows.write.mode("overwrite").parquet(self._folder(fold, -1))
        with contextlib.suppress(OSError, ValueError, MatchwoodError):  # where only Spark reaches: it stays, unread
            location_for(spark, self._place).remove(f"fold={fold - 2 * FOLD}")

    def _read(self, spark: SparkSession, schema: st.StructType) -> DataFrame | None:
        try:
            return spark.read.schema(schema).parquet(self._place)
        except AnalysisException:  # nothing was recorded yet
            return None

    @property
    def _place(self) -> str:
        return f"{self.checkpoint.rstrip('/')}/{DIRECTORY}"

    def _folder(self, fold: int, batch: int) -> str:
        return f"{self._place}/fold={fold}/batch={batch}"


def _fold(batch_id: int) -> int:
    return batch_id - batch_id % FOLD


def _stored(number: int) -> str:
    return f"key_{number}"


def _has_key(keys: list[str]) -> Column:
    """As with a unique key of SQL, an event with a NULL in its key is like no other."""
    return reduce(and_, (sf.col(key).isNotNull() for key in keys))


def _with_earlier(frame: DataFrame, known: DataFrame | None, keys: list[str], limit: int | None) -> DataFrame:
    """With a column that tells whether an event with the same key is among the known ones that are not too old."""
    if known is None or limit is None:
        return frame.withColumn(_EARLIER, sf.lit(False))
    names = {_stored(number): f"matchwood_{_stored(number)}" for number in range(len(keys))}
    recent = known.filter(sf.col(_TIME) >= limit).select(*(sf.col(old).alias(new) for old, new in names.items()))
    same = reduce(and_, (sf.col(key) == sf.col(name) for key, name in zip(keys, names.values(), strict=True)))
    marked = recent.distinct().withColumn(_EARLIER, sf.lit(True))
    joined = frame.join(marked, same, "left").drop(*names.values())
    return joined.withColumn(_EARLIER, sf.coalesce(sf.col(_EARLIER), sf.lit(False)))


def _place(keys: list[str], names: Sequence[str], limit: int | None) -> Column:
    """Which of the events of a batch with one key this is, by time; late ones do not count."""
    in_time = sf.lit(True) if limit is None else sf.col(_TIME) >= limit
    order = [sf.col(f"_{names.index(name)}") for name in _ORDER if name in names]
    return sf.row_number().over(Window.partitionBy(*keys, in_time).orderBy(_TIME, *order))
