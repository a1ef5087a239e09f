"""`index.find`: the rules that stand in a relation to an expression, among those that an engine matcher holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.engines import ConjunctionStore
from matchwood.errors import LimitExceeded
from matchwood.insight.find import _kernels as kernels
from matchwood.insight.find.joint import TooHard, jointly_covered, numbers_of
from matchwood.insight.find.logic import is_found
from matchwood.insight.find.query import FIND_LIMIT, Query
from matchwood.insight.find.targets import Targets, targets_of
from matchwood.language import Expression, parse
from matchwood.logic import Conjunction, Form, dnf_of
from matchwood.rules import RuleTable

if TYPE_CHECKING:
    from matchwood.matching import EngineMatcher

Rows: TypeAlias = NDArray[np.int32]
Verdicts: TypeAlias = NDArray[np.bool_]

PARTS = {"symmetric": ("stabbing_subscription", "stabbing_event"), "exact": ("containment", "enclosure")}
"""Semantics that are the intersection of two others."""


def find_rows(matcher: EngineMatcher, query: Query) -> Rows:
    """The rows of all rules that answer the query, ascending."""
    parts = PARTS.get(query.semantics, (query.semantics,))
    found = [_Search(matcher, query._replace(semantics=each)).rows() for each in parts]
    return reduce(lambda left, right: np.intersect1d(left, right, assume_unique=True), found)


def normal_of(expression: Expression, encoder: Encoder) -> list[Conjunction] | Form:
    """What a rule that is taken apart for a query becomes."""
    return dnf_of(expression, encoder.bind, FIND_LIMIT)


def decided(rule_id: object, normal: list[Conjunction] | Form, query: Query) -> bool:
    """What logic says of one rule; errors name it."""
    try:
        return is_found(normal, query)
    except LimitExceeded as error:
        raise _too_hard(rule_id, error) from None


def _too_hard(rule_id: object, error: LimitExceeded) -> LimitExceeded:
    return LimitExceeded(f"rule {rule_id!r} cannot be compared with the query: {error}")


class _Search:
    """One of the six semantics that are no intersection."""

    def __init__(self, matcher: EngineMatcher, query: Query) -> None:
        self._table: RuleTable = matcher.table
        self._matcher, self._encoder = matcher, matcher.encoder
        self._query = query.facing({source.name for source in matcher.encoder.vocabulary.derived if len(source)})
        self._linked, self._units = matcher.table.pairs("conjunctions")
        self._sizes = np.bincount(self._linked, minlength=matcher.table.row_count)

    def rows(self) -> Rows:
        sure, open_ = _WAYS[self._query.semantics](self)
        with_forms = self._matcher.rows_beside()
        plain = np.setdiff1d(sure, with_forms, assume_unique=True)
        return np.union1d(plain, self._decided(np.union1d(open_, with_forms))).astype(np.int32)

    def _decided(self, rows: Rows) -> list[int]:
        """Which of these rules logic finds; each is parsed again, so there had better be few."""
        found = []
        for row in rows.tolist():
            normal = normal_of(parse(self._table.text(row)), self._encoder)
            if decided(self._table.id_list(np.array([row]))[0], normal, self._query):
                found.append(row)
        return found

    # ----------------------------------------------------- the compiled walk

    def _judged(self, targets: Targets, needed: Verdicts, relation: int, alone: int) -> Verdicts:
        """For each conjunction in store whether it stands in a relation to one of the query's."""
        store: ConjunctionStore = self._matcher.parts[0].store
        verdicts = np.empty(store.count, np.bool_)
        kernels.relate(store.view(), store.alive, targets, needed, relation, alone, verdicts)
        return verdicts

    def _targets(self, patterns: bool) -> Iterable[Targets]:
        return (targets_of(row, self._query, self._encoder, patterns) for row in self._query.rows)

    def _some(self, units: Verdicts) -> Verdicts:
        """The rows that have one of these units."""
        rows = np.zeros(self._table.row_count, np.bool_)
        rows[self._linked[units[self._units]]] = True
        return rows

    def _every(self, units: Verdicts) -> Verdicts:
        """The live rows that have none but these units."""
        rows = np.zeros(self._table.row_count, np.bool_)
        rows[self._table.live_rows()] = True
        rows[self._linked[~units[self._units]]] = False
        return rows

    # ------------------------------------------------------------- semantics

    def stabbing_subscription(self) -> tuple[Rows, Rows]:
        return _certain(self._some(self._any_row(kernels.MEETS, kernels.TAKES_NULL, _none, patterns=True)))

    def stabbing_event(self) -> tuple[Rows, Rows]:
        return _certain(self._some(self._any_row(kernels.MEETS, kernels.IGNORED, _without_null, patterns=True)))

    def containment(self) -> tuple[Rows, Rows]:
        return _certain(self._every(self._any_row(kernels.WITHIN, kernels.IS_NULL, _none, patterns=False)))

    def enclosure(self) -> tuple[Rows, Rows]:
        found = self._each_row(kernels.AROUND, kernels.IGNORED, _not_only_null)
        return _certain(reduce(np.logical_and, found))

    def implies(self) -> tuple[Rows, Rows]:
        """A conjunction within one of the query's is decided; several may cover it if they have its corners."""
        within = self._any_row(kernels.WITHIN, kernels.IGNORED, _all, patterns=False)
        sure = self._every(within)
        if len(self._query.rows) < 2:
            return _certain(sure)
        lowest, highest = (
            self._any_row(relation, kernels.IGNORED, _without_null, patterns=False)
            for relation in (kernels.OWN_LOWEST, kernels.OWN_HIGHEST)
        )
        likely = within | (lowest & highest)
        numbers = numbers_of(self._query, self._encoder)
        if numbers is None:
            return _with_open(sure, self._every(likely))
        # Other conjunctions of the same rule may be beyond hope.
        hopeful = np.unique(self._units[(self._every(likely) & ~sure)[self._linked]])
        return _certain(self._every(within | self._covered(hopeful[~within[hopeful]], numbers)))

    def _covered(self, units: NDArray[np.int32], numbers: dict[int, str]) -> Verdicts:
        """Of these units, those that several conjunctions of the query cover together."""
        store: ConjunctionStore = self._matcher.parts[0].store
        found = np.zeros(store.count, np.bool_)
        try:
            found[units] = jointly_covered(store.encoded(units), numbers, self._query, self._encoder)
        except TooHard as error:
            row = self._linked[self._units == units[error.place]][:1]
            raise _too_hard(self._table.id_list(row)[0], error) from None
        return found

    def implied_by(self) -> tuple[Rows, Rows]:
        """A rule around each of the query's is decided; its parts may cover one together if they have its corners."""
        around = list(self._each_row(kernels.AROUND, kernels.REFUSED, _none))
        sure = reduce(np.logical_and, around)
        corners = [self._each_row(each, kernels.TAKES_NULL, _none) for each in (kernels.LOWEST, kernels.HIGHEST)]
        likely = self._sizes > 1
        for one, lowest, highest in zip(around, *corners, strict=True):
            likely &= one | (lowest & highest)
        return _with_open(sure, likely)

    def _any_row(self, relation: int, alone: int, needed: Callable[[Targets], Verdicts], patterns: bool) -> Verdicts:
        """The units that stand in a relation to some conjunction of the query."""
        found = (self._judged(each, needed(each), relation, alone) for each in self._targets(patterns))
        return reduce(np.logical_or, found)

    def _each_row(self, relation: int, alone: int, needed: Callable[[Targets], Verdicts]) -> Iterable[Verdicts]:
        """For each conjunction of the query the rows that have a unit in the relation."""
        return (self._some(self._judged(each, needed(each), relation, alone)) for each in self._targets(patterns=True))


def _none(targets: Targets) -> Verdicts:
    return np.zeros(len(targets.accepts), np.bool_)


def _all(targets: Targets) -> Verdicts:
    return np.ones(len(targets.accepts), np.bool_)


def _without_null(targets: Targets) -> Verdicts:
    """An attribute that a rule leaves out is NULL, which must be in the query's set."""
    return ~targets.accepts


def _not_only_null(targets: Targets) -> Verdicts:
    return ~targets.only_null


def _certain(rows: Verdicts) -> tuple[Rows, Rows]:
    return np.flatnonzero(rows).astype(np.int32), np.empty(0, np.int32)


def _with_open(sure: Verdicts, likely: Verdicts) -> tuple[Rows, Rows]:
    """The rows that are sure, and those that may be found as well."""
    return np.flatnonzero(sure).astype(np.int32), np.flatnonzero(likely & ~sure).astype(np.int32)


_WAYS: dict[str, Callable[[_Search], tuple[Rows, Rows]]] = {
    "stabbing_subscription": _Search.stabbing_subscription,
    "stabbing_event": _Search.stabbing_event,
    "containment": _Search.containment,
    "enclosure": _Search.enclosure,
    "implies": _Search.implies,
    "implied_by": _Search.implied_by,
}
