"""Signatures: for each bucket of each attribute's labels, a Bloom filter of the units with a predicate there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.engines._views import read_only


class SignatureArrays(NamedTuple):
    """The arrays that kernels read.

    `bases`  where the filters of each attribute begin
    `sizes`  the words of each of an attribute's filters, a power of two; 0 if it has none
    `words`  the filters, bucket by bucket; empty if there are no signatures
    """

    bases: NDArray[np.int64]
    sizes: NDArray[np.int64]
    words: NDArray[np.uint64]


NO_SIGNATURES = SignatureArrays(
    read_only(np.empty(0), np.int64), read_only(np.empty(0), np.int64), read_only(np.empty(0), np.uint64)
)
