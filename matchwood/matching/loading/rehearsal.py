"""Rules prepared as a load would, none of them stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from matchwood.core import without_collecting
from matchwood.encoding import Settled, Use
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.matching.loading.chunks import RuleChunk, RuleSource
from matchwood.matching.loading.live_rules import forget_types
from matchwood.matching.loading.preparation import Preparation, PreparedRule, stored_uses

if TYPE_CHECKING:
    from matchwood.index import Index


class Rehearsal:
    """Prepares every rule as a load would, stores none, and raises the first error.

    Rules are held against a copy of the schema, which also knows those of them that are not stored yet.
    """

    def __init__(self, index: Index, on_duplicate: str, settled: Mapping[str, Settled] | None = None) -> None:
        self._index, self._replaces = index, on_duplicate == "replace"
        self._schema = index._encoder.schema.copy()
        self._schema.settled.update(settled or {})
        self._schema.find_witness = self._find_witness
        matcher = index._matcher
        self._prepare = Preparation(index._encoder, matcher.normal, self._schema, matcher.weight_caps).prepare
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

    def _prepared(self, rule: RuleSource, row: int) -> tuple[Any, PreparedRule, list[Use] | None]:
        """A rule's id, what it becomes, and the uses of the rule that has the id already: in the chunk, or at `row`."""
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
        return rule_id, prepared, old

    def _uses_of(self, rule_id: Any, row: int) -> list[Use] | None:
        """The uses of the rule that has an id already; None if there is none."""
        waiting = self._waiting.get(rule_id)
        if waiting is None and row < 0:
            return None
        if not self._replaces:
            raise InvalidArgument(f"a rule with the id {rule_id!r} already exists (on_duplicate='replace' replaces it)")
        return stored_uses(self._schema, self._index._table.text(row)) if waiting is None else waiting

    def _find_witness(self, attribute: str, kind: str, passed_over: Collection[Any]) -> Any:
        for rule_id, uses in self._waiting.items():
            if (attribute, kind) in uses and rule_id not in passed_over:
                return rule_id
        return self._index._find_witness(attribute, kind, {*self._waiting, *passed_over})
