"""Encoding and releasing a few conjunctions: the same results as the array work of `flattening.py`, in plain Python.

One rule at a time, arrays of ten elements cost more to set up than to fill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions
from matchwood.encoding.vocabulary import Vocabulary
from matchwood.logic import CutSet, Leaf

FEW_LEAVES = 64
"""Batches of at most that many leaves are encoded here."""


def encode_few(
    vocabulary: Vocabulary, kind_of: Callable[[str], str], conjunctions: Sequence[Sequence[Leaf]], ordered: bool
) -> EncodedConjunctions:
    """A few conjunctions as integers; constraints by attribute number if `ordered`."""
    elements: dict[int, list[Any]] = {}
    rows = [_numbered(vocabulary, kind_of, conjunction, elements) for conjunction in conjunctions]
    # All elements of an attribute at once: adding one may give the labels of all others anew.
    labels = {number: iter(vocabulary.add_values(number, held).tolist()) for number, held in elements.items()}
    constraints = [[(number, null, _ends(cuts, labels.get(number))) for number, null, cuts in row] for row in rows]
    if ordered:
        for row in constraints:
            row.sort(key=_number_of)
    encoded = _assembled(constraints)
    vocabulary.count(encoded, 1)
    return encoded


def _number_of(constraint: tuple[int, bool, list[int]]) -> int:
    return constraint[0]


def _numbered(
    vocabulary: Vocabulary, kind_of: Callable[[str], str], leaves: Sequence[Leaf], elements: dict[int, list[Any]]
) -> list[tuple[int, bool, CutSet]]:
    row = []
    for key, cuts, null in leaves:
        values = [cut if cut[1] else cut[0] for cut in cuts if cut]
        number = vocabulary.number(key, kind_of(key) if values else "any")
        if values:
            elements.setdefault(number, []).extend(values)
        row.append((number, null, cuts))
    return row


def _ends(cuts: CutSet, labels: Any) -> list[int]:
    """Lower and upper labels in turn."""
    ends: list[int] = [next(labels) if cut else BOTTOM_LABEL for cut in cuts]
    return [*ends, TOP_LABEL] if len(ends) & 1 else ends


def _assembled(constraints: Sequence[Sequence[tuple[int, bool, list[int]]]]) -> EncodedConjunctions:
    flat = [constraint for row in constraints for constraint in row]
    offsets, pieces = [0], [0]
    for row in constraints:
        offsets.append(offsets[-1] + len(row))
    for _, _, ends in flat:
        pieces.append(pieces[-1] + len(ends) // 2)
    ends = [end for _, _, held in flat for end in held]
    return EncodedConjunctions(
        np.array(offsets, np.int64),
        np.array([number for number, _, _ in flat], np.int32),
        np.array([null for _, null, _ in flat], np.bool_),
        np.array(pieces, np.int64),
        np.array(ends[::2], np.int32),
        np.array(ends[1::2], np.int32),
    )


def release_few(vocabulary: Vocabulary, encoded: EncodedConjunctions) -> None:
    """Count the references of a few conjunctions down."""
    pieces, low, high = encoded.pieces.tolist(), encoded.low.tolist(), encoded.high.tolist()
    held: dict[int, list[int]] = {}
    for place, number in enumerate(encoded.attributes.tolist()):
        start, stop = pieces[place], pieces[place + 1]
        held.setdefault(number, []).extend(low[start:stop] + high[start:stop])
    for number, labels in held.items():
        vocabulary.release_values(number, np.array(labels, np.int32))
    vocabulary.count(encoded, -1)
