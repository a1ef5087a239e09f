"""Every conjunction of an index against one of a query's: constraint by constraint, on the query's scale.

All semantics are one walk. A constraint on an attribute that the query names stands in some relation to the query's
set; one on any other attribute is judged alone; and slots of the query may need a constraint that names them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    constraint_at,
    piece_at,
    pieces_of,
    stretch,
)

MEETS, WITHIN, AROUND, OWN_LOWEST, OWN_HIGHEST, LOWEST, HIGHEST = range(7)
"""The constraint's set meets the query's; lies within it; includes it; its own lowest or highest value lies in the
query's; the query's lowest or highest value lies in it. A set of NULL alone has that for its lowest value."""

IGNORED, TAKES_NULL, IS_NULL, REFUSED = range(4)
"""What is asked of a constraint on an attribute that the query does not name."""


@kernel
def relate(conjunctions: Any, alive: Any, targets: Any, needed: Any, relation: int, alone: int, verdicts: Any) -> None:
    """Whether each live conjunction stands in the relation to the `Targets`, into `verdicts`."""
    begins, words, sets, bits = conjunctions
    place, slot, null, pieces = targets.place, targets.slot, targets.null, targets.pieces
    low, high, wanted = targets.low, targets.high, 0
    for number in range(len(needed)):
        wanted += needed[number]
    named = np.full(len(needed), -1, np.int64)
    for unit in range(len(alive)):
        verdicts[unit] = False
        if not alive[unit]:
            continue
        covered = 0
        fits = True
        first, last = stretch(begins, words, unit)
        for position in range(first, last):
            constraint = constraint_at(words, sets, bits, position)
            attribute = constraint[0] >> FLAG_BITS
            chosen = place[attribute] if attribute < len(place) else -1
            if chosen < 0:
                fits = _alone(constraint, alone)
            else:
                start, stop = pieces[chosen], pieces[chosen + 1]
                fits = _related(sets, constraint, null[chosen], start, stop, low, high, relation)
                where = slot[chosen]
                if needed[where] and named[where] != unit:
                    named[where] = unit
                    covered += 1
            if not fits:
                break
        verdicts[unit] = fits and covered == wanted


@kernel
def _alone(constraint: Any, alone: int) -> bool:
    """Whether a constraint on an attribute that the query does not name is as asked."""
    code, _, high = constraint
    if alone == IGNORED:
        return True
    if alone == REFUSED or code & ACCEPTS_NULL == 0:
        return False
    return bool(alone == TAKES_NULL or pieces_of(code, high) == 0)


@kernel
def _related(sets: Any, constraint: Any, null: Any, start: Any, stop: Any, low: Any, high: Any, relation: int) -> Any:
    """Whether a constraint's set stands in a relation to the set of the intervals start : stop."""
    code, first, last = constraint
    accepts, count = code & ACCEPTS_NULL != 0, pieces_of(code, last)
    if relation == MEETS:
        if accepts and null:
            return True
    elif relation == WITHIN:
        if accepts and not null:
            return False
    elif relation == AROUND:
        if null and not accepts:
            return False
    elif relation in (OWN_LOWEST, OWN_HIGHEST):
        if count == 0:
            return null
    elif start == stop:
        return accepts
    own = np.int64(0)
    piece = start
    while own < count and piece < stop:
        own_low, own_high = piece_at(sets, code, first, last, own)
        own_low, own_high = 2 * own_low, 2 * own_high
        if relation == MEETS:
            if own_low < high[piece] and low[piece] < own_high:
                return True
            if own_high <= low[piece]:
                own += 1
            else:
                piece += 1
        elif relation == WITHIN:
            if high[piece] < own_high:
                piece += 1
            elif low[piece] <= own_low:
                own += 1
            else:
                return False
        elif relation == AROUND:
            if own_high < high[piece]:
                own += 1
            elif own_low <= low[piece]:
                piece += 1
            else:
                return False
        elif relation == OWN_LOWEST:
            if low[piece] <= own_low and own_low < high[piece]:
                return True
            piece += 1
        elif relation == OWN_HIGHEST:
            if own < count - 1:
                own = count - 1
            elif low[piece] < own_high and own_high <= high[piece]:
                return True
            else:
                piece += 1
        elif relation == LOWEST:
            if own_low <= low[start] and low[start] < own_high:
                return True
            own += 1
        else:
            if own_low < high[stop - 1] and high[stop - 1] <= own_high:
                return True
            own += 1
    if relation == WITHIN:
        return own == count
    if relation == AROUND:
        return piece == stop
    return False
