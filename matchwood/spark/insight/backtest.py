"""What a set of changes of rules would gain and lose on past events, before anything is published."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type

from matchwood import storage
from matchwood.errors import InvalidArgument, LimitExceeded
from matchwood.index import Index
from matchwood.matching import in_words, stored_uses
from matchwood.sharding import ShardSet, open_shards
from matchwood.spark.build.rule_columns import RuleColumns, checked_rules, id_type
from matchwood.spark.build.shard_task import settings_of
from matchwood.spark.frames import checked_frame
from matchwood.spark.insight.backtest_report import Judged, write_report
from matchwood.spark.jobs import described
from matchwood.spark.match.event_columns import by_position, column_named
from matchwood.spark.match.match import match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger("matchwood.spark")

MOST_CHANGES = 100_000
"""Changes are looked at by the driver: beyond so many, publish them beside the index and ask `diff`."""

SAMPLED = 5
COUNTS = ("before", "after", "gained", "lost")
_OLD, _NEW = "matchwood_old_", "matchwood_new_"


def backtest(
    events: DataFrame,
    path: str | os.PathLike[str],
    changes: DataFrame,
    key: str,
    id: str = "id",
    expression: str = "expression",
    event: str | None = None,
    on_error: str = "null",
    missing: str = "null",
    version: int | None = None,
    samples: int = SAMPLED,
) -> DataFrame:
    """DataFrame(rule, before, after, gained, lost, sample array): what changes would do to the hits of events.

    `changes`     rows as `update` takes them: an expression that is NULL deletes the rule with that id
    `key`         the column of the events that identifies them in the samples
    `id`, `expression`  the columns of the changes
    `event`, `on_error`, `missing`  as in `match`
    `version`     the version to change; the current one by default
    `samples`     how many of the events that a rule gains or loses are named

    `before` and `after` count the events for which a rule is true now, and after the changes; `gained` and `lost`
    count the events for which that differs. Only rules that change are matched, and nothing is published: they lie
    beside the index while this runs. A change that would be rejected leaves its rule as it is, and a warning says so.
    `.report(html_path)` on the result writes a page with the counts, the texts and, for the sample, the reasons.
    """
    checked_frame(events, "events")
    if key not in events.columns:
        raise InvalidArgument(f"the events have no column {key!r} (they have {', '.join(events.columns)})")
    base = open_shards(path, version)
    trial = _Trial.of(base, _collected(changes, RuleColumns(id, expression), base))
    options = {"event": event, "on_error": on_error, "missing": missing}
    told = f"backtest of {len(trial.changes):,} changes to {path}, version {base.version}"
    with described(events.sparkSession, told), storage.lent_directory(path) as place:
        counted = trial.counted(events, place, key, samples, options)
    frame = events.sparkSession.createDataFrame(counted, _schema(events, key, base.id_type))
    judged = partial(_judged, events, key, event, trial, counted)
    setattr(frame, "report", lambda html_path: write_report(html_path, judged()))  # noqa: B010
    return frame


def _collected(changes: DataFrame, columns: RuleColumns, base: ShardSet) -> dict[Any, str | None]:
    """The changes by id."""
    plain = checked_rules(changes, columns)
    if len(base) and id_type(plain) != base.layout.id_type:
        raise InvalidArgument(f"the ids of the changes are {id_type(plain)}, those of the index {base.layout.id_type}")
    rows = plain.select("id", "expression").where("id IS NOT NULL").limit(MOST_CHANGES + 1).collect()
    if len(rows) > MOST_CHANGES:
        raise LimitExceeded(f"more than {MOST_CHANGES:,} changes: update a copy of the index, and use diff")
    twice = [rule for rule, count in Counter(row["id"] for row in rows).items() if count > 1]
    if twice:
        raise InvalidArgument(f"ids occur more than once among the changes: {', '.join(map(repr, twice[:20]))}")
    return {row["id"]: row["expression"] for row in rows}


@dataclass(frozen=True)
class _Trial:
    """The rules that change, as they are and as they would be.

    `old`, `new`  indexes of these rules alone, with the types that all other rules ask for
    """

    base: ShardSet
    changes: dict[Any, str | None]
    before: dict[Any, str]
    after: dict[Any, str]
    old: Index
    new: Index

    @classmethod
    def of(cls, base: ShardSet, changes: dict[Any, str | None]) -> _Trial:
        before = dict(base.entries(list(changes))) if len(base) and changes else {}
        wanted = {rule: text for rule, text in changes.items() if text is not None}
        old, new = _index(base, before, {}), _index(base, {}, before)
        rejected = new.insert_many(sorted(wanted.items()), max_rejected=1.0).rejected
        if len(rejected):
            _log.warning("%d changes would be rejected: %s", len(rejected), "; ".join(in_words(rejected)[:5]))
        refused = {rule: before[rule] for rule in rejected["id"].to_pylist() if rule in before}
        new.insert_many(sorted(refused.items()), max_rejected=1.0)
        return cls(base, changes, before, dict(new.items()), old, new)

    def counted(
        self, events: DataFrame, place: str, key: str, samples: int, options: dict[str, Any]
    ) -> list[tuple[Any, ...]]:
        """One row for each change: the rule, the counts and the sample."""
        if not self.changes:
            return []
        for index, name in ((self.old, "old"), (self.new, "new")):
            index.save(f"{place}/{name}")
        both = match(events, f"{place}/old", output="array", prefix=_OLD, **options)
        both = match(both, f"{place}/new", output="array", prefix=_NEW, **options)
        ids = f"array<{from_arrow_type(self.base.id_type).simpleString()}>"
        pairs = by_position(both).select(
            column_named(both, key).alias("key"),
            *(column_named(both, f"{prefix}rules").cast(ids).alias(prefix) for prefix in (_OLD, _NEW)),
        )
        told = _added(pairs, _schema(events, key, self.base.id_type), samples)
        found = {row["rule"]: tuple(row) for row in told.collect()}
        return [found.get(rule, (rule, 0, 0, 0, 0, [])) for rule in self.changes]


def _index(base: ShardSet, rules: dict[Any, str], going: dict[Any, str]) -> Index:
    """An index of some rules beside all others of a version but those that go."""
    index = settings_of(base.snapshot, base.layout.bases[0]).index()
    schema, uses = index._encoder.schema, Counter(base.layout.uses)
    for text in going.values():
        uses.subtract(stored_uses(schema, text))
    schema.restore({use: count for use, count in uses.items() if count > 0})
    index.insert_many(sorted(rules.items()), on_error="raise")
    return index


def _schema(events: DataFrame, key: str, ids: pa.DataType) -> st.StructType:
    keys = events.schema.fields[events.columns.index(key)].dataType
    counts = [st.StructField(name, st.LongType()) for name in COUNTS]
    return st.StructType(
        [st.StructField("rule", from_arrow_type(ids)), *counts, st.StructField("sample", st.ArrayType(keys))]
    )


def _added(pairs: DataFrame, schema: st.StructType, samples: int) -> DataFrame:
    """What all tasks counted, rule by rule."""
    counted = pairs.mapInArrow(_counter(samples), schema)
    sample = sf.slice(sf.array_sort(sf.flatten(sf.collect_list("sample"))), 1, samples).alias("sample")
    return counted.groupBy("rule").agg(*(sf.sum(name).alias(name) for name in COUNTS), sample)


class _Hit(NamedTuple):
    """The hits of a batch as pairs of an event's row and the place of a rule among all that were hit."""

    events: Any
    rules: Any


