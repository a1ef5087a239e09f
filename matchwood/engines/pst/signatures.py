"""Signatures: for each bucket of each attribute's labels, a Bloom filter of the units with a predicate there.

VLDB 2018, 5.1: leaf signatures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State, require
from matchwood.engines.pst._signature_kernels import BUCKETS, count_false, count_loads, count_missing, enter_units
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

_WORD_BITS = 64
_SLACK = 2
"""Filters are made for so many times the units that they hold, so that making them anew is rare."""

_TRIES = 16


class SignatureArrays(NamedTuple):
    """The arrays that kernels read.

    `bases`  where the filters of each attribute begin
    `sizes`  the words of each of an attribute's filters, a power of two; 0 if it has none
    `words`  the filters, attribute by attribute, bucket by bucket; empty if there are no signatures
    """

    bases: NDArray[np.int64]
    sizes: NDArray[np.int64]
    words: NDArray[np.uint64]


class Signatures(State):
    """Filters with at least `bits` bits for every unit in them; all filters of an attribute have the same size.

    Nothing is taken out: what removed units leave behind goes when the engine builds itself anew.
    """

    _loads = Column(np.int64, name="signature_loads", length="_filters", most="units")
    _bases = Column(np.int64, name="signature_bases", length="signature_sizes")
    _sizes = Column(np.int64, name="signature_sizes", longest="attributes")
    _words = Column(np.uint64, name="signature_words")

    def __init__(self, bits: int = 0) -> None:
        self._bits = bits
        self.start()

    @property
    def _filters(self) -> int:
        return BUCKETS * len(self._sizes)

    def view(self) -> SignatureArrays:
        """The arrays for kernels."""
        return SignatureArrays(self._bases.view(), self._sizes.view(), self._words.view())

    def enter(
        self,
        conjunctions: Conjunctions,
        attributes: int,
        units: NDArray[np.int32],
        everyone: NDArray[np.int32],
        states: NDArray[np.uint8],
    ) -> None:
        """Enter units; `everyone`, these included, is entered anew into larger filters when the old ones are full."""
        self._loads.resize(max(len(self._loads), BUCKETS * attributes))
        count_loads(conjunctions, units, states, self._loads.writable())
        fullest = self._loads.view().reshape(-1, BUCKETS).max(axis=1, initial=0)
        self._sizes.resize(len(fullest))
        self._bases.resize(len(fullest))
        if (self._bits * fullest > _WORD_BITS * self._sizes.view()).any():
            self._make_room(fullest)
            units = everyone
        enter_units(conjunctions, units, states, self._bases.view(), self._sizes.view(), self._words.writable())

    def _make_room(self, fullest: NDArray[np.int64]) -> None:
        least = np.maximum(1.0, _SLACK * self._bits * fullest / _WORD_BITS)
        sizes = np.where(fullest > 0, 2 ** np.ceil(np.log2(least)), 0).astype(np.int64)
        ends = np.cumsum(BUCKETS * sizes)
        self._sizes = Growable(np.int64, sizes)
        self._bases = Growable(np.int64, ends - BUCKETS * sizes)
        self._words = Growable(np.uint64, np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint64))

    def invariants(self) -> None:
        bases, sizes, words = self.view()
        sound = (sizes >= 0) & (sizes <= len(words)) & (sizes & (sizes - 1) == 0) & (bases >= 0)
        require(bool((sound & (bases <= len(words) - BUCKETS * sizes)).all()), "a signature reaches out of the words")
        # Constraints may name any attribute; those without filters hold nobody.
        attributes = self.extent("attributes")
        self._bases.resize(attributes)
        self._sizes.resize(attributes)
        self._loads.resize(BUCKETS * attributes)

    def false_positives(self, first: int) -> float:
        """The share of wrong answers when all filters are asked for units that do not exist, from `first` on."""
        asked, wrong = count_false(self.view(), first, _TRIES)
        return wrong / asked if asked else 0.0

    def audit(self, conjunctions: Conjunctions, units: NDArray[np.int32], states: NDArray[np.uint8]) -> list[str]:
        """Whether every unit is in all filters that should hold it."""
        missing = count_missing(conjunctions, read_only(units, np.int32), states, self.view())
        return [f"{missing} units are missing from signatures"] if missing else []


NO_SIGNATURES = Signatures().view()
