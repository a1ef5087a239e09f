"""Bounds of a batch of rules, laid out like the units that they became."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedConjunctions, Encoder
from matchwood.engines import UnitBounds
from matchwood.logic import Clauses, Form
from matchwood.matching.loading.groups import Group
from matchwood.matching.loading.preparation import Normal, PreparedRule
from matchwood.ranking import Row, RowBounds, RuleWeights, clause_bounds, put_term_bounds, row_bounds


def batch_bounds(
    encoder: Encoder, group: Group, encoded: EncodedConjunctions, given: RuleWeights | None = None
) -> UnitBounds:
    """The bounds of a group of units, all conjunctions or all clauses, which `encoded` holds in their order.

    Where bounds are `given`, they take the place of what a rule weighs.
    """
    offsets = encoded.pieces[encoded.offsets]
    pieces, elsewhere = np.empty(int(offsets[-1])), np.zeros(encoded.count)
    prepared = np.ones(encoded.count, np.bool_)
    if group.columns is not None:
        prepared[group.columns.units] = False
        put_term_bounds(*group.columns, encoder, encoded, pieces)
    if group.prepared:
        found, elsewhere[prepared] = _prepared_bounds(encoder, group.prepared, given)
        pieces[np.repeat(prepared, np.diff(offsets))] = found
    return UnitBounds(offsets, pieces, group.constants, elsewhere)


def _prepared_bounds(
    encoder: Encoder, prepared: Sequence[PreparedRule], given: RuleWeights | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Those of rules that were prepared one by one: of all intervals, and elsewhere."""
    rows: list[Row] = []
    found: list[RowBounds] = []
    of_clauses = any(isinstance(rule.normal, Clauses) for rule in prepared)
    for rule in prepared:
        units = _units(rule.normal)
        if units:
            weights = RuleWeights(rule.weights.by_attribute)
            weights = weights.under(given) if given else weights
            if isinstance(rule.normal, Clauses):
                found.append(clause_bounds(rule.tree, weights, rule.normal.rows, encoder.bind))
            else:
                found += row_bounds(rule.tree, weights, units, encoder.bind)
            rows += units
    leaves = [piece for bounds in found for piece in bounds.pieces]
    # Clauses are encoded in the order in which they are, conjunctions by attribute number.
    order = np.arange(len(leaves)) if of_clauses else _encoded_order(encoder, rows)
    pieces = [value for place in order.tolist() for value in leaves[place]]
    return _floats(pieces), _floats([bounds.elsewhere for bounds in found])


def _units(normal: Normal) -> list[Row]:
    """The leaves of each unit of a rule; of one made of clauses, those of all of them."""
    if isinstance(normal, Clauses):
        return [tuple(leaf for clause in normal.rows for leaf in clause)]
    return [] if isinstance(normal, Form) else list(normal)


def _floats(values: list[float]) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def _encoded_order(encoder: Encoder, rows: Sequence[Row]) -> NDArray[np.int64]:
    """The leaves of all conjunctions in the order of their constraints, which is that of attribute numbers."""
    keys = [leaf.attribute for row in rows for leaf in row]
    table = encoder.vocabulary.table
    numbers = {key: table.number(key) for key in dict.fromkeys(keys)}
    by_number = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))
    owners = np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), np.int64, len(rows)))
    return np.lexsort((by_number, owners))
