"""What an executor does for an update: changes in, a delta shard and tombstones written, a few words about them out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood import storage
from matchwood.encoding import Use
from matchwood.index import Index
from matchwood.matching import in_words, index_part, stored_uses
from matchwood.sharding import (
    ID_TYPES,
    TOMBSTONES,
    RuleShard,
    ShardLayout,
    ShardSet,
    open_shards,
    summary_of,
    types_asked,
)
from matchwood.spark.build.notes import NoteWriter
from matchwood.spark.build.rejects import write_rejects
from matchwood.spark.build.rule_stream import EachIdOnce, by_shard
from matchwood.spark.build.shard_task import BuildSettings, rule_reader

ABSORBED = 2
"""A delta of up to so many times the change goes into the new one: so there are few deltas, of growing sizes."""


@dataclass(frozen=True)
class Delta:
    """What an update comes to: descriptions to publish, and the header's contents."""

    layout: ShardLayout
    descriptions: list[dict[str, Any]]
    inserted: int
    replaced: int
    deleted: int
    dead: int
    rejected: int = 0
    examples: list[str] = field(default_factory=list)
    twice: int = 0
    ids: list[Any] = field(default_factory=list)
    misfits: dict[str, int] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        return self.inserted + self.replaced + self.deleted + self.rejected

    def row(self) -> pa.RecordBatch:
        told = json.dumps({**self.__dict__, "layout": self.layout.header({})})
        return pa.record_batch({"shard": pa.array([0], pa.int32()), "told": pa.array([told])})


@dataclass(frozen=True)
class DeltaTask:
    """Makes the delta for a version from all changes, which come in one partition."""

    staging: storage.Staging
    version: int
    settings: BuildSettings
    id_type: str
    keeps_last: bool
    tells: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, part in by_shard(batches):
            once = EachIdOnce(part, self.keeps_last)
            changes = [row for batch in once for row in batch.to_pylist()]
            yield _Making(self, changes).delta(once).row()


class _DeltaIndex(Index):
    """The rules of a delta. Those of the other shards bear witness too, when a rule contradicts one of them."""

    others: ShardSet
    gone: Container[Any] = ()

    def _find_witness(self, attribute: str, kind: str, passed_over: Container[Any] = ()) -> Any:
        own = super()._find_witness(attribute, kind, passed_over)
        return self.others.find_witness(self._encoder.schema, (attribute, kind), self.gone) if own is None else own


