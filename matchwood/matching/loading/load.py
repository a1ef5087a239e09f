"""Loading many rules: prepare a chunk while readers go on, note what is refused, then store it at one stroke."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.encoding import CompiledRules, RuleReader, Use
from matchwood.errors import InvalidArgument, MatchwoodError, TypeConflict
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.chunks import RuleChunk, RuleSource
from matchwood.matching.loading.live_rules import forget_types
from matchwood.matching.loading.preparation import Preparation, PreparedRule, stored_uses
from matchwood.matching.loading.report import Report
from matchwood.matching.loading.sources import rule_chunks
from matchwood.rules import Ids

if TYPE_CHECKING:
    from matchwood.index import Index

LEAST_COMPILED = 2_000
"""Rules that make it worth to look at a chunk as columns: fewer take less than half a second one by one, and nobody who
has a few should wait until the kernels are compiled or loaded."""

ON_ERROR = ("collect", "raise")
ON_DUPLICATE = ("error", "replace")


def load_rules(index: Index, rules: Any, on_error: str, on_duplicate: str) -> Report:
    """Insert rules from any source; the caller is the only writer."""
    _check("on_error", on_error, ON_ERROR)
    _check("on_duplicate", on_duplicate, ON_DUPLICATE)
    chunks: Iterable[RuleChunk] = rule_chunks(rules)
    if on_error == "raise":
        chunks = list(chunks)
        rehearsal = _Rehearsal(index, on_duplicate)
        for chunk in chunks:
            rehearsal.insert(chunk)
    load = _Load(index, on_duplicate)
    for chunk in chunks:
        with without_collecting():
            load.insert(chunk)
    return load.finish()


def _check(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArgument(f"{name} must be {' or '.join(map(repr, known))} (got {value!r:.80})")


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Trees of rules hold no cycles, and looking for them in 20,000 trees takes a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Rehearsal:
    """Prepares every rule as a load would, stores none, and raises the first error.

    Rules are held against a copy of the schema, which also knows those of them that are not stored yet.
    """

    def __init__(self, index: Index, on_duplicate: str) -> None:
        self._index, self._replaces = index, on_duplicate == "replace"
        self._schema = index._encoder.schema.copy()
        self._schema.find_witness = self._find_witness
        matcher = index._matcher
        self._prepare = Preparation(index._encoder, matcher.normal, self._schema, matcher.given).prepare
        self._waiting: dict[Any, list[Use]] = {}
        """What rules that are not stored yet ask of their attributes, by id."""
        self._some_id: Any = None

    def insert(self, chunk: RuleChunk) -> None:
        rules = chunk.sources()
        with without_collecting():
            for rule, row in zip(rules, self._rows_of(rules), strict=True):
                self._take(rule, row)

    def _rows_of(self, rules: list[RuleSource]) -> list[int]:
        """The rows that the rules' ids have in the table, -1 for those that are not there."""
        table = self._index._table
        try:
            rows: list[int] = table.rows_of([rule.id for rule in rules]).tolist()
        except InvalidArgument:
            rows = [table.find(rule.id) for rule in rules]
        return rows

    def _take(self, rule: RuleSource, row: int) -> None:
        try:
            self._prepared(rule, row)
        except MatchwoodError as error:
            error.add_note(f"in rule {rule.id!r:.200}; nothing was inserted")
            raise

    def _prepared(self, rule: RuleSource, row: int) -> tuple[Any, PreparedRule, bool]:
        """A rule's id, what it becomes, and whether a rule has that id already: one in the chunk, or at `row`."""
        if rule.problem is not None:
            raise rule.problem
        rule_id = self._index._table.checked_id(rule.id, self._some_id)
        old = self._uses_of(rule_id, row)
        prepared = self._prepare(rule_id, rule.expression, rule.options, old or ())
        if old is not None:
            forget_types(self._schema, old)
        self._schema.add(prepared.uses, rule_id)
        self._waiting[rule_id] = prepared.uses
        self._some_id = rule_id
        return rule_id, prepared, old is not None

    def _uses_of(self, rule_id: Any, row: int) -> list[Use] | None:
        """The uses of the rule that has an id already; None if there is none."""
        waiting = self._waiting.get(rule_id)
        if waiting is None and row < 0:
            return None
        if not self._replaces:
            raise InvalidArgument(f"a rule with the id {rule_id!r} exists already (on_duplicate='replace' replaces it)")
        return stored_uses(self._schema, self._index._table.text(row)) if waiting is None else waiting

    def _find_witness(self, attribute: str, kind: str, passed_over: Collection[Any]) -> Any:
        for rule_id, uses in self._waiting.items():
            if (attribute, kind) in uses and rule_id not in passed_over:
                return rule_id
        return self._index._find_witness(attribute, kind, {*self._waiting, *passed_over})


