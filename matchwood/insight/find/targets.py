"""A conjunction of a query, laid out against the labels of an index without adding a boundary to it.

A place on an attribute's scale is twice the label of the boundary there; what lies between two boundaries is one more
than twice the lower. Rules only have even places, so that every comparison of an end of theirs with one of the
query's is exact, though two ends of the query may share a place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import BOTTOM_LABEL, DERIVED, TOP_LABEL, TRUE_LABEL, Encoder, Spaces, is_derived
from matchwood.insight.find.points import named_texts
from matchwood.insight.find.query import Query
from matchwood.logic import Conjunction, Cut, CutSet

BETWEEN = 1
_TRUE, _FALSE, _NULL = 1, 2, 4


class Targets(NamedTuple):
    """What a rule's constraints are compared with. A *slot* is an attribute that the query names.

    `place`      for each attribute number the set to compare with, -1 if the query says nothing of it
    `slot`       of each set; a text and its patterns share one
    `null`       of each set: whether NULL is in it
    `pieces`     set k has the intervals pieces[k] : pieces[k + 1]
    `low, high`  of each interval, on the doubled scale
    `accepts`    of each slot: whether NULL is in the query's own set
    `only_null`  of each slot: whether nothing else is
    """

    place: NDArray[np.int32]
    slot: NDArray[np.int32]
    null: NDArray[np.bool_]
    pieces: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    accepts: NDArray[np.bool_]
    only_null: NDArray[np.bool_]


class _Sets:
    """Grows the sets of one conjunction."""

    def __init__(self, attributes: int) -> None:
        self.place = np.full(attributes, -1, np.int32)
        self._slots: list[int] = []
        self._null: list[bool] = []
        self._ends: list[list[int]] = []

    def add(self, slot: int, ends: list[int], null: bool) -> int:
        self._slots.append(slot)
        self._ends.append(ends)
        self._null.append(null)
        return len(self._slots) - 1

    def targets(self, row: Conjunction) -> Targets:
        ends = np.array([end for held in self._ends for end in held], np.int64)
        return Targets(
            self.place,
            np.array(self._slots, np.int32),
            np.array(self._null, np.bool_),
            np.cumsum([0, *(len(held) // 2 for held in self._ends)], dtype=np.int64),
            np.ascontiguousarray(ends[::2]),
            np.ascontiguousarray(ends[1::2]),
            np.array([leaf.null for leaf in row], np.bool_),
            np.array([not leaf.cuts for leaf in row], np.bool_),
        )


def targets_of(row: Conjunction, query: Query, encoder: Encoder, patterns: bool) -> Targets:
    """One of the query's conjunctions; `patterns` adds what it says of patterns by naming the texts."""
    vocabulary = encoder.vocabulary
    sets = _Sets(len(vocabulary.table))
    for slot, leaf in enumerate(row):
        for number in vocabulary.table.numbers(leaf.attribute):
            spaces = spaces_of(encoder, number, query.kinds.get(leaf.attribute, "any"))
            ends = _ends(leaf.cuts, spaces, is_derived(leaf.attribute))
            sets.place[number] = sets.add(slot, ends, leaf.null)
    if patterns:
        _add_patterns(sets, row, encoder)
    return sets.targets(row)


def spaces_of(encoder: Encoder, number: int, kind: str) -> Spaces | None:
    """The boundaries that the query's values are compared with; none of another kind, which only dead rules have."""
    vocabulary = encoder.vocabulary
    if vocabulary.table.kinds.view()[number] == DERIVED or vocabulary.table.kind(number) != kind:
        return None
    return vocabulary.spaces.get(number)


def _ends(cuts: CutSet, spaces: Spaces | None, derived: bool) -> list[int]:
    ends = [_place(cut, spaces, derived) for cut in cuts]
    return [*ends, 2 * TOP_LABEL] if len(ends) & 1 else ends


def _place(cut: Cut, spaces: Spaces | None, derived: bool) -> int:
    if not cut:
        return 2 * BOTTOM_LABEL
    if derived:
        return 2 * TRUE_LABEL
    if spaces is None:
        return 2 * BOTTOM_LABEL + BETWEEN
    label, is_boundary = spaces.place(cut if cut[1] else cut[0])
    return 2 * label if is_boundary else 2 * label + BETWEEN


def _add_patterns(sets: _Sets, row: Conjunction, encoder: Encoder) -> None:
    """Patterns on a text that the query names take their verdicts on it for their set, in the slot of the text."""
    named, table = named_texts(row), encoder.vocabulary.table
    for owner, source in enumerate(encoder.vocabulary.derived):
        if source.kind != "string" or source.name not in named or not len(source):
            continue
        numbers = np.flatnonzero((table.sources.view() == owner) & (table.references.view() > 0))
        free = numbers[sets.place[numbers] < 0]
        outcomes = _outcomes(source, *named[source.name], len(table))[free]
        slot = next(place for place, leaf in enumerate(row) if leaf.attribute == source.name)
        for outcome in np.unique(outcomes).tolist():
            made = sets.add(slot, _verdict_ends(outcome), bool(outcome & _NULL))
            sets.place[free[outcomes == outcome]] = made


def _outcomes(source: Any, texts: list[str], null: bool, attributes: int) -> NDArray[np.int8]:
    """For each attribute number the verdicts on some texts; one that no rule can tell from NULL counts as that."""
    outcomes = np.zeros(attributes, np.int8)
    if null:
        outcomes |= _NULL
    for text in texts:
        numbers, labels = source.evaluate_one(text)
        verdicts = np.full(attributes, _NULL, np.int8)
        verdicts[numbers] = np.where(labels == TRUE_LABEL, _TRUE, _FALSE)
        outcomes |= verdicts
    return outcomes


def _verdict_ends(outcome: int) -> list[int]:
    low = 2 * (BOTTOM_LABEL if outcome & _FALSE else TRUE_LABEL)
    high = 2 * (TOP_LABEL if outcome & _TRUE else TRUE_LABEL)
    return [low, high] if low < high else []
