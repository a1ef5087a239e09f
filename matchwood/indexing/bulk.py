"""Loading many rules: prepare a chunk, note what is refused, store the rest, index all of it at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.indexing.preparation import Prepared, prepare
from matchwood.indexing.report import Report
from matchwood.indexing.sources import RuleSource, rule_chunks

if TYPE_CHECKING:
    from matchwood.index import Index

ON_ERROR = ("collect", "raise")
ON_DUPLICATE = ("error", "replace")


def insert_many(index: Index, rules: Any, on_error: str, on_duplicate: str) -> Report:
    """Insert rules from any source; the caller is the only writer."""
    _check("on_error", on_error, ON_ERROR)
    _check("on_duplicate", on_duplicate, ON_DUPLICATE)
    chunks: Iterable[list[RuleSource]] = rule_chunks(rules)
    if on_error == "raise":
        chunks = list(chunks)
        _refuse_any_bad_rule(index, chunks, on_duplicate)
    load = _Load(index, on_duplicate)
    for chunk in chunks:
        load.insert(chunk)
    load.finish()
    return load.report


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArgument(f"{name} must be {' or '.join(map(repr, known))} (got {value!r})")


class _Load:
    """One bulk insertion under way."""

    def __init__(self, index: Index, on_duplicate: str) -> None:
        self.report = Report()
        self._index, self._replaces = index, on_duplicate == "replace"
        self._schema = index._encoder.schema

    def insert(self, chunk: list[RuleSource]) -> None:
        """Prepare without the lock, so that readers go on; store with it."""
        fresh: dict[Any, Prepared] = {}
        replacing: list[tuple[Any, Prepared]] = []
        for rule in chunk:
            try:
                rule_id, known = self._checked_id(rule.id, fresh)
                prepared = prepare(self._index._encoder, self._index._dnf_limit, rule_id, rule.expression, rule.options)
            except MatchwoodError as error:
                self.report.reject(rule.id, rule.expression, error)
                continue
            self._schema.add(prepared.uses)
            if known:
                replacing.append((rule_id, prepared))
            else:
                fresh[rule_id] = prepared
        self._store(fresh, replacing)

    def _checked_id(self, given: Any, fresh: Collection[Any]) -> tuple[Any, bool]:
        """The id as the table keeps it, and whether a rule has it already."""
        rule_id = self._index._table.checked_id(given)
        known = rule_id in fresh or self._index._table.find(rule_id) >= 0
        if known and not self._replaces:
            raise InvalidArgument(f"a rule with the id {rule_id!r} exists already (on_duplicate='replace' replaces it)")
        return rule_id, known

    def _store(self, fresh: dict[Any, Prepared], replacing: list[tuple[Any, Prepared]]) -> None:
        index = self._index
        with index._lock.writing():
            if fresh:
                index._matcher.insert(list(fresh), list(fresh.values()))
            for rule_id, prepared in replacing:
                index._matcher.replace(index._table.row_of(rule_id), prepared)
        self.report.inserted += len(fresh)
        self.report.replaced += len(replacing)

    def finish(self) -> None:
        """Index everything that was stored: engines build fastest in one go."""
        with self._index._lock.writing():
            self._index._matcher.flush()


def _refuse_any_bad_rule(index: Index, chunks: list[list[RuleSource]], on_duplicate: str) -> None:
    """Raise the first error among the rules, naming the rule; change nothing either way."""
    rehearsal = _Rehearsal(index, on_duplicate)
    try:
        for chunk in chunks:
            rehearsal.insert(chunk)
    finally:
        rehearsal.undo()


class _Rehearsal(_Load):
    """Prepares every rule like a load, stores none, and raises instead of collecting."""

    def __init__(self, index: Index, on_duplicate: str) -> None:
        super().__init__(index, on_duplicate)
        self._seen: set[Any] = set()
        self._uses: list[list[tuple[str, str]]] = []

    def insert(self, chunk: list[RuleSource]) -> None:
        for rule in chunk:
            try:
                rule_id, _ = self._checked_id(rule.id, self._seen)
                prepared = prepare(self._index._encoder, self._index._dnf_limit, rule_id, rule.expression, rule.options)
            except MatchwoodError as error:
                error.add_note(f"in rule {rule.id!r}; nothing was inserted")
                raise
            self._schema.add(prepared.uses)
            self._uses.append(prepared.uses)
            self._seen.add(rule_id)

    def undo(self) -> None:
        """Forget the types that the rehearsal inferred."""
        for uses in self._uses:
            self._schema.remove(uses)