class _Making:
    """The rules that change, held against those that stay.

    A replacement that is refused leaves the old rule, which may then contradict another change: so the changes are
    tried again without those that were refused, until all that is left is accepted.
    """

    def __init__(self, task: DeltaTask, changes: list[dict[str, Any]]) -> None:
        self._task = task
        self._set = open_shards(task.staging.place, task.version)
        self._changes = changes
        self._absorbed = _absorbed(self._set.layout, len(changes))
        self._old = self._found([change["id"] for change in changes if change["id"] is not None])
        self._refused: set[Any] = set()
        self._rejected: list[pa.Table] = []
        self._misfits: Counter[str] = Counter()
        self._notes = NoteWriter(task.staging if task.tells else None, "delta")

    def _found(self, ids: list[Any]) -> dict[Any, tuple[RuleShard, int]]:
        found: dict[Any, tuple[RuleShard, int]] = {}
        for shard in self._set.tables():
            rows = shard.find_many(ids).tolist() if ids and len(self._set) else []
            found |= {rule_id: (shard, row) for rule_id, row in zip(ids, rows, strict=False) if row >= 0}
        return found

    def delta(self, once: EachIdOnce) -> Delta:
        index, seeds, absorbed = self._tried()
        while self._keep_what_was_refused(index):
            index, seeds, absorbed = self._tried()
        schema = index._encoder.schema
        own = Counter(schema.counts())
        own.subtract(seeds)
        schema.restore({use: count for use, count in own.items() if count > 0})
        live = Counter(seeds) + (own - absorbed)
        return self._written(index, {use: count for use, count in live.items() if count > 0}, once)

    def _going(self) -> dict[Any, tuple[RuleShard, int]]:
        """The rules that no longer count: deleted, or replaced."""
        return {rule_id: place for rule_id, place in self._old.items() if rule_id not in self._refused}

    def _tried(self) -> tuple[_DeltaIndex, dict[Use, int], Counter[Use]]:
        """An index with all changes that were not refused yet, what others ask, and what absorbed rules do."""
        index, going = self._task.settings.index_of(_DeltaIndex), self._going()
        schema = index._encoder.schema
        uses = Counter(self._set.layout.uses)
        for shard, row in going.values():
            uses.subtract(stored_uses(schema, shard.table.text(row)))
        seeds = {use: count for use, count in uses.items() if count > 0}
        schema.restore(seeds)
        index.others, index.gone = self._set, going
        absorbed = [rule for name in self._absorbed for rule in self._staying(name, going)]
        asked = Counter(use for rule in absorbed for use in stored_uses(schema, rule["expression"]))
        changed = [change for change in self._changes if not self._is_settled(change)]
        rules = sorted(absorbed + changed, key=lambda rule: (rule["id"] is not None, rule["id"]))
        reader = rule_reader(_batches(rules, self._task.id_type), self._task.id_type)
        report = index.insert_many(reader, max_rejected=1.0, progress=self._notes)
        self._notes.finish()
        self._rejected.append(report.rejected)
        self._misfits.update(report.misfits)
        return index, seeds, asked

    def _is_settled(self, change: Mapping[str, Any]) -> bool:
        is_deletion = change["expression"] is None and change["id"] is not None
        return is_deletion or change["id"] in self._refused

    def _staying(self, name: str, going: Container[Any]) -> Iterator[dict[str, Any]]:
        rules = (rule for batch in self._set.table(name).rules() for rule in batch.to_pylist())
        return (rule for rule in rules if rule["id"] not in going)

    def _keep_what_was_refused(self, index: Index) -> bool:
        """Note what the last try refused; whether an old rule stays because of that."""
        refused = set(self._rejected[-1]["id"].to_pylist())
        self._refused |= refused
        return not refused.isdisjoint(self._old)

    def _written(self, index: Index, uses: Mapping[Use, int], once: EachIdOnce) -> Delta:
        task, going = self._task, self._going()
        dead = self._dead(going)
        descriptions, names = [], [name for name in self._set.layout.deltas if name not in self._absorbed]
        if len(index):
            names.append(f"delta-{task.staging.version}")
            descriptions.append(task.staging.write_part(names[-1], index_part(index)))
        tombstones = {name: rows for name, rows in dead.items() if len(rows)}
        if tombstones:
            descriptions.append(task.staging.write_part(TOMBSTONES, storage.SavedPart({}, tombstones)))
        rejected = pa.concat_tables(table.cast(_ids_as(table, task.id_type)) for table in self._rejected)
        descriptions += write_rejects(task.staging, "delta", rejected, task.id_type)
        replacing = {change["id"] for change in self._changes if not self._is_settled(change)}
        return Delta(
            layout=self._layout(index, uses, tuple(names), going),
            descriptions=descriptions,
            inserted=len(replacing - going.keys()),
            replaced=len(replacing & going.keys()),
            deleted=len(going.keys() - replacing),
            dead=sum(map(len, tombstones.values())),
            rejected=len(rejected),
            examples=in_words(rejected),
            twice=once.count,
            ids=once.ids,
            misfits=dict(self._misfits),
        )

    def _dead(self, going: Mapping[Any, tuple[RuleShard, int]]) -> dict[str, np.ndarray[Any, np.dtype[np.int32]]]:
        """The dead rows of all shards that stay, old and new."""
        dead = {}
        for name in self._set.layout.shards:
            if name not in self._absorbed:
                new = [row for shard, row in going.values() if shard.name == name]
                dead[name] = np.union1d(self._set.tombstones(name), np.array(new, np.int32)).astype(np.int32)
        return dead

    def _layout(
        self, index: Index, uses: Mapping[Use, int], deltas: tuple[str, ...], going: Mapping[Any, tuple[RuleShard, int]]
    ) -> ShardLayout:
        old, summary = self._set.layout, summary_of(index, self._task.id_type)
        gone = Counter(shard.name for shard, _ in going.values())
        rules = {name: old.rules.get(name, summary.rules) - gone[name] for name in (*old.bases, *deltas)}
        type_of = index._encoder.schema.declared.type_of
        declared = {name: kind for name, _ in uses if (kind := type_of(name)) not in (None, "any")}
        named = {*old.attributes, *summary.named}
        asked = types_asked(uses, named, {name: str(kind) for name, kind in declared.items()})
        id_type = self._task.id_type
        return ShardLayout(old.bases, deltas, rules, id_type, self._task.settings.timezone, dict(uses), asked)


def _absorbed(layout: ShardLayout, changes: int) -> tuple[str, ...]:
    """The newest deltas that are not much larger than what they go into."""
    absorbed, size = list[str](), changes
    for name in reversed(layout.deltas):
        if layout.rules[name] > ABSORBED * size:
            break
        absorbed.append(name)
        size += layout.rules[name]
    return tuple(absorbed)


def _batches(rules: list[dict[str, Any]], id_type: str) -> list[pa.RecordBatch]:
    text = pa.string()
    columns = [("id", ID_TYPES[id_type]), ("expression", text), ("weight", pa.float64()), ("weights", text)]
    table = pa.Table.from_pylist(rules, schema=pa.schema(columns))
    return list(table.to_batches())


def _ids_as(table: pa.Table, id_type: str) -> pa.Schema:
    return table.schema.set(0, pa.field("id", ID_TYPES[id_type]))
