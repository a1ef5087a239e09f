"""Matching by compiled engines: rules become units of parts, events become codes, hits become rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import arrays_of, headers_of, restore_rooms
from matchwood.encoding import QUIET, STRICT, Chunk, Encoder, EventChunk, Pace, Strictness
from matchwood.engines import AS_PUBLISHED, Structure, Workspace, engine_class
from matchwood.language import Expression
from matchwood.logic import Bind
from matchwood.matching.bound_audit import audit_bounds
from matchwood.matching.engine_events import EngineEvents, rows_of_event
from matchwood.matching.ledger.ledger import Ledger
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.groups import Group, Incoming
from matchwood.matching.loading.live_rules import OldUses, check_links, insert_rules, remove_rules, replace_rules
from matchwood.matching.loading.preparation import Normal
from matchwood.matching.one_event import OneEventMatching
from matchwood.matching.parts import MatcherPart, parts_of
from matchwood.matching.request import Dead, Request
from matchwood.ranking import RuleWeights, ScorePrograms, WrittenPrograms
from matchwood.rules import RuleTable, UnitKind, UnitsByKind

WASTE_SHARE, WASTE_LEAST = 0.5, 10_000
"""What is dead is cleared away by itself when it is more than this share of all, and not just a few."""

_NONE = np.empty(0, np.int32)


class EngineMatcher:
    """A tuple of parts. The first has the engine that the index is named after; the last is an A-Tree.

    An engine over conjunctions stands first, with an A-Tree beside it for the rules that have too many of them. An
    A-Tree that was asked for stands alone.

    `setting` what the index was made with, and `name` the engine that matches
    `given`   what no rule may weigh more than, where the engine was given bounds
    `score_programs`  what scores rules
    """

    def __init__(
        self, engine: str, encoder: Encoder, table: RuleTable, options: Mapping[str, Any], dnf_limit: int
    ) -> None:
        self.name = self.setting = engine
        self.encoder, self.table, self.dnf_limit = encoder, table, dnf_limit
        self.parts = self._made_parts(engine_class(engine), options)
        for part in self.parts:
            self._introduce(part.engine)
        encoder.vocabulary.tells_false = not self.parts[-1].engine.settings["zero_suppression"]
        self.ledger = Ledger(encoder.event_statistics)
        self.score_programs = ScorePrograms(encoder, table)
        self.weight_caps: RuleWeights | None = self.parts[0].weight_caps
        self.generation = 0
        """Grows with every change: codes of events, numbers of units and what is kept ready hold within one only."""
        self._local = threading.local()
        self._holds_back = False
        """Whether new units of the first part wait in its store, and its engine does not know them yet."""

    def _made_parts(self, chosen: type[Structure], options: Mapping[str, Any]) -> tuple[MatcherPart, ...]:
        return parts_of(chosen, options)

    def _introduce(self, engine: Structure) -> None:
        """Let an engine know what events were like, and what labels stand for."""
        engine.event_statistics, engine.values = self.encoder.event_statistics, self.encoder.vocabulary

    @property
    def engine(self) -> Any:
        """The engine of the first part."""
        return self.parts[0].engine

    def part(self, kind: UnitKind) -> MatcherPart:
        """The part whose units are of this kind."""
        return next(part for part in self.parts if part.kind == kind)

    def normal(self, expression: Expression, bind: Bind | None = None) -> Normal:
        """What a rule becomes: conjunctions, clauses, or a whole expression, as the first part would have it."""
        return self.parts[0].normal(expression, bind or self.encoder.bind, self.dnf_limit)

    # ---------------------------------------------------------------- changes

    @property
    def takes_columns(self) -> int | None:
        return self.parts[0].takes_columns(self.dnf_limit)

    def _begin_change(self) -> None:
        """Codes, units and rows may be others from now on: events that were matched are noted before."""
        self.ledger.settle()
        self.generation += 1

    def insert(self, batch: Batch) -> None:
        self._begin_change()
        rows = insert_rules(self.table, self.encoder.schema, batch)
        self._store(Incoming.of(rows, batch))

    def replace(self, rows: NDArray[np.int32], batch: Batch, old: OldUses = None) -> None:
        self._begin_change()
        self.score_programs.forget(rows)
        replace_rules(self.table, self.encoder.schema, rows, batch, old)
        # The old conjunctions go first: the new ones may use an attribute with another type.
        self._drop(self.table.unlink_many(rows))
        self._store(Incoming.of(rows, batch))
        self._compact_if_wasteful()

    def remove(self, rows: NDArray[np.int32]) -> None:
        self._begin_change()
        self.score_programs.forget(rows)
        self._drop(remove_rules(self.table, self.encoder.schema, rows))
        self._compact_if_wasteful()

    def clear(self) -> None:
        self._begin_change()
        self.score_programs.clear()
        self._drop(self.table.remove_many(self.table.live_rows()))
        self.encoder.schema.restore({})
        self.compact()

    def _store(self, rules: Incoming) -> None:
        """Store what rules became, each in the part that takes it."""
        for part in reversed(self.parts):
            for group in part.groups(rules, first=part is self.parts[0]):
                self._store_group(part, group)
        if self.parts[0].bounds is not None:
            self._write_programs(rules)

    def _write_programs(self, rules: Incoming) -> None:
        trees = [rule.tree for rule in rules.prepared]
        if rules.compiled is None:
            self.score_programs.write(rules.rows, trees)
        else:
            self.score_programs.write_columns(rules.rows, rules.places, trees, WrittenPrograms(*rules.compiled))

    def _store_group(self, part: MatcherPart, group: Group) -> None:
        encoded = group.encode(self.encoder)
        self._apply_relabelling()
        added = part.add(encoded)
        # What the store had already keeps its own references to boundaries.
        if added.repeated is not None:
            self.encoder.release(added.repeated)
        self.table.link(group.rows, added.units, part.kind)
        if self._holds_back and part is self.parts[0]:
            part.await_index(added, group, encoded, self.encoder)
        else:
            self._index(part, added, group, encoded)

    def _index(self, part: MatcherPart, added: Any, group: Group, encoded: Any) -> None:
        """Hand units that are new in a store to its engine."""
        part.index(added, group, encoded, self.encoder)

    def hold_back(self) -> bool:
        self._holds_back = self.parts[0].kind == "conjunctions"
        return self._holds_back

    def take_held_back(self) -> None:
        self._holds_back = False
        self.rebuild()

    def _apply_relabelling(self) -> None:
        """Labels ran out between two boundaries: rewrite what is stored, and build the engines anew."""
        changes = self.encoder.drain_relabelled()
        if not changes:
            return
        for attribute, old, new in changes:
            for part in self.parts:
                part.store.relabel(attribute, old, new)
        if not self._holds_back:
            self.rebuild()
            return
        self.ledger.forget_codes()
        for part in self.parts[1:]:
            part.engine.rebuild()

    def _drop(self, units: UnitsByKind) -> None:
        for part in self.parts:
            released = part.drop(units[part.kind]) if len(units[part.kind]) else None
            if released is not None:
                self.encoder.release(released)

    def rebuild(self) -> None:
        self.generation += 1
        self.ledger.forget_codes()
        for part in self.parts:
            part.engine.rebuild()

    def make_room(self) -> None:
        for part in self.parts:
            part.make_room()

    @property
    def merge_due(self) -> bool:
        return bool(self.engine.merge_due)

    def merged(self) -> Any:
        return self.engine.merged()

    def adopt(self, built: Any) -> None:
        self.generation += 1
        self.engine.adopt(built)

    @property
    def reconsider_due(self) -> bool:
        return self.ledger.wasteful

    def reconsider(self) -> None:
        self._begin_change()
        self.engine.reconsider()
        self.ledger.watch.settle()

    def _compact_if_wasteful(self) -> None:
        total = self.table.row_count
        gone = total - len(self.table)
        wasteful = gone > WASTE_LEAST and gone > WASTE_SHARE * total
        for part in self.parts:
            gone, total = part.store.dead, part.store.count
            wasteful |= gone > WASTE_LEAST and gone > WASTE_SHARE * total
        if wasteful:
            self.compact()

    def compact(self) -> None:
        self._begin_change()
        self.score_programs.renumber(self.table.compact({part.kind: part.compact() for part in self.parts}))
        attributes = self.encoder.compact()
        for part in self.parts:
            part.store.renumber(attributes)
        self.rebuild()

    @property
    def holds_conjunctions(self) -> bool:
        """Whether all rules are in the first part as conjunctions, but for those that have too many."""
        return self.parts[0].kind == "conjunctions" and not self.parts[0].store.has_clauses()

    def rows_beside(self) -> NDArray[np.int32]:
        """The rules that are not in the first part, since they have too many conjunctions."""
        return np.unique(np.concatenate([_NONE, *(self.table.pairs(part.kind)[0] for part in self.parts[1:])]))

    # --------------------------------------------------------------- matching

    def listed(self, event: Mapping[str, Any], request: Request, strictness: Strictness = STRICT) -> list[Any]:
        if not request.ranks and strictness.missing == "null" and isinstance(event, dict):
            found = self.one_event.ids(event)
            if found is not None:
                return found
        return request.listed(self.table, rows_of_event(self, event, request, strictness))

    def ask(
        self, events: Any, request: Request, strictness: Strictness = STRICT, threads: int = 1, dead: Dead = None
    ) -> Iterator[EngineEvents]:
        chunks = self.encoder.chunks_of(events, strictness, threads)
        return (EngineEvents(self, chunk, request, dead) for chunk in chunks)

    def show(self, chunk: Chunk, pace: Pace, request: Request, dead: Dead) -> EngineEvents:
        return EngineEvents(self, EventChunk(self.encoder, chunk, pace, QUIET), request, dead)

    def agree(self, types: Mapping[str, str]) -> None:
        self.encoder.agree(types)

    @property
    def workspace(self) -> Workspace:
        """The calling thread's own scratch memory."""
        workspace: Workspace | None = getattr(self._local, "workspace", None)
        if workspace is None:
            workspace = self._local.workspace = Workspace()
        return workspace

    @property
    def one_event(self) -> OneEventMatching:
        """What the calling thread keeps ready for single events."""
        kept: OneEventMatching | None = getattr(self._local, "one_event", None)
        if kept is None or not kept.holds:
            kept = self._local.one_event = OneEventMatching(self)
        return kept

    def forget_scratch(self) -> None:
        """A call was given up half-way: no thread may rely on what it left in its memory."""
        self._local = threading.local()

    # ------------------------------------------------------------------ state

    def _rooms(self) -> dict[str, Any]:
        rooms: dict[str, Any] = {}
        for part in self.parts:
            rooms |= part.rooms()
        return rooms if self.parts[0].bounds is None else {**rooms, "book": self.score_programs}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return arrays_of(self._rooms())

    def header(self) -> dict[str, Any]:
        return headers_of(self._rooms())

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        # Snapshots from before programs were saved have none.
        restore_rooms(self._rooms(), arrays, {"book": {}, **header})

    def stats(self) -> dict[str, Any]:
        self.ledger.settle()
        own, *others = [part.engine.stats() for part in self.parts]
        stores = [part.store for part in self.parts]
        return {
            "options": {AS_PUBLISHED: self.engine.as_published, **self.engine.settings},
            "units": sum(store.live for store in stores),
            "fallback_rules": len(self.rows_beside()),
            "bytes_verify": sum(store.bytes_verify for store in stores),
            **own,
            "bytes_index": own["bytes_index"] + sum(each["bytes_index"] for each in others),
            "bytes_shared": sum(store.bytes_shared for store in stores),
            "bytes_scoring": self.score_programs.nbytes,
            "matching": self.ledger.work.as_dict(),
        }

    def check(self) -> None:
        self.table.check()
        for state in self._rooms().values():
            state.check()
        for part in self.parts:
            check_links(self.table, part.store, part.kind)

    def audit(self) -> list[str]:
        problems = [problem for state in self._rooms().values() for problem in state.audit()]
        return problems if problems or self.parts[0].bounds is None else audit_bounds(self)
