"""Matching by compiled engines: rules become units in stores, events become codes, hits become rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.encoding.codes import EncodedConjunctions, EncodedEvents
from matchwood.engines import ConjunctionStore, Engine, FormScan, FormStore, Hits, Workspace, engine_class
from matchwood.indexing.preparation import Prepared, uses_of
from matchwood.indexing.work import WorkCounters
from matchwood.logic import Conjunction, Form
from matchwood.rules import Rows, RuleTable

DEFAULT_ENGINE = "counting"
"""What `auto` means while there is nothing better to choose from."""

WASTE_SHARE, WASTE_LEAST = 0.5, 10_000
"""Dead units are cleared away by themselves when they are more than this share of all, and not just a few."""


class CompiledMatcher:
    """An engine over conjunctions, and beside it one for the rules whose DNF is over the limit."""

    def __init__(self, engine: str, encoder: Encoder, table: RuleTable, options: Mapping[str, Any]) -> None:
        self.name = DEFAULT_ENGINE if engine == "auto" else engine
        self.encoder, self.table = encoder, table
        self.conjunctions, self.forms = ConjunctionStore(), FormStore()
        self.engine: Engine = engine_class(self.name)(self.conjunctions, options)
        self.form_engine: Engine = FormScan(self.forms)
        self.work = WorkCounters()
        self._pending: list[NDArray[np.int32]] = []
        self._local = threading.local()

    # ---------------------------------------------------------------- changes

    def insert(self, ids: Sequence[Any], prepared: Sequence[Prepared]) -> None:
        rows = self.table.insert_many(
            ids,
            [rule.text for rule in prepared],
            weights=[rule.weights.constant for rule in prepared],
            weights_json=[rule.weights.by_attribute for rule in prepared],
        )
        self._store(rows, prepared)

    def replace(self, row: int, prepared: Prepared) -> None:
        self.flush()
        self.encoder.schema.remove(uses_of(self.table.text(row)))
        # The old rule goes first: the new one may use an attribute with another type.
        self._drop(*self.table.unlink(row))
        self._store(np.array([row], dtype=np.int32), [prepared])
        self.flush()
        self.table.replace_text(row, prepared.text, prepared.weights.constant, prepared.weights.by_attribute)

    def remove(self, row: int) -> None:
        self.flush()
        self.encoder.schema.remove(uses_of(self.table.text(row)))
        self._drop(*self.table.remove(row))
        self._compact_if_wasteful()

    def flush(self) -> None:
        """Index what was stored since the last flush: in one go, which is how engines build fastest."""
        if self._pending:
            units = self._pending[0] if len(self._pending) == 1 else np.concatenate(self._pending)
            self._pending = []
            self.engine.insert(units)

    def _store(self, rows: NDArray[np.int32], prepared: Sequence[Prepared]) -> None:
        conjunctions: list[Conjunction] = []
        counts = np.zeros(len(prepared), dtype=np.int64)
        for position, rule in enumerate(prepared):
            if isinstance(rule.normal, Form):
                self._store_form(int(rows[position]), rule.normal)
            else:
                counts[position] = len(rule.normal)
                conjunctions.extend(rule.normal)
        if conjunctions:
            self._store_conjunctions(np.repeat(rows, counts), conjunctions)

    def _store_conjunctions(self, rows: NDArray[np.int32], conjunctions: list[Conjunction]) -> None:
        encoded = self.encoder.encode(conjunctions)
        self._apply_relabelling()
        added = self.conjunctions.add(encoded)
        # A conjunction that the store had already keeps its own references to boundaries.
        if added.repeated is not None:
            self.encoder.release(added.repeated)
        self.table.link(rows, added.units, "conjunctions")
        if len(added.new_units):
            self._pending.append(added.new_units)

    def _store_form(self, row: int, form: Form) -> None:
        encoded = self.encoder.encode_form(form)
        self._apply_relabelling()
        unit, is_new = self.forms.add(encoded)
        if is_new:
            self.form_engine.insert(np.array([unit], dtype=np.int32))
        else:
            self.encoder.release(encoded.constraints)
        self.table.link(np.array([row]), np.array([unit], dtype=np.int32), "forms")

    def _apply_relabelling(self) -> None:
        """Labels ran out between two boundaries: rewrite what is stored, and build the engines anew."""
        changes = self.encoder.drain_relabelled()
        if not changes:
            return
        for attribute, old, new in changes:
            self.conjunctions.relabel(attribute, old, new)
            self.forms.relabel(attribute, old, new)
        self._pending = []
        self.engine.rebuild()
        self.form_engine.rebuild()

    def _drop(self, conjunctions: NDArray[np.int32], forms: NDArray[np.int32]) -> None:
        self._drop_from(self.conjunctions, self.engine, conjunctions)
        self._drop_from(self.forms, self.form_engine, forms)

    def _drop_from(self, store: Any, engine: Engine, units: NDArray[np.int32]) -> None:
        if not len(units):
            return
        freed = store.drop(units)
        if len(freed):
            released: EncodedConjunctions = store.encoded(freed)
            engine.remove(freed)
            self.encoder.release(released)
            store.free(freed)

    def _compact_if_wasteful(self) -> None:
        dead = self.conjunctions.count - self.conjunctions.live
        if dead > WASTE_LEAST and dead > WASTE_SHARE * self.conjunctions.count:
            self.compact()

    def compact(self) -> None:
        self.flush()
        self.table.compact(self.conjunctions.compact(), self.forms.compact())
        self.engine.rebuild()
        self.form_engine.rebuild()

    # --------------------------------------------------------------- matching

    def rows_of(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        encoded = self.encoder.encode_event(event)
        return next(self._rows(encoded, 0)).rows

    def row_batches(self, events: Any, missing: str) -> Iterator[Rows]:
        for batch in self.encoder.event_batches(events, missing=missing):
            yield from self._rows(batch.events, batch.first_row)

    def _rows(self, events: EncodedEvents, first_row: int) -> Iterator[Rows]:
        """The rows of all events of a batch, in as many pieces as the output buffers make of it."""
        position = 0
        while position < events.count:
            conjunctions = self._hits(self.engine, events, position)
            forms = self._hits(self.form_engine, events, position) if self.forms.live else None
            end = position + min(hits.count for hits in (conjunctions, forms) if hits is not None)
            while position < end:
                rows = self.table.rows(conjunctions, forms, position, self.workspace)
                position += rows.count
                yield rows._replace(first=first_row + rows.first)

    def _hits(self, engine: Engine, events: EncodedEvents, first: int) -> Hits:
        hits = engine.match(events, first, self.workspace)
        self.work.fold(hits.count if engine is self.engine else 0, hits.work)
        return hits

    @property
    def workspace(self) -> Workspace:
        """The calling thread's own scratch memory."""
        try:
            return self._local.workspace
        except AttributeError:
            self._local.workspace = Workspace()
            return self._local.workspace

    # ------------------------------------------------------------------ state

    def _rooms(self) -> dict[str, Any]:
        return {
            "conjunctions": self.conjunctions,
            "forms": self.forms,
            "engine": self.engine,
            "form_engine": self.form_engine,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {f"{room}.{name}": array for room, state in self._rooms().items() for name, array in state.arrays().items()}

    def header(self) -> dict[str, Any]:
        return {room: state.header() for room, state in self._rooms().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        for room, state in self._rooms().items():
            prefix = f"{room}."
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            state.restore(own, header[room])

    def stats(self) -> dict[str, Any]:
        return {
            "units": self.conjunctions.live + self.forms.live,
            "fallback_rules": self.table.stats()["form_rules"],
            "bytes_verify": self.conjunctions.bytes_verify + self.forms.bytes_verify,
            **self.engine.stats(),
            "matching": self.work.as_dict(),
        }

    def audit(self) -> list[str]:
        return [problem for state in self._rooms().values() for problem in state.audit()]
