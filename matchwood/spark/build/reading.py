"""The first half of a build on more cores than it has shards: tasks read the rules, chunk by chunk, into files beside
the version that is built; each shard is then put together from the files of its rules (`AssemblyTask`).

Reading a text, binding its predicates and normalising it is half of the work of a build, and needs no other rule. Rules
come to the tasks in ranges of shards and ids, so that the files of a shard, ordered by their first ids, have its rules
in their order.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from matchwood import storage
from matchwood.matching import PackedChunk, ReadRules, RulesApart
from matchwood.spark.build.notes import NoteWriter
from matchwood.spark.build.rule_columns import in_ranges
from matchwood.spark.build.rule_stream import EachIdOnce, by_shard
from matchwood.spark.build.shard_task import BuildSettings, ShardTask, Told, rule_reader
from matchwood.spark.match.strategy import cores_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READ_RULES = 100_000
"""Rules that a task reads. With fewer, more cores could help; but storing asks every attribute once for each chunk."""

READ_FROM = 500_000
"""Rules of a build from which on that is worth its jobs: sampling, files, and kernels loaded in every worker. 100,000
campaigns took 9.5 s of all processes' time with it, and 5.8 without."""

MOST_RULES, MOST_TEXT = 2 * READ_RULES, 1 << 25
"""Rules and bytes of text in one file: ranges are cut by a sample, and so are not of one size."""

READ = "shard int, told string"
FILES = "shard int, place int, file string"


class ReadFile(NamedTuple):
    """What a task tells of a file that it wrote; of its last file of a shard, also of ids that came twice."""

    shard: int
    first: Any
    file: str
    twice: int = 0
    ids: tuple[Any, ...] = ()


def reading_tasks(rules: int | None, shards: int, session: SparkSession) -> int:
    """How many tasks should read rules before others build the shards; 0 if as many build them as there are cores."""
    tasks = -(-(rules or 0) // READ_RULES) if (rules or 0) >= READ_FROM else 0
    return tasks if shards < min(tasks, cores_of(session) or tasks) else 0


def most_at_once() -> int:
    """Rules that one task can read and store without others that wait for work."""
    return READ_FROM - 1


@dataclass(frozen=True)
class ReadTask:
    """Reads the rules of a partition."""

    staging: storage.Staging
    settings: BuildSettings
    id_type: str
    keeps_last: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = RulesApart(self.settings.index())
        for shard, part in by_shard(batches):
            yield _rows(self._files(shard, EachIdOnce(part, self.keeps_last), reader))

    def _files(self, shard: int, rules: EachIdOnce, reader: RulesApart) -> list[ReadFile]:
        chunks = (pa.concat_batches(held) for held in _filled(rule_reader(rules, self.id_type)))
        files = [ReadFile(shard, chunk["id"][0].as_py(), self._written(reader.read(chunk))) for chunk in chunks]
        files[-1] = files[-1]._replace(twice=rules.count, ids=tuple(rules.ids))
        return files

    def _written(self, chunk: PackedChunk) -> str:
        """The file of a chunk: the length of its rules, these, and what was made of them."""
        name = uuid.uuid4().hex
        length = chunk.rules.size.to_bytes(8, "little")
        self.staging.set_aside(name, b"".join((length, chunk.rules, chunk.compiled)))
        return name


def read_files(rules: DataFrame, task: ReadTask, shards: int, tasks: int) -> list[ReadFile]:
    """Have so many tasks read all rules; what they wrote, in the order of shards and ids."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)

    rows = in_ranges(rules, shards, tasks).mapInArrow(run, READ).collect()
    found = [ReadFile(*json.loads(row.told)) for row in rows]
    return sorted(found, key=lambda file: (file.shard, file.first is not None, file.first))


def files_by_shard(session: SparkSession, files: list[ReadFile], shards: int) -> DataFrame:
    """One partition a shard, with the files of its rules in order."""
    rows = [(file.shard, place, file.file) for place, file in enumerate(files)]
    frame = session.createDataFrame(rows, FILES).repartitionById(shards, "shard")
    return frame.sortWithinPartitions("shard", "place")


class AssemblyTask(ShardTask):
    """Builds the shards of a partition from the files of their rules."""

    def build(self, shard: int, batches: Iterable[pa.RecordBatch]) -> Told:
        names = (name for batch in batches for name in batch.column("file").to_pylist())
        index, notes = self.settings.index(), NoteWriter(self.staging if self.tells else None, str(shard))
        report = index.insert_many(
            ReadRules(map(self._chunk, names)), on_error="collect", max_rejected=1.0, progress=notes
        )
        notes.finish()
        return self.write(shard, index, report, EachIdOnce((), self.keeps_last))

    def _chunk(self, name: str) -> PackedChunk:
        data = self.staging.taken_aside(name)
        stop = 8 + int.from_bytes(data[:8], "little")
        # Copies: the rules are kept to the end, and would keep all of the file.
        return PackedChunk(pa.py_buffer(data[8:stop]), data[stop:])


def _filled(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """The batches of one file after the other."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        full = sum(map(len, held)) + len(batch) > MOST_RULES or sum(each.nbytes for each in held) > MOST_TEXT
        if held and full:
            yield held
            held = []
        held.append(batch)
    if held:
        yield held


def _rows(files: list[ReadFile]) -> pa.RecordBatch:
    shards = pa.array([file.shard for file in files], pa.int32())
    return pa.record_batch({"shard": shards, "told": pa.array([json.dumps(file) for file in files])})
