"""What rules became, in groups that enter a part at one stroke: clauses, whole expressions, conjunctions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder, Flat, LeafRows, flatten
from matchwood.logic import Clauses, Conjunction, Form
from matchwood.matching.loading.batches import PlacedRules
from matchwood.matching.loading.preparation import PreparedRule


class Incoming(NamedTuple):
    """Rules that are to be stored: `rows` of all in their order, `places` of the prepared ones among them."""

    rows: NDArray[np.int32]
    prepared: Sequence[PreparedRule]
    places: NDArray[np.int64]
    compiled: PlacedRules | None = None


class Group(NamedTuple):
    """Units of one kind: the row of each, how they are encoded, and the prepared rules that they are of."""

    rows: NDArray[np.int32]
    encode: Callable[[Encoder], Any]
    prepared: list[PreparedRule]


def groups_of(rules: Incoming, normal_forms: tuple[type, ...], first: bool, shared: bool) -> Iterator[Group]:
    """What of these rules enters a part that takes `normal_forms`; the first part also takes those in columns.

    `shared`  whether equal leaves of several expressions are to be one
    """
    for normal in normal_forms:
        chosen = [place for place, rule in enumerate(rules.prepared) if isinstance(rule.normal, normal)]
        compiled = rules.compiled if first and normal is normal_forms[-1] else None
        if chosen or compiled is not None:
            own = [rules.prepared[place] for place in chosen]
            owners, encode = _WAYS[normal]([rule.normal for rule in own], rules.places[chosen], compiled, shared)
            if len(owners):
                yield Group(rules.rows[owners], encode, own)


_Way = tuple[NDArray[np.int64], Callable[[Encoder], Any]]
"""The place of the rule of each unit, and how the units are encoded."""


def _as_forms(forms: list[Form], places: NDArray[np.int64], compiled: PlacedRules | None, shared: bool) -> _Way:
    if compiled is not None:
        places, order = _in_order(places, compiled.places)
        forms = list(map((forms + compiled.rules.forms()).__getitem__, order.tolist()))
    return places, lambda encoder: encoder.encode_forms(forms, shared=shared)


def _as_clauses(normals: list[Clauses], places: NDArray[np.int64], compiled: PlacedRules | None, shared: bool) -> _Way:
    clauses = [normal.rows for normal in normals]
    return places, lambda encoder: encoder.encode_clauses(clauses)


def _as_conjunctions(
    normals: list[list[Conjunction]], places: NDArray[np.int64], compiled: PlacedRules | None, shared: bool
) -> _Way:
    owners = np.repeat(places, np.fromiter(map(len, normals), np.int64, len(normals)))
    conjunctions = list(chain.from_iterable(normals))
    leaves: list[Conjunction] | Flat = conjunctions
    if compiled is not None:
        owners, order = _in_order(owners, np.repeat(compiled.places, compiled.rules.counts))
        leaves = compiled.rules.flat()
        if conjunctions:
            leaves = flatten(LeafRows.of(conjunctions)).joined(leaves, order)
    return owners, lambda encoder: encoder.encode(leaves)


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
