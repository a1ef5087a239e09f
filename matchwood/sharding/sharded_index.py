"""A version of several shards as an Index: matched shard by shard, until it is changed.

Matching, reading and explaining work on the shards as they lie on disk. Whatever needs all rules in one structure
(changing, lint, audit, saving) first gathers them into one, once, at the cost of building the index.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from matchwood import storage
from matchwood.core import ReadersWriterLock
from matchwood.encoding import Strictness
from matchwood.index import Index
from matchwood.insight import Explanation, explain_text, query_of
from matchwood.matching import (
    ALL_RULES,
    OPENERS,
    BestRules,
    Origin,
    Request,
    checked_flag,
    checked_threads,
    matching_turn_of,
    open_version,
    strictness_of_one,
    with_errors,
)
from matchwood.sharding.answers import Answered
from matchwood.sharding.layout import KIND
from matchwood.sharding.shards import ShardSet

Answer = TypeVar("Answer")
_GATHERED = ("_table", "_encoder", "_matcher")


def _by_shards(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """A question to the shards of one moment, or to the index that they were gathered into meanwhile."""

    @functools.wraps(method)
    def asked(self: ShardedIndex, *arguments: Any, **named: Any) -> Answer:
        with self._lock.reading():
            if not self._is_gathered:
                return method(self, *arguments, **named)
        answer: Answer = getattr(super(ShardedIndex, self), method.__name__)(*arguments, **named)
        return answer

    return asked


class ShardedIndex(Index):
    """An index that was opened from several shards; see `Index`. Rule order is the order of ids.

    A reader of `match_batches` that began before the first change, or before `reload` found another version, goes on
    with the rules as they were.
    """

    def __init__(self, path: Any, shards: ShardSet, read_only: bool = False) -> None:
        self._shards = shards
        self._options, self._dnf_limit = dict(shards.settings["options"]), int(shards.settings["dnf_limit"])
        self._read_only, self._opened, self._checked = read_only, True, True
        self._origin, self._unsaved = Origin(path, shards.version, shards.snapshot.seal), False
        self._gathering, self._lock, self._writer = threading.RLock(), ReadersWriterLock(), threading.RLock()
        self._matching_turn = matching_turn_of(self)

    def __getattr__(self, name: str) -> Any:
        """The rooms of an index come to be when something asks for them."""
        if name in _GATHERED:
            self._gather()
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _is_gathered(self) -> bool:
        return "_matcher" in self.__dict__

    def _gather(self) -> None:
        if self._is_gathered:  # or it was loaded again as a version without shards, and has nothing to gather
            return
        with self._gathering:
            if self._is_gathered:
                return
            whole = gathered(self._shards)
            for name in _GATHERED:
                self.__dict__[name] = whole.__dict__[name]
            self._watch_types()

    def _watch_types(self) -> None:
        if self._is_gathered:
            super()._watch_types()

    def _size_up(self) -> None:
        if self._is_gathered:
            super()._size_up()

    # ---------------------------------------------------------------- reading

    @_by_shards
    def __len__(self) -> int:
        return len(self._shards)

    @_by_shards
    def __iter__(self) -> Iterator[Any]:
        ids = [shard.table.ids(shard.live_rows()) for shard in self._shards.walk()]
        return iter(pa.concat_arrays(ids).sort().to_pylist())

    @_by_shards
    def __contains__(self, rule_id: object) -> bool:
        return self._shards.find(rule_id) is not None

    @_by_shards
    def __getitem__(self, rule_id: Any) -> str:
        return self._shards.text(rule_id)

    @_by_shards
    def _entries_of(self, ids: list[Any]) -> list[tuple[Any, str]]:
        return self._shards.entries(ids)

    @property
    def engine(self) -> str:
        """The name of the engine that does the matching, or several where shards have chosen different ones."""
        if self._is_gathered:
            return super().engine
        return ", ".join(dict.fromkeys(shard.engine for shard in self._shards.shards))

    @property
    def id_kind(self) -> type[int] | type[str] | None:
        """Whether ids are int or str."""
        if self._is_gathered:
            return super().id_kind
        return int if pa.types.is_integer(self._shards.id_type) else str

    @_by_shards
    def types(self) -> dict[str, str]:
        """The types of all attributes that are declared or that rules compare with something."""
        return self._shards.types()

    @_by_shards
    def stats(self) -> dict[str, Any]:
        """Counts, bytes and the work done so far, as plain data; those of the shards are added up.

        What each shard has chosen, and its health, is told shard by shard; so are the options where they differ.
        """
        every = [index.stats() for index in self._shards.shards]
        told = ("choice", "health", "options")
        apart: dict[str, Any] = {key: self._by_shard(every, key) for key in told if key in every[0]}
        options = list(apart["options"].values())
        if all(each == options[0] for each in options):
            apart["options"] = options[0]
        shared = {"matching": self._shards.work.as_dict(), "misfits": self._shards.misfits.as_dict()}
        return {**_added([*every, shared]), **apart, "rules": len(self), "shards": len(every)}

    def _by_shard(self, every: list[dict[str, Any]], key: str) -> dict[str, Any]:
        """Take a part of their figures out of those of all shards."""
        return {name: each.pop(key) for name, each in zip(self._shards.layout.shards, every, strict=True)}

    # --------------------------------------------------------------- matching

    @_by_shards
    def _answer(self, event: Mapping[str, Any], request: Request, strictness: Strictness) -> list[Any]:
        answers = self._shards.answers([event], strictness, request)
        return [told for answered in answers for told in _listed(answered)]

    @_by_shards
    def _answer_many(self, events: Any, request: Request, strictness: Strictness, threads: int) -> pa.Table:
        schema = request.schema(self._shards.id_type)
        found = pa.Table.from_batches(self._batches(events, request, schema, strictness, threads), schema=schema)
        return found if strictness.told is None else with_errors(found, strictness.told)

    @_by_shards
    def match_batches(
        self, events: Any, missing: str = "null", threads: int | None = 1, on_error: str = "raise"
    ) -> pa.RecordBatchReader:
        schema, strictness = ALL_RULES.schema(self._shards.id_type), strictness_of_one(missing, on_error)
        batches = self._batches(events, ALL_RULES, schema, strictness, checked_threads(threads))
        return pa.RecordBatchReader.from_batches(schema, batches)

    @_by_shards
    def _best(self, n: int, weights: Any, weight: str = "added") -> BestRules:
        return self._shards.best(n, weights, weight)

    @_by_shards
    def explain(self, event: Mapping[str, Any], rule_id: Any) -> Explanation:
        return explain_text(self[rule_id], event, self.types(), self._shards.timezone, self._shards.event_settings)

    @_by_shards
    def find(self, expression: Any, semantics: str = "stabbing_subscription") -> list[Any]:
        query = query_of(expression, semantics, self._shards.schema(), self._shards.timezone)
        found = [shard.found(query) for shard in self._shards.walk()]
        ids: list[Any] = pa.concat_arrays(found).sort().to_pylist()
        return ids

    def _batches(
        self, events: Any, request: Request, schema: pa.Schema, strictness: Strictness, threads: int
    ) -> Iterator[pa.RecordBatch]:
        """What is wrong with the call shows at once, and not when the first batch is asked for."""
        return _numbered(self._shards.answers(events, strictness, request, threads), request, schema)


def _numbered(answers: Iterator[Answered], request: Request, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A record batch for each answer that has hits; events are numbered from 0 on."""
    first = 0
    for answered in answers:
        if len(answered.ids):
            yield request.batch(schema, first, answered.offsets, answered.ids, answered.scores)
        first += len(answered.offsets) - 1
    request.check_events(first)