class _Load(_Rehearsal):
    """One bulk insertion under way: a chunk is prepared without the lock, and stored with it."""

    def __init__(self, index: Index, on_duplicate: str) -> None:
        super().__init__(index, on_duplicate)
        self._reader = RuleReader(index._encoder)
        self._report = Report()
        self._chunks = 0
        self._fresh: dict[Any, PreparedRule] = {}
        self._replacing: dict[Any, PreparedRule] = {}

    def insert(self, chunk: RuleChunk) -> None:
        if not self._insert_columns(chunk):
            self._schema.follow(self._index._encoder.schema)
            self._waiting = {}
            super().insert(chunk)
            self._store()

    def _insert_columns(self, chunk: RuleChunk) -> bool:
        """Insert a chunk of new rules as columns; False, with nothing done, if it has to be taken in turn.

        What is not taken so is prepared as if it came first. That makes no difference as long as no rule is against
        another of the chunk, which shows when they are compared with those in columns in the end.
        """
        compiled = self._compiled(chunk)
        outcome = None if compiled is None else self._prepared_beside(chunk, compiled)
        if compiled is None or outcome is None or not compiled.agree_with(self._schema):
            return False
        prepared, rejected = outcome
        batch = Batch.with_compiled(chunk, prepared, compiled)
        with self._index._storing():
            self._index._matcher.insert(batch)
        self._schema.follow(self._index._encoder.schema)
        self._report.inserted += len(prepared) + len(compiled)
        for rule, error in rejected:
            self._report.reject(rule.id, rule.expression, error)
        self._chunks, self._waiting = self._chunks + 1, {}
        return True

    def _compiled(self, chunk: RuleChunk) -> CompiledRules | None:
        """The rules that may be stored as columns; None if there are too few, or ids make the chunk one to be taken in
        turn."""
        matcher = self._index._matcher
        taking = matcher.takes_columns
        if taking is None or len(chunk) < LEAST_COMPILED or not self._all_new(chunk.ids):
            return None
        texts = chunk.texts()
        read = self._reader.read(*texts.utf8, texts.given, matcher.dnf_limit, taking)
        compiled = read.undisputed(self._schema)
        return compiled if len(compiled) >= LEAST_COMPILED else None

    def _all_new(self, ids: Ids) -> bool:
        """Whether these ids may be inserted, none of them names a rule, and none comes twice."""
        try:
            rows, firsts = self._index._table.locate(ids)
        except InvalidArgument:
            return False
        return bool((rows < 0).all() and (firsts == np.arange(len(rows))).all())

    def _prepared_beside(
        self, chunk: RuleChunk, compiled: CompiledRules
    ) -> tuple[dict[int, PreparedRule], list[tuple[RuleSource, MatchwoodError]]] | None:
        """The other rules by position, and those refused; None if types depend on who comes first."""
        prepared: dict[int, PreparedRule] = {}
        rejected: list[tuple[RuleSource, MatchwoodError]] = []
        others = np.flatnonzero(~compiled.wanted).tolist()
        for position, rule in zip(others, chunk.sources(others) if others else (), strict=True):
            try:
                prepared[position] = self._prepared(rule, -1)[1]
            except MatchwoodError as error:
                if isinstance(error, TypeConflict) and self._index._encoder.schema.kind(error.what) == "any":
                    return None
                rejected.append((rule, error))
        return prepared, rejected

    def _take(self, rule: RuleSource, row: int) -> None:
        try:
            rule_id, prepared, known = self._prepared(rule, row)
        except MatchwoodError as error:
            self._report.reject(rule.id, rule.expression, error)
            return
        # Of an id that comes twice in a chunk only the last rule is stored, in the place of the first.
        target = self._replacing if known and rule_id not in self._fresh else self._fresh
        target[rule_id] = prepared
        self._report.replaced += known
        self._report.inserted += not known

    def _store(self) -> None:
        index, table = self._index, self._index._table
        with index._storing():
            if self._replacing:
                rows = table.rows_of(list(self._replacing))
                index._matcher.replace(rows, list(self._replacing.values()))
            if self._fresh:
                index._matcher.insert(Batch.of(list(self._fresh), list(self._fresh.values())))
        self._chunks += 1
        self._fresh, self._replacing, self._waiting = {}, {}, {}

    def finish(self) -> Report:
        """Engines lay out tightest what comes at once: worth a rebuild if most of the rules came in several chunks."""
        index = self._index
        if self._chunks > 1 and 2 * self._report.inserted > len(index._table):
            index._lay_out_anew()
        self._report.id_type = index._table.id_type
        return self._report
