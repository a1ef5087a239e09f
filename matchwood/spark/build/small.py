"""A small table of rules, built in one job: one task reads it, puts the rules in their order and makes the only shard.

Counting the rules first, keeping them on disk meanwhile and placing them by shard are jobs and stages of their own. For
a small table they are most of what Spark's JVM does in the first build of a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.encoding import ROWS
from matchwood.spark.build.rule_stream import RULE_COLUMNS
from matchwood.spark.build.shard_task import ShardTask
from matchwood.spark.build.sizes import RuleTotals, estimated_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL_BYTES = 64 * 2**20
"""What Spark expects a small table to take: half of what it reads of files in one task anyway."""

MOST_HELD = 2**30
"""Bytes of rules that the task holds, with their ids and weights: half of what Arrow can put into one column."""

_READ = frozenset({"LogicalRelation", "LocalRelation", "Project", "Filter", "Union"})
"""Steps of a plan that read rows one after the other. Before all others, a join or a function of Python's, as many
tasks as there are cores may have work to do."""

TOO_LARGE = -1
"""In place of a shard's number: there are more rules than the task may build, and it has only counted them."""


class TooLarge(Exception):
    """A table that was expected to be small is not; `totals` is what it has."""

    def __init__(self, totals: RuleTotals) -> None:
        super().__init__(totals)
        self.totals = totals


def is_small(rules: DataFrame) -> bool:
    """Whether Spark expects a small table that one task can read; False where nobody can look at its plan."""
    try:
        plan = rules._jdf.queryExecution().optimizedPlan()
        return bool(plan.stats().sizeInBytes() <= SMALL_BYTES) and all(name in _READ for name in _steps(plan))
    except Exception:  # Connect has no such plan, and some platforms forbid calls into the JVM
        return False


def _steps(plan: Any) -> Iterator[str]:
    waiting = [plan]
    while waiting:
        step = waiting.pop()
        yield str(step.nodeName())
        children = step.children()
        waiting += [children.apply(number) for number in range(children.size())]


@dataclass(frozen=True)
class SmallTask:
    """Builds the only shard of all rules, which come in any order.

    `most_rules`, `most_bytes`  of more rules, of a larger index, or of more bytes than MOST_HELD, it tells the
    totals alone
    """

    shard: ShardTask
    most_rules: int
    most_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        totals, size, fits = RuleTotals(0, 0), 0, True
        for batch in batches:
            totals = totals.plus(len(batch), pc.sum(pc.binary_length(batch.column("expression"))).as_py() or 0)
            size += batch.nbytes
            fits = fits and size <= MOST_HELD and self._takes(totals)
            held = [*held, batch] if fits else []
        if not fits:
            yield _counted(totals)
        elif totals.rules:
            yield self.shard.build(0, _in_order(held)).row()

    def _takes(self, totals: RuleTotals) -> bool:
        return totals.rules <= self.most_rules and estimated_bytes(totals) <= self.most_bytes


def _counted(totals: RuleTotals) -> pa.RecordBatch:
    told = f"{totals.rules} {totals.text}"
    return pa.record_batch({"shard": pa.array([TOO_LARGE], pa.int32()), "told": pa.array([told])})


def refuse_too_large(rows: list[Any]) -> None:
    """TooLarge if that is what the task has told."""
    for row in rows:
        if row.shard == TOO_LARGE:
            raise TooLarge(RuleTotals(*map(int, row.told.split())))


def _in_order(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rules ordered by id as Spark orders them: NULL first, text by its bytes."""
    table = pa.Table.from_batches(batches).select(RULE_COLUMNS)
    # Arrow puts NULL last, and is about to have another way to ask for it first.
    places = np.roll(pc.sort_indices(table, sort_keys=[("id", "ascending")]), table["id"].null_count)
    return iter(table.take(pa.array(places)).combine_chunks().to_batches(max_chunksize=ROWS))
