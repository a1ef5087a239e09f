"""Matching by compiled engines: rules become units in stores, events become codes, hits become rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import arrays_of, headers_of, restore_rooms
from matchwood.encoding import EncodedConjunctions, EncodedEvents, Encoder, LeafRows, PlainRules
from matchwood.engines import (
    AS_PUBLISHED,
    ATree,
    BoundTable,
    ConjunctionStore,
    Engine,
    Ranked,
    Structure,
    Work,
    Workspace,
    engine_class,
)
from matchwood.language import Expression
from matchwood.logic import (
    NEVER,
    Bind,
    Clause,
    Clauses,
    Conjunction,
    Form,
    binary,
    dnf_of,
    form_of_rule,
    smaller_of,
    unsuppressed,
)
from matchwood.matching.bound_audit import audit_bounds
from matchwood.matching.bounds import batch_bounds
from matchwood.matching.engine_events import EngineEvents, rows_of_event
from matchwood.matching.event_sample import EventSample
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.live_rules import check_links, insert_rules, remove_rules, replace_rules
from matchwood.matching.loading.preparation import Normal, PreparedRule
from matchwood.matching.ranked_events import RankedEvents, top_of_event
from matchwood.matching.watch import Watch
from matchwood.matching.work import WorkCounters
from matchwood.ranking import RuleWeights, ScorePrograms, Wanted, given_bounds
from matchwood.rules import RuleTable

WASTE_SHARE, WASTE_LEAST = 0.5, 10_000
"""What is dead is cleared away by itself when it is more than this share of all, and not just a few."""

_AS_FORM, _AS_CLAUSES = -1, -2
_NONE = np.empty(0, np.int32)


class EngineMatcher:
    """An engine over conjunctions and, for the rules whose DNF is over the limit, an A-Tree; or an A-Tree alone.

    `setting` what the index was made with, and `name` the engine that matches
    `engine`  that engine
    `forms`   the A-Tree
    `over`    the engine over conjunctions, or None
    """

    def __init__(
        self, engine: str, encoder: Encoder, table: RuleTable, options: Mapping[str, Any], dnf_limit: int
    ) -> None:
        self.name = self.setting = engine
        self.encoder, self.table = encoder, table
        chosen = engine_class(self.name)
        self.conjunctions = ConjunctionStore(clauses=getattr(chosen, "clauses", False))
        self.over: Engine | None = chosen(self.conjunctions, options) if chosen.takes == "conjunctions" else None
        self.forms: ATree = ATree() if self.over is not None else chosen(options)
        self.engine: Structure = self.over or self.forms
        self.engine.history = self.forms.history = encoder.history
        self.engine.values = encoder.vocabulary
        encoder.vocabulary.tells_false = not self.forms.settings["zero_suppression"]
        self.dnf_limit = dnf_limit
        self.work, self.watch, self.sample = WorkCounters(), Watch(), EventSample()
        self.book = ScorePrograms(encoder, table)
        """What scores rules."""
        self.bounds = BoundTable(self.conjunctions) if self.over is not None and self.over.ranks else None
        """How much they can score, where the engine asks for that."""
        self.engine.bounds = self.bounds
        self.given: RuleWeights | None = given_bounds(self.engine.settings.get("bounds"))
        """What no rule may weigh more than, where the engine was given bounds."""
        self.generation = 0
        """Grows with every change: codes of events and numbers of units hold within one generation only."""
        self._local = threading.local()

    def normal(self, expression: Expression, bind: Bind | None = None) -> Normal:
        """What a rule becomes: conjunctions, or clauses where those are smaller and the engine takes them; or a form
        where all are too many, or where forms are all that counts."""
        bind = bind or self.encoder.bind
        if self.over is not None:
            form = self.over.settings["form"] if self.conjunctions.clauses else "dnf"
            if form == "dnf":
                return dnf_of(expression, bind, self.dnf_limit)
            return smaller_of(expression, bind, self.dnf_limit, clauses_only=form == "cnf")
        if not self.forms.settings["zero_suppression"]:
            form = unsuppressed(expression, bind)
        else:
            form = form_of_rule(expression, bind)
        if form == NEVER:
            return []
        return binary(form) if self.forms.settings["binary"] else form

    # ---------------------------------------------------------------- changes

    @property
    def takes_plain(self) -> bool:
        """Bounds are told by trees, and some forms of rules are chosen by them."""
        if self.over is None:
            return bool(self.forms.settings["zero_suppression"] and not self.forms.settings["binary"])
        clauses_only = self.conjunctions.clauses and self.over.settings["form"] == "cnf"
        return self.bounds is None and not self.given and not clauses_only and self.dnf_limit > 0

    def insert(self, batch: Batch) -> None:
        self.generation += 1
        rows = insert_rules(self.table, self.encoder.schema, batch)
        self._store(rows, batch.prepared, batch.places, batch.plain)

    def replace(self, rows: NDArray[np.int32], prepared: Sequence[PreparedRule]) -> None:
        self.generation += 1
        self.book.forget(rows)
        replace_rules(self.table, self.encoder.schema, rows, prepared)
        # The old conjunctions go first: the new ones may use an attribute with another type.
        self._drop(*self.table.unlink_many(rows))
        self._store(rows, prepared, np.arange(len(prepared)))
        self._compact_if_wasteful()

    def remove(self, rows: NDArray[np.int32]) -> None:
        self.generation += 1
        self.book.forget(rows)
        self._drop(*remove_rules(self.table, self.encoder.schema, rows))
        self._compact_if_wasteful()

    def clear(self) -> None:
        self.generation += 1
        self.book.clear()
        self._drop(*self.table.remove_many(self.table.live_rows()))
        self.encoder.schema.restore({})
        self.compact()

    def _store(
        self,
        rows: NDArray[np.int32],
        prepared: Sequence[PreparedRule],
        places: NDArray[np.int64],
        plain: PlainRules | None = None,
    ) -> None:
        """Store what prepared rules became, and plain ones; `rows` are those of all, in their order."""
        conjunctions: list[Conjunction] = []
        clauses: list[list[Clause]] = []
        forms: list[Form] = []
        counts = np.zeros(len(prepared), dtype=np.int64)
        for position, rule in enumerate(prepared):
            if isinstance(rule.normal, Form):
                counts[position] = _AS_FORM
                forms.append(rule.normal)
            elif isinstance(rule.normal, Clauses):
                counts[position] = _AS_CLAUSES
                clauses.append(rule.normal.rows)
            else:
                counts[position] = len(rule.normal)
                conjunctions.extend(rule.normal)
        owners = places[counts == _AS_FORM]
        if plain is not None and self.over is None:
            owners, order = _in_order(owners, plain.positions)
            forms = list(map((forms + plain.forms()).__getitem__, order.tolist()))
        if forms:
            self._store_forms(rows[owners], forms)
        if clauses:
            chosen = [rule for rule in prepared if isinstance(rule.normal, Clauses)]
            self._store_clauses(rows[places[counts == _AS_CLAUSES]], self.encoder.encode_clauses(clauses), chosen)
        owners = np.repeat(places, np.maximum(counts, 0))
        leaves: list[Conjunction] | LeafRows = conjunctions
        if plain is not None and self.over is not None:
            owners, order = _in_order(owners, plain.positions)
            leaves = LeafRows.of(conjunctions).joined(plain.rows(), order) if conjunctions else plain.rows()
        if len(owners):
            chosen = [rule for rule in prepared if isinstance(rule.normal, list)]
            self._store_units(rows[owners], self.encoder.encode(leaves), chosen)
        if self.bounds is not None:
            self.book.write(rows, [rule.tree for rule in prepared])

    def _store_clauses(
        self, rows: NDArray[np.int32], encoded: EncodedConjunctions, prepared: Sequence[PreparedRule]
    ) -> None:
        self._store_units(rows, encoded, prepared)

    def _store_units(
        self, rows: NDArray[np.int32], encoded: EncodedConjunctions, prepared: Sequence[PreparedRule]
    ) -> None:
        self._apply_relabelling()
        added = self.conjunctions.add(encoded)
        # A conjunction that the store had already keeps its own references to boundaries.
        if added.repeated is not None:
            self.encoder.release(added.repeated)
        self.table.link(rows, added.units, "conjunctions")
        raised = self._raise_bounds(added.units, prepared, encoded)
        if len(added.new_units):
            self._index_units(added.new_units)
        if self.over is not None and len(risen := np.setdiff1d(raised, added.new_units)):
            self.over.weigh(risen)

    def _index_units(self, units: NDArray[np.int32]) -> None:
        """Hand units that are new in the store to the engine."""
        if self.over is not None:
            self.over.insert(units)

    def _raise_bounds(
        self, units: NDArray[np.int32], prepared: Sequence[PreparedRule], encoded: EncodedConjunctions
    ) -> NDArray[np.int32]:
        """Note how much the rules of these units can score; returns the units whose bounds have risen."""
        if self.bounds is None:
            return _NONE
        return self.bounds.raise_to(units, batch_bounds(self.encoder, prepared, encoded, self.given))

    def _store_forms(self, rows: NDArray[np.int32], forms: list[Form]) -> None:
        encoded = self.encoder.encode_forms(forms, shared=self.forms.settings["unique"])
        self._apply_relabelling()
        added = self.forms.add(encoded)
        self.encoder.release(added.repeated)
        self.table.link(rows, added.units, "forms")

    def _apply_relabelling(self) -> None:
        """Labels ran out between two boundaries: rewrite what is stored, and build the engines anew."""
        changes = self.encoder.drain_relabelled()
        if not changes:
            return
        for attribute, old, new in changes:
            self.conjunctions.relabel(attribute, old, new)
            self.forms.relabel(attribute, old, new)
        self.rebuild()

    def _drop(self, conjunctions: NDArray[np.int32], forms: NDArray[np.int32]) -> None:
        freed = self.conjunctions.drop(conjunctions)
        if len(freed) and self.over is not None:
            released: EncodedConjunctions = self.conjunctions.encoded(freed)
            self.over.remove(freed)
            self.encoder.release(released)
            self.conjunctions.free(freed)
        self._drop_forms(forms)

    def _drop_forms(self, forms: NDArray[np.int32]) -> None:
        gone = self.forms.drop(forms)
        if len(gone):
            self.encoder.release(self.forms.free(gone))

    def rebuild(self) -> None:
        self.sample.clear()
        if self.over is not None:
            self.over.rebuild()
        self.forms.rebuild()

    @property
    def merge_due(self) -> bool:
        return self.engine.merge_due

    def merged(self) -> Any:
        return self.engine.merged()

    def adopt(self, built: Any) -> None:
        self.engine.adopt(built)

    @property
    def reconsider_due(self) -> bool:
        return self.watch.due

    def reconsider(self) -> None:
        self.engine.reconsider()
        self.watch.settle()

    def _compact_if_wasteful(self) -> None:
        live = (self.conjunctions.live, self.forms.live, len(self.table))
        dead = (self.conjunctions.dead, self.forms.dead, self.table.row_count - len(self.table))
        shares = [(gone, gone + left) for gone, left in zip(dead, live, strict=True)]
        if any(gone > WASTE_LEAST and gone > WASTE_SHARE * total for gone, total in shares):
            self.compact()

    def compact(self) -> None:
        self.generation += 1
        units = self.conjunctions.compact()
        if self.bounds is not None:
            self.bounds.compact(units)
        self.book.renumber(self.table.compact(units, self.forms.compact()))
        attributes = self.encoder.compact()
        self.conjunctions.renumber(attributes)
        self.forms.renumber(attributes)
        self.rebuild()

    @property
    def holds_conjunctions(self) -> bool:
        """Whether all rules are in the store as conjunctions, but for those that have too many."""
        return self.over is not None and not self.conjunctions.has_clauses()

    # --------------------------------------------------------------- matching

    def rows_of(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        return rows_of_event(self, event)

    def ask(self, events: Any, missing: str, threads: int = 1) -> Iterator[EngineEvents]:
        chunks = self.encoder.event_chunks(events, missing=missing, threads=threads)
        return (EngineEvents(self, chunk) for chunk in chunks)

    def top_of(self, event: Mapping[str, Any], wanted: Wanted) -> Ranked:
        return top_of_event(self, event, wanted)

    def ask_top(self, events: Any, missing: str, wanted: Wanted, threads: int = 1) -> Iterator[RankedEvents]:
        chunks = self.encoder.event_chunks(events, missing=missing, threads=threads)
        return (RankedEvents(self, chunk, wanted) for chunk in chunks)

    def observe(self, events: EncodedEvents) -> None:
        """Remember what events are like."""
        self.encoder.history.observe(events)
        self.sample.observe(events)

    def note(self, engine: Structure, events: int, work: Work, seconds: float, scored: int = 0) -> None:
        """Count what one call of an engine did, and the seconds that it took."""
        self.work.fold(events if engine is self.engine else 0, work, scored)
        if engine.uses_history:
            self.watch.fold(events, work)

    @property
    def workspace(self) -> Workspace:
        """The calling thread's own scratch memory."""
        workspace: Workspace | None = getattr(self._local, "workspace", None)
        if workspace is None:
            workspace = self._local.workspace = Workspace()
        return workspace

    # ------------------------------------------------------------------ state

    def _rooms(self) -> dict[str, Any]:
        rooms: dict[str, Any] = {"conjunctions": self.conjunctions, "forms": self.forms}
        if self.bounds is not None:
            rooms |= {"bounds": self.bounds, "book": self.book}
        return rooms if self.over is None else {**rooms, "engine": self.over}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return arrays_of(self._rooms())

    def header(self) -> dict[str, Any]:
        return headers_of(self._rooms())

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        # Snapshots from before programs were saved have none.
        restore_rooms(self._rooms(), arrays, {"book": {}, **header})

    def stats(self) -> dict[str, Any]:
        own, forms = self.engine.stats(), self.forms.stats()
        beside = 0 if self.over is None else forms["bytes_index"]
        return {
            "options": {AS_PUBLISHED: self.engine.as_published, **self.engine.settings},
            "units": self.conjunctions.live + self.forms.live,
            "fallback_rules": 0 if self.over is None else self.table.stats()["form_rules"],
            "bytes_verify": self.conjunctions.bytes_verify + self.forms.bytes_verify,
            **own,
            "bytes_index": own["bytes_index"] + beside,
            "bytes_shared": self.conjunctions.bytes_shared + self.forms.bytes_shared,
            "bytes_scoring": self.book.nbytes,
            "matching": self.work.as_dict(),
        }

    def check(self) -> None:
        self.table.check()
        for state in self._rooms().values():
            state.check()
        check_links(self.table, self.conjunctions, "conjunctions")
        check_links(self.table, self.forms, "forms")

    def audit(self) -> list[str]:
        problems = [problem for state in self._rooms().values() for problem in state.audit()]
        return problems if problems or self.bounds is None else audit_bounds(self)


def _in_order(places: NDArray[np.int64], others: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two columns of places as one that increases, and where each of its elements stands if they lie end to end."""
    both = np.concatenate((places, others))
    order = np.argsort(both, kind="stable")
    return both[order], order
