"""A set of shards: what one version of an index consists of, opened to be read."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood import storage
from matchwood.encoding import (
    STRICT,
    AskingEncoder,
    Declared,
    MisfitCounter,
    Schema,
    Strictness,
    Use,
    saved_settings,
)
from matchwood.errors import CorruptSnapshot, LimitExceeded, UnknownRule
from matchwood.index import Index, index_from
from matchwood.matching import (
    ALL_RULES,
    INDEX_KIND,
    ONLY_PART,
    BestRules,
    Request,
    WorkCounters,
    checked_rank,
    no_index,
    rule_table,
    stored_uses,
)
from matchwood.ranking import GivenWeights
from matchwood.sharding.answers import Answered, Walk, answers_of_one
from matchwood.sharding.layout import ID_TYPES, KIND, TOMBSTONES, ShardLayout, read_layout
from matchwood.sharding.shard import RuleShard, Shard
from matchwood.sharding.summary import Summary, layout_of, summary_of

_MOST_HITS = 2**31 - 1

MOST_OPEN = 500
"""Shards that stay open at once: one has up to 75 arrays that are mapped, and Linux gives a process 65,530 maps."""


class ShardSet:
    """All rules of one version.

    `version`     its number
    `attributes`  the names that live rules ask events for, each with its type (`any`: only tested for NULL)
    `id_type`     int64 or string
    `timezone`    where dates begin and naive times are read
    `bytes`       the size of all shards
    `layout`      which parts they are; `snapshot` has them
    `opened`      the shards that stay open, by name
    """

    def __init__(self, path: Any, snapshot: storage.Snapshot, room: int | None = None) -> None:
        self._path, self.snapshot = path, snapshot
        self.opened: dict[str, Shard] = {}
        self._tables: dict[str, RuleShard] = {}
        self._room = math.inf if room is None else room
        self.version = snapshot.version
        self._is_alone = snapshot.header.get("kind") == INDEX_KIND
        self.layout = self._layout_of_one() if self._is_alone else read_layout(snapshot.header, str(path))
        self.attributes = dict(self.layout.attributes)
        self.id_type = ID_TYPES[self.layout.id_type]
        self.timezone = self.layout.timezone
        self.work = WorkCounters()
        """What is counted for all shards at once: weights of events that were passed over."""
        self.misfits = MisfitCounter()
        """Likewise values that did not fit."""
        self.event_settings = saved_settings(snapshot.header_of(self.layout.bases[0])["encoder"])
        self.bytes = sum(snapshot.sizes.get(name, 0) for name in self.layout.shards)

    def _layout_of_one(self) -> ShardLayout:
        """What the header tells; versions from before it did are opened."""
        if "summary" not in self.snapshot.header:
            return layout_of([ONLY_PART], [summary_of(self.shard(ONLY_PART).index)])
        try:
            layout = layout_of([ONLY_PART], [Summary(**self.snapshot.header["summary"])])
            return read_layout(layout.header({}), str(self._path))
        except (AttributeError, TypeError, ValueError) as error:
            raise CorruptSnapshot(f"{self._path}: the header does not describe an index ({error!r})") from error

    @functools.cached_property
    def _tombstones(self) -> dict[str, NDArray[np.int32]]:
        return _tombstones(self.snapshot)

    @property
    def _declared(self) -> Declared:
        """What the schema says that the rules were written for."""
        encoder = self.snapshot.header_of(self.layout.bases[0])["encoder"]
        return Declared(dict(encoder["types"]), dict(encoder["maps"]), frozenset(encoder["structs"]))

    # ----------------------------------------------------------------- shards

    def __len__(self) -> int:
        """The live rules."""
        return sum(self.layout.rules.values())

    @property
    def settings(self) -> dict[str, Any]:
        """Engine, options and dnf_limit, which all shards share."""
        return {name: self.snapshot.header[name] for name in ("engine", "options", "dnf_limit")}

    def tombstones(self, name: str) -> NDArray[np.int32]:
        """The dead rows of a shard, ascending."""
        return self._tombstones.get(name, _NONE_DEAD)

    @property
    def shards(self) -> Iterator[Index]:
        """The shards as indexes to be read, base shards first, each opened when its turn comes."""
        return (shard.index for shard in self.walk())

    def walk(self) -> Iterator[Shard]:
        """The shards with their dead rows. They stay open as far as the set has room for them."""
        return (self.shard(name) for name in self.layout.shards)

    def shard(self, name: str) -> Shard:
        """One shard, by the name of its part."""
        shard = self.opened.get(name)
        if shard is None:
            shard = Shard(name, self._open(name), self.tombstones(name))
            if not self._is_alone:
                shard.matcher.agree(self.attributes)
            self._keep(shard)
        return shard

    def _keep(self, shard: Shard) -> None:
        """Walks go round in a circle, so whoever came first stays: the one least recently used is needed next."""
        size = self.snapshot.sizes.get(shard.name, 0)
        if size <= self._room and len(self.opened) < MOST_OPEN:
            self._room -= size
            self.opened[shard.name] = shard

    def keeps(self, shard: Shard) -> bool:
        """Whether a shard stays open."""
        return shard.name in self.opened

    def _open(self, name: str) -> Index:
        return index_from(self._path, self.snapshot, read_only=True, part=name)

    def types(self) -> dict[str, str]:
        """The types of all attributes that are declared or that live rules compare with something."""
        declared = self._declared
        kinds = {name: declared.type_of(name) or kind for name, kind in self.layout.uses if kind != "any"}
        return {**declared.types, **kinds}

    def schema(self) -> Schema:
        """What live rules of all shards ask of their attributes, for expressions that must agree with them."""
        own = next(self.shards)._encoder.schema
        every = own.copy()
        every.restore(dict(self.layout.uses))
        every.find_witness = lambda attribute, kind, others: self.find_witness(own, (attribute, kind), others)
        return every

    # --------------------------------------------------------------- matching

    def best(self, n: int, weights: Any, weight: str = "added") -> BestRules:
        """The request for the best rules; weights of attributes that no rule of any shard has are passed over."""
        names = {*self._declared.types, *(name for name, _ in self.layout.uses)}
        given = GivenWeights(weights, names, weight)
        self.work.pass_over(sum(given.unknown().values()))
        return BestRules(checked_rank(n), given)

    def answers(
        self,
        events: Any,
        strictness: Strictness = STRICT,
        request: Request = ALL_RULES,
        threads: int = 1,
    ) -> Iterator[Answered]:
        """The rules of events of any kind that `Index.match_many` takes, in pieces of bounded size.

        `strictness`  what happens to values that are missing or do not fit
        `request`     all rules, or the best and their scores
        `threads`     how many threads match, for a set whose shards stay open
        """
        if len(self.layout.shards) == 1:
            return answers_of_one(self.shard(self.layout.bases[0]), events, strictness, request, threads)
        return Walk(self.walk, self.asking(), self.keeps).answers(events, strictness, request, threads)

    def asking(self) -> AskingEncoder:
        """What finds once for all shards what is missing or does not fit."""
        asking = AskingEncoder(self.attributes, self.timezone, self.event_settings)
        asking.misfits = self.misfits
        return asking

    def match_lists(self, events: Any, missing: str = "null", on_error: str = "raise") -> pa.ListArray:
        """For each event the ids of the rules that are true of it, in rule order."""
        counts, ids = [np.zeros(1, np.int64)], [pa.array([], self.id_type)]
        for answered in self.answers(events, Strictness.of(missing, on_error)):
            counts.append(np.diff(answered.offsets))
            ids.append(answered.ids)
        offsets = np.cumsum(np.concatenate(counts))
        if offsets[-1] > _MOST_HITS:
            raise LimitExceeded(f"{offsets[-1]:,} hits do not fit into one array: match fewer events at once")
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.concat_arrays(ids))

    # ------------------------------------------------------------------ rules

    def tables(self) -> Iterator[RuleShard]:
        """The rules of the shards, without what matches them: of a remote version nothing else is fetched."""
        return (self.table(name) for name in self.layout.shards)

    def table(self, name: str) -> RuleShard:
        """The rules of one shard, by the name of its part."""
        shard = self.opened.get(name) or self._tables.get(name)
        if shard is None:
            shard = self._tables[name] = RuleShard(name, rule_table(self.snapshot, name), self.tombstones(name))
        return shard

    def find(self, rule_id: object) -> tuple[RuleShard, int] | None:
        """The shard that holds a live rule, and its row there."""
        for shard in self.tables():
            row = shard.find(rule_id)
            if row >= 0:
                return shard, row
        return None

    def text(self, rule_id: object) -> str:
        """A rule's text as it was given; raises UnknownRule."""
        found = self.find(rule_id)
        if found is None:
            raise UnknownRule(rule_id)
        return found[0].table.text(found[1])

    def entries(self, ids: Sequence[Any]) -> list[tuple[Any, str]]:
        """Some ids with their texts, in the order of the ids; without those that no live rule has."""
        texts: dict[Any, str] = {}
        for shard in self.tables():
            rows = shard.find_many(ids).tolist()
            texts |= {rule_id: shard.table.text(row) for rule_id, row in zip(ids, rows, strict=True) if row >= 0}
        return [(rule_id, texts[rule_id]) for rule_id in ids if rule_id in texts]

    def find_witness(self, schema: Schema, use: Use, passed_over: Container[Any]) -> Any:
        """The id of a live rule with a use, None if there is none; looks at every rule, so only errors ask."""
        name = use[0].strip("`")
        for spelled, shard in itertools.product((True, False), self.tables()):
            for row in shard.live_rows().tolist():
                text = shard.table.text(row)
                if (name in text) is spelled and use in stored_uses(schema, text):
                    rule_id = shard.table.id_list(np.array([row]))[0]
                    if rule_id not in passed_over:
                        return rule_id
        return None

    def rules(self) -> Iterator[pa.RecordBatch]:
        """All live rules as batches (id, expression, weight, weights), shard by shard."""
        return (batch for shard in self.tables() for batch in shard.rules())


_NONE_DEAD: NDArray[np.int32] = np.empty(0, np.int32)


def _tombstones(snapshot: storage.Snapshot) -> dict[str, NDArray[np.int32]]:
    """The dead rows of each shard that has some."""
    if TOMBSTONES not in snapshot.parts:
        return {}
    arrays = snapshot.parts[TOMBSTONES].arrays
    if any(array.dtype != np.int32 or array.ndim != 1 for array in arrays.values()):
        raise CorruptSnapshot("tombstones must be rows of 32 bits")
    return dict(arrays)


def open_shards(path: Any, version: int | None = None, verify: str = "auto", room: int | None = None) -> ShardSet:
    """The shards of the current version at a path, or of another one.

    `room`  bytes of shards that stay open, all if not given; of the others a walk has one in memory at a time
    """
    snapshot = storage.load(path, version, verify)
    kind = snapshot.header.get("kind")
    if kind not in (KIND, INDEX_KIND):
        raise no_index(path, kind)
    return ShardSet(path, snapshot, room)