def _counter(samples: int) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What the workers do with keys and the rules before and after: one row a rule and batch."""

    def count_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield _counts(batch, samples)

    return count_batches


def _counts(batch: pa.RecordBatch, samples: int) -> pa.RecordBatch:
    ids = pa.concat_arrays([column.flatten() for column in batch.columns[1:]]).unique()
    was, now = (_hits(column, ids) for column in batch.columns[1:])
    old, new = (hit.events * len(ids) + hit.rules for hit in (was, now))
    gained, lost = np.setdiff1d(new, old), np.setdiff1d(old, new)
    counts = [np.bincount(pairs % max(len(ids), 1), minlength=len(ids)) for pairs in (old, new, gained, lost)]
    shown = _sample(np.union1d(gained, lost), batch.column(0), len(ids), samples)
    columns = [ids, *(pa.array(count.astype(np.int64)) for count in counts), shown]
    return pa.record_batch(columns, names=["rule", *COUNTS, "sample"])


def _hits(column: pa.ListArray, ids: pa.Array) -> _Hit:
    offsets = column.offsets.to_numpy()
    rules = pc.index_in(column.flatten(), ids).to_numpy(zero_copy_only=False).astype(np.int64)
    return _Hit(np.repeat(np.arange(len(column)), np.diff(offsets)), rules)


def _sample(changed: Any, keys: pa.Array, rules: int, samples: int) -> pa.ListArray:
    """For each rule the keys of the first events among its changes."""
    owners, events = changed % max(rules, 1), changed // max(rules, 1)
    order = np.argsort(owners, kind="stable")
    found = np.bincount(owners, minlength=rules)
    within = np.arange(len(order)) - np.repeat(np.cumsum(found) - found, found)
    kept = order[within < samples]
    offsets = np.concatenate(([0], np.cumsum(np.minimum(found, samples)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), keys.take(pa.array(events[kept])))


def _judged(
    events: DataFrame, key: str, event: str | None, trial: _Trial, counted: list[tuple[Any, ...]]
) -> list[Judged]:
    """All that the page tells of each change; the events of the sample are read once more."""
    wanted = sorted({each for row in counted for each in row[-1] if each is not None})
    found: dict[Any, dict[str, Any]] = {}
    if wanted:
        for row in events.where(events[key].isin(wanted)).collect():
            held = row.asDict(recursive=True)
            found[held[key]] = held if event is None else held[event] or {}
    return [Judged.of(row, trial.before, trial.after, found, trial.base) for row in counted]
