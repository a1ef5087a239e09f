"""The boundaries that many conjunctions have, added to the spaces of their attributes.

Numbers, of which there are most, become keys and are put in order for all attributes at once: each attribute takes its
part of one column. All other kinds go attribute by attribute.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import grouped, runs
from matchwood.encoding.attribute_table import DERIVED
from matchwood.encoding.derived.attributes import TRUE_LABEL
from matchwood.encoding.schema.types import KINDS
from matchwood.encoding.spaces.labelled import FEW
from matchwood.encoding.spaces.number_keys import NumberKeys
from matchwood.encoding.vocabulary import Vocabulary

_NUMBERS = np.array([kind in ("number", "double") for kind in KINDS] + [False])
"""Which kinds lie on the line of numbers, by their codes in the table of attributes."""


class GivenBoundaries(NamedTuple):
    """Boundaries as spaces take them, the number of the attribute of each, and how many leaves refer to it."""

    values: list[Any]
    attributes: NDArray[np.int32]
    counts: NDArray[np.int64]

    def added_to(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Their labels; those that are new come to be."""
        kinds = vocabulary.table.kinds.view()[self.attributes]
        labels = np.full(len(self.values), TRUE_LABEL, np.int32)
        in_columns = _NUMBERS[kinds]
        # A few are added one by one, which gives them other labels.
        in_columns &= np.bincount(self.attributes, self.counts)[self.attributes] > FEW
        if in_columns.any():
            self._add_numbers(vocabulary, in_columns, labels)
        others = np.flatnonzero(~in_columns & (kinds != DERIVED))
        for number, group in grouped(self.attributes[others]):
            places = others[group]
            given = [self.values[place] for place in places.tolist()]
            labels[places] = vocabulary.add_values(number, given, self.counts[places])
        return labels

    def _add_numbers(self, vocabulary: Vocabulary, wanted: NDArray[np.bool_], labels: NDArray[np.int32]) -> None:
        """Add those that are wanted, and no longer want those of attributes with keys that columns do not hold."""
        places = np.flatnonzero(wanted)
        keys = NumberKeys.given([self.values[place] for place in places.tolist()])
        owners = self.attributes[places]
        if keys.fine is not None:
            plain = ~np.isin(owners, owners[keys.fine != b""])
            wanted[places[~plain]] = False
            places, owners, keys = places[plain], owners[plain], keys.take(np.flatnonzero(plain))
        order = np.lexsort((keys.rest, keys.primary, owners))
        places, owners, primary, rest = places[order], owners[order], keys.primary[order], keys.rest[order]
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (owners[1:] != owners[:-1]) | (primary[1:] != primary[:-1]) | (rest[1:] != rest[:-1])
        inverse = np.cumsum(fresh) - 1
        counts = np.bincount(inverse, self.counts[places]).astype(np.int32)
        owners, primary, rest = owners[fresh], primary[fresh], rest[fresh]
        found = np.empty(len(owners), np.int32)
        for number, part in runs(owners):
            found[part] = vocabulary.add_keys(number, NumberKeys(primary[part], rest[part]), counts[part])
        labels[places] = found[inverse]
