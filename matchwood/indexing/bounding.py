"""Bounds of a batch of rules, laid out like the units that they became."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.encoding.codes import EncodedConjunctions
from matchwood.engines.bounds import UnitBounds
from matchwood.indexing.preparation import Prepared
from matchwood.logic import Conjunction, Form
from matchwood.ranking import RuleWeights
from matchwood.ranking.bounds import RowBounds, row_bounds


def batch_bounds(encoder: Encoder, prepared: Sequence[Prepared], encoded: EncodedConjunctions) -> UnitBounds:
    """The bounds of the conjunctions of these rules, which `encoded` holds in the same order."""
    rows: list[Conjunction] = []
    found: list[RowBounds] = []
    constants: list[float] = []
    for rule in prepared:
        if isinstance(rule.normal, Form) or not rule.normal:
            continue
        weights = RuleWeights(rule.weights.by_attribute)
        found += row_bounds(rule.tree, weights, rule.normal, encoder.bind, is_cnf=False)
        rows += rule.normal
        constants += [rule.weights.constant] * len(rule.normal)
    order = _encoded_order(encoder, rows, encoded)
    leaves = [piece for bounds in found for piece in bounds.pieces]
    pieces = [value for place in order.tolist() for value in leaves[place]]
    elsewhere = [bounds.elsewhere for bounds in found]
    return UnitBounds(encoded.pieces[encoded.offsets], _floats(pieces), _floats(constants), _floats(elsewhere))


def _floats(values: list[float]) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def _encoded_order(encoder: Encoder, rows: Sequence[Conjunction], encoded: EncodedConjunctions) -> NDArray[np.int64]:
    """The leaves of all conjunctions in the order of their constraints, which is that of attribute numbers."""
    keys = [leaf.attribute for row in rows for leaf in row]
    table = encoder.vocabulary.table
    numbers = {key: table.number(key) for key in dict.fromkeys(keys)}
    by_number = np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))
    owners = np.repeat(np.arange(encoded.count), np.diff(encoded.offsets))
    return np.lexsort((by_number, owners))
