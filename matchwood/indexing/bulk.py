"""Loading many rules: prepare a chunk, note what is refused, store the rest, index all of it at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from matchwood.encoding import Use
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
        self._some_id: Any = None

    def insert(self, chunk: list[RuleSource]) -> None:
        """Prepare without the lock, so that readers go on; store with it."""
        fresh: dict[Any, Prepared] = {}
        replacing: list[tuple[Any, Prepared]] = []
        texts: dict[Any, str] = {}
        for rule in chunk:
            try:
                rule_id, prepared, known = self._prepared(rule, texts)
            except MatchwoodError as error:
                self.report.reject(rule.id, rule.expression, error)
                continue
            if known:
                replacing.append((rule_id, prepared))
            else:
                fresh[rule_id] = prepared
        self._store(fresh, replacing)

    def _prepared(self, rule: RuleSource, texts: dict[Any, str]) -> tuple[Any, Prepared, bool]:
        """A rule's id, what it becomes, and whether a rule has that id already; `texts` are those not stored yet."""
        index = self._index
        rule_id = index._table.checked_id(rule.id, self._some_id)
        old = texts.get(rule_id)
        if old is None and (row := index._table.find(rule_id)) >= 0:
            old = index._table.text(row)
        if old is not None and not self._replaces:
            raise InvalidArgument(f"a rule with the id {rule_id!r} exists already (on_duplicate='replace' replaces it)")
        prepared = prepare(index._encoder, index._dnf_limit, rule_id, rule.expression, rule.options, old)
        self._schema.add(prepared.uses, rule_id)
        texts[rule_id], self._some_id = prepared.text, rule_id
        return rule_id, prepared, old is not None

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
        self._texts: dict[Any, str] = {}
        self._uses: list[list[Use]] = []

    def insert(self, chunk: list[RuleSource]) -> None:
        for rule in chunk:
            try:
                _, prepared, _ = self._prepared(rule, self._texts)
            except MatchwoodError as error:
                error.add_note(f"in rule {rule.id!r}; nothing was inserted")
                raise
            self._uses.append(prepared.uses)

    def undo(self) -> None:
        """Forget the types that the rehearsal inferred."""
        for uses in self._uses:
            self._schema.remove(uses)
