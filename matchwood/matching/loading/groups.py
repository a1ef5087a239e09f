"""What rules became, in groups that enter a part at one stroke: clauses, whole expressions, conjunctions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import CompiledRules, Encoder, FlatForms, LeafRows, flatten
from matchwood.logic import Clauses, Conjunction, Form
from matchwood.matching.loading.batches import Batch, PlacedRules
from matchwood.matching.loading.preparation import PreparedRule


class Incoming(NamedTuple):
    """Rules that are to be stored: `rows` and constant weights of all in their order, `places` of the prepared ones."""

    rows: NDArray[np.int32]
    constants: NDArray[np.float64]
    prepared: Sequence[PreparedRule]
    places: NDArray[np.int64]
    compiled: PlacedRules | None = None

    @classmethod
    def of(cls, rows: NDArray[np.int32], batch: Batch) -> Incoming:
        """A batch whose rules have these rows."""
        constants = np.asarray(batch.constants, np.float64)
        return cls(rows, constants, batch.prepared, batch.places, batch.compiled)


class ColumnUnits(NamedTuple):
    """Rules in columns, and the places of their units in a group."""

    rules: CompiledRules
    units: NDArray[np.int64]


class Group(NamedTuple):
    """Units of one kind: the row of each and its constant weight, how they are encoded, and the rules that they are of.

    `prepared`  the rules that were prepared, in the order of their units
    `columns`   those in columns, if there are any, and which units are theirs
    """

    rows: NDArray[np.int32]
    constants: NDArray[np.float64]
    encode: Callable[[Encoder], Any]
    prepared: list[PreparedRule]
    columns: ColumnUnits | None


def groups_of(rules: Incoming, normal_forms: tuple[type, ...], first: bool, shared: bool) -> Iterator[Group]:
    """What of these rules enters a part that takes `normal_forms`; the first part also takes those in columns.

    `shared`  whether equal leaves of several expressions are to be one
    """
    for normal in normal_forms:
        chosen = [place for place, rule in enumerate(rules.prepared) if isinstance(rule.normal, normal)]
        compiled = rules.compiled if first and normal is normal_forms[-1] else None
        if chosen or compiled is not None:
            own = [rules.prepared[place] for place in chosen]
            normals = [rule.normal for rule in own]
            owners, encode, columns = _WAYS[normal](normals, rules.places[chosen], compiled, shared)
            if len(owners):
                yield Group(rules.rows[owners], rules.constants[owners], encode, own, columns)


class _Way(NamedTuple):
    """The place of the rule of each unit, how the units are encoded, and which of them are of rules in columns."""

    owners: NDArray[np.int64]
    encode: Callable[[Encoder], Any]
    columns: ColumnUnits | None = None


def _as_forms(forms: list[Form], places: NDArray[np.int64], compiled: PlacedRules | None, shared: bool) -> _Way:
    given: list[Form] | FlatForms = forms
    if compiled is not None:
        places, order = _in_order(places, np.repeat(compiled.places, compiled.rules.counts))
        given = compiled.rules.flat_forms()
        if forms:
            given = FlatForms.of(forms).joined(given, order)
    return _Way(places, lambda encoder: encoder.encode_forms(given, shared=shared))


def _as_clauses(normals: list[Clauses], places: NDArray[np.int64], compiled: PlacedRules | None, shared: bool) -> _Way:
    clauses = [normal.rows for normal in normals]
    return _Way(places, lambda encoder: encoder.encode_clauses(clauses))


def _as_conjunctions(
    normals: list[list[Conjunction]], places: NDArray[np.int64], compiled: PlacedRules | None, shared: bool
) -> _Way:
    owners = np.repeat(places, np.fromiter(map(len, normals), np.int64, len(normals)))
    conjunctions = list(chain.from_iterable(normals))
    if compiled is None:
        return _Way(owners, lambda encoder: encoder.encode(conjunctions))
    owners, order = _in_order(owners, np.repeat(compiled.places, compiled.rules.counts))
    leaves = compiled.rules.flat()
    if conjunctions:
        leaves = flatten(LeafRows.of(conjunctions)).joined(leaves, order)
    columns = ColumnUnits(compiled.rules, np.flatnonzero(order >= len(conjunctions)))
    return _Way(owners, lambda encoder: encoder.encode_rows(leaves), columns)


_WAYS: dict[type, Callable[[Any, NDArray[np.int64], PlacedRules | None, bool], _Way]] = {
    Form: _as_forms,
    Clauses: _as_clauses,
    list: _as_conjunctions,
}


def _in_order(places: NDArray[np.int64], others: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two columns of places as one that increases, and where each of its elements stands if they lie end to end."""
    if not len(places):
        return others, np.arange(len(others))
    both = np.concatenate((places, others))
    order = np.argsort(both, kind="stable")
    return both[order], order
