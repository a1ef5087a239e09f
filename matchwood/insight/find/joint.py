"""Conjunctions of an index that lie in several of a query's together, though in no single one.

Only what they say of the query's attributes counts, and of that many say the same: each such part is decided once, in
terms of labels, so that no rule is parsed. Values of the query between two boundaries come after the lower one's label.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import BOTTOM_LABEL, TOP_LABEL, TRUE_LABEL, EncodedConjunctions, Encoder, Spaces, is_derived
from matchwood.errors import LimitExceeded
from matchwood.insight.find.query import Query
from matchwood.insight.find.search import surely_can_hold
from matchwood.insight.find.targets import spaces_of
from matchwood.logic import START, Conjunction, Cut, CutSet, Leaf, negated_rows


class TooHard(LimitExceeded):
    """Which of the conjunctions took too many steps."""

    def __init__(self, place: int, reason: str) -> None:
        self.place = place
        super().__init__(reason)


def numbers_of(query: Query, encoder: Encoder) -> dict[int, str] | None:
    """The query's attributes by number; None if one has several numbers, whose labels cannot be compared."""
    table = encoder.vocabulary.table
    numbers = {key: table.numbers(key) for row in query.rows for key, _, _ in row}
    if any(len(found) > 1 for found in numbers.values()):
        return None
    return {found[0]: key for key, found in numbers.items() if found}


def jointly_covered(
    conjunctions: EncodedConjunctions, numbers: dict[int, str], query: Query, encoder: Encoder
) -> NDArray[np.bool_]:
    """Which of the conjunctions imply the query."""
    refused = negated_rows([_in_labels(row, numbers, query, encoder) for row in query.rows])
    known: dict[Conjunction, bool] = {}
    verdicts = np.empty(conjunctions.count, np.bool_)
    for place, part in enumerate(_parts(conjunctions, numbers)):
        if part not in known:
            try:
                known[part] = not surely_can_hold(refused, part)
            except LimitExceeded as error:
                raise TooHard(place, str(error)) from None
        verdicts[place] = known[part]
    return verdicts


def _parts(conjunctions: EncodedConjunctions, numbers: dict[int, str]) -> list[Conjunction]:
    """What each conjunction says of the query's attributes."""
    attributes, pieces = conjunctions.attributes, conjunctions.pieces
    named = np.flatnonzero(np.isin(attributes, list(numbers)))
    owners = np.repeat(np.arange(conjunctions.count), np.diff(conjunctions.offsets))[named]
    leaves: list[list[Leaf]] = [[] for _ in range(conjunctions.count)]
    for owner, constraint in zip(owners.tolist(), named.tolist(), strict=True):
        start, stop = pieces[constraint], pieces[constraint + 1]
        cuts = _cuts(conjunctions.low[start:stop].tolist(), conjunctions.high[start:stop].tolist())
        leaves[owner].append(
            Leaf(numbers[int(attributes[constraint])], cuts, bool(conjunctions.accepts_null[constraint]))
        )
    return [tuple(sorted(held)) for held in leaves]


def _cuts(lows: list[int], highs: list[int]) -> CutSet:
    ends = [end for pair in zip(lows, highs, strict=True) for end in pair]
    return tuple(START if end == BOTTOM_LABEL else ((end, 0), 0) for end in ends if end != TOP_LABEL)


def _in_labels(row: Conjunction, numbers: dict[int, str], query: Query, encoder: Encoder) -> Conjunction:
    by_key = {key: number for number, key in numbers.items()}
    made = []
    for key, cuts, null in row:
        kind = query.kinds.get(key, "any")
        spaces = spaces_of(encoder, by_key[key], kind) if key in by_key else None
        made.append(Leaf(key, tuple(_labelled(cut, spaces, is_derived(key)) for cut in cuts), null))
    return tuple(made)


def _labelled(cut: Cut, spaces: Spaces | None, derived: bool) -> Cut:
    if not cut:
        return START
    if derived:
        return ((TRUE_LABEL, 0), 0)
    label, is_boundary = (BOTTOM_LABEL, False) if spaces is None else spaces.place(cut if cut[1] else cut[0])
    return ((label, 0), 0) if is_boundary else ((label, 1, *cut), 0)