def _listed(answered: Answered) -> list[Any]:
    """Ids, or ids and scores."""
    ids: list[Any] = answered.ids.to_pylist()
    return ids if answered.scores is None else list(zip(ids, answered.scores.tolist(), strict=True))


def _added(every: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers added up, within dicts too; words side by side where they differ, as the engines of shards may."""
    total: dict[str, Any] = {}
    for name in dict.fromkeys(name for each in every for name in each):
        values = [each[name] for each in every if name in each]
        if isinstance(values[0], dict):
            total[name] = _added(values)
        elif isinstance(values[0], int | float):
            total[name] = sum(values)
        else:
            total[name] = ", ".join(dict.fromkeys(map(str, values)))
    return total


def gathered(shards: ShardSet) -> Index:
    """All live rules of several shards as one index, ordered by id."""
    encoder = next(iter(shards.shards))._encoder
    settings = shards.settings
    options = {**settings["options"], "spaces": encoder.vocabulary.spaces.name}
    whole = Index(
        settings["engine"],
        options=options,
        dnf_limit=settings["dnf_limit"],
        timezone=shards.timezone,
        nan=encoder.event_settings.nan,
        coerce=encoder.event_settings.coerce,
    )
    whole._encoder.schema.declared = encoder.schema.declared
    whole._encoder.schema.strict = encoder.schema.strict
    rules = pa.Table.from_batches(shards.rules())
    whole.insert_many(rules.sort_by("id") if len(rules) else rules, on_error="raise")
    whole._encoder.misfits = shards.misfits
    return whole


def open_index(path: Any, read_only: bool = False, verify: str = "auto", version: int | None = None) -> Index:
    """Open a snapshot in milliseconds; changes stay in memory, files never change.

    `verify`   `auto` checks the manifest, sizes and, up to 256 MiB, every byte; `full` checks every byte
    `version`  one of those that `versions(path)` lists; by default the current one

    A version of several shards is matched as it lies there; the first change gathers its rules in memory.
    """
    return open_version(path, version, checked_flag("read_only", read_only), verify)


def _open(path: Any, snapshot: storage.Snapshot, read_only: bool) -> Index:
    return ShardedIndex(path, ShardSet(path, snapshot), read_only)


OPENERS[KIND] = _open
