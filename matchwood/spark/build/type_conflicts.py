"""Rules of different shards that contradict each other on a type: which of them give way.

One index takes a type from most of its rules, and refuses the few that say otherwise. Shards are built apart, so the
votes of all rules are counted first, and every shard is then held against what came of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from matchwood.encoding import Settled
from matchwood.matching import Voters, Votes, rule_chunks
from matchwood.sharding import ID_TYPES
from matchwood.spark.build.rule_stream import EachIdOnce, by_shard
from matchwood.spark.build.shard_task import BuildSettings, rule_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def settled(rules: DataFrame, settings: BuildSettings, id_type: str, keeps_last: bool) -> dict[str, Settled]:
    """The kinds of all attributes that rules contradict each other on, by what most of them ask."""
    task = VotesTask(settings, id_type, keeps_last)
    disputed = _votes(rules, task).disputed()
    return _votes(rules, replace(task, names=frozenset(disputed))).settled() if disputed else {}


def _votes(rules: DataFrame, task: VotesTask) -> Votes:
    """The votes of all partitions. Those come first whose first rule does: as many for another kind are no more."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)

    ids = "string" if task.id_type == "string" else "bigint"
    found = rules.mapInArrow(run, f"uses string, id {ids}, votes bigint")
    rows = found.groupBy("uses").agg(F.min("id").alias("id"), F.sum("votes").alias("votes")).collect()
    votes = Votes(task.settings.index()._encoder)
    for row in sorted(rows, key=lambda row: row["id"]):
        votes.add_ballot([(name, kind) for name, kind in json.loads(row["uses"])], Voters(row["votes"], row["id"]))
    return votes


@dataclass(frozen=True)
class VotesTask:
    """Counts what the rules of a partition ask of attributes: of some together, or of each by itself.

    What is returned is small in both cases, whatever the number of rules.
    """

    settings: BuildSettings
    id_type: str
    keeps_last: bool
    names: frozenset[str] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        votes = Votes(self.settings.index()._encoder)
        for _, part in by_shard(batches):
            for chunk in rule_chunks(rule_reader(EachIdOnce(part, self.keeps_last), self.id_type)):
                votes.add_chunk(chunk)
        ballots = votes.each() if self.names is None else votes.on(self.names)
        yield pa.record_batch(
            {
                "uses": pa.array([json.dumps(uses) for uses in ballots], pa.string()),
                "id": pa.array([voters.first for voters in ballots.values()], ID_TYPES[self.id_type]),
                "votes": pa.array([voters.votes for voters in ballots.values()], pa.int64()),
            }
        )
