"""What an executor does for a build: rules in, a shard written, a few words about it out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from matchwood import storage
from matchwood.encoding import Declared, Settled, saved_settings
from matchwood.index import Index
from matchwood.matching import ONLY_PART, Report, in_words, index_part
from matchwood.sharding import ID_TYPES, Summary, summary_of
from matchwood.spark.build.notes import NoteWriter
from matchwood.spark.build.rejects import write_rejects
from matchwood.spark.build.rule_stream import EachIdOnce, by_shard

TOLD = "shard int, told string"

Made = TypeVar("Made", bound=Index)


@dataclass(frozen=True)
class BuildSettings:
    """The settings of an index that is built on executors, as plain data that can be pickled.

    `settled`  kinds of attributes that rules are held against, beside what is declared
    """

    engine: str
    options: Mapping[str, Any]
    declared: Declared
    timezone: str
    dnf_limit: int = 256
    strict: bool = False
    settled: Mapping[str, Settled] = field(default_factory=dict)
    nan: str | None = None
    coerce: Mapping[str, str] = field(default_factory=dict)

    def index(self) -> Index:
        """An empty index."""
        return self.index_of(Index)

    def index_of(self, kind: type[Made]) -> Made:
        """An empty index of a class of its own."""
        made = kind(
            self.engine,
            options=self.options,
            timezone=self.timezone,
            dnf_limit=self.dnf_limit,
            nan=self.nan,
            coerce=self.coerce,
        )
        schema = made._encoder.schema
        schema.declared, schema.strict, schema.settled = self.declared, self.strict, dict(self.settled)
        return made


@dataclass(frozen=True)
class Told:
    """What a task tells about the shard that it wrote.

    `description`  for `Staging.publish`; `rejects` likewise
    `examples`     some of the rejected rules, in words
    `misfits`      how many rules were refused for the type of an attribute, by attribute
    `twice`        how many ids came more than once; `ids` are some of them
    """

    shard: int
    description: dict[str, Any]
    summary: Summary
    rejected: int
    rejects: list[dict[str, Any]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    misfits: dict[str, int] = field(default_factory=dict)
    twice: int = 0
    ids: list[Any] = field(default_factory=list)

    def row(self) -> pa.RecordBatch:
        told = json.dumps({**self.__dict__, "summary": self.summary.to_json()})
        return pa.record_batch({"shard": pa.array([self.shard], pa.int32()), "told": pa.array([told])})


def read_told(row: Any) -> Told:
    told = json.loads(row.told)
    return Told(**{**told, "summary": Summary(**told["summary"])})


@dataclass(frozen=True)
class ShardTask:
    """Builds the shards of a partition.

    `alone`  whether there is one shard
    `tells`  whether somebody watches how many rules were read
    """

    staging: storage.Staging
    settings: BuildSettings
    id_type: str
    keeps_last: bool
    alone: bool
    tells: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for shard, rules in by_shard(batches):
            yield self.build(shard, rules).row()

    def build(self, shard: int, batches: Iterable[pa.RecordBatch]) -> Told:
        rules, index = EachIdOnce(batches, self.keeps_last), self.settings.index()
        # How many may be refused is judged for all shards together, before anything is published.
        notes = NoteWriter(self.staging if self.tells else None, str(shard))
        reader = rule_reader(rules, self.id_type)
        report = index.insert_many(reader, on_error="collect", max_rejected=1.0, progress=notes)
        notes.finish()
        return self.write(shard, index, report, rules)

    def write(self, shard: int, index: Index, report: Report, rules: EachIdOnce) -> Told:
        name = ONLY_PART if self.alone else f"base-{shard}"
        rejected = report.rejected
        return Told(
            shard,
            self.staging.write_part(name, index_part(index)),
            summary_of(index, self.id_type),
            len(rejected),
            write_rejects(self.staging, str(shard), rejected, self.id_type),
            in_words(rejected),
            report.misfits,
            rules.count,
            rules.ids,
        )


def settings_of(snapshot: storage.Snapshot, part: str) -> BuildSettings:
    """The settings of a version, from its header and that of one of its shards."""
    header, encoder = snapshot.header, snapshot.header_of(part)["encoder"]
    return BuildSettings(
        engine=header["engine"],
        options={**header["options"], "spaces": encoder["spaces"]},
        declared=Declared(dict(encoder["types"]), dict(encoder["maps"]), frozenset(encoder["structs"])),
        timezone=encoder["timezone"],
        dnf_limit=header["dnf_limit"],
        strict=encoder["strict_schema"],
        **saved_settings(encoder)._asdict(),
    )


def rule_reader(rules: Iterable[pa.RecordBatch], id_type: str) -> pa.RecordBatchReader:
    text = pa.string()
    columns = [("id", ID_TYPES[id_type]), ("expression", text), ("weight", pa.float64()), ("weights", text)]
    schema = pa.schema(columns)
    return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in rules))
