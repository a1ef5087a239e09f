"""Tests that are lists of constants, taken apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import pooled
from matchwood.language.columnar._list_kernels import IN_LIST, NOT_IN_LIST, OTHER_TEST, split_lists

__all__ = ["IN_LIST", "MOST_LISTED", "NOT_IN_LIST", "OTHER_TEST", "ListedConstants", "lists_in"]

MOST_LISTED = 256
"""Constants of a list that is taken apart; longer ones are read as a whole."""

_COMMA = 44


class ListedConstants(NamedTuple):
    """Of each test its `forms`, OTHER_TEST, IN_LIST or NOT_IN_LIST, and where its constants end among the spans."""

    forms: NDArray[np.int8]
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]


def lists_in(data: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> ListedConstants:
    """The lists among the tests data[starts[i] : stops[i]], which `read_trees` has taken.

    >>> data = np.frombuffer(b"in (1, - 2)= 5not in ('a')", np.uint8)
    >>> found = lists_in(data, np.array([0, 11, 14]), np.array([11, 14, 26]))
    >>> found.forms.tolist(), found.ends.tolist(), found.starts.tolist(), found.lengths.tolist()
    ([1, 0, 2], [2, 2, 3], [4, 7, 22], [1, 3, 3])
    """
    # A comma stands before each constant but the first.
    held = data[int(starts.min(initial=0)) : int(stops.max(initial=0))]
    room = int(np.count_nonzero(held == _COMMA)) + len(starts) + 1
    forms, ends = np.empty(len(starts), np.int8), np.empty(len(starts), np.int64)
    spans = pooled(2 * room, np.int64).reshape(room, 2)
    count = split_lists(data, starts, stops, MOST_LISTED, forms, spans, ends)
    return ListedConstants(forms, ends, spans[:count, 0].copy(), spans[:count, 1].astype(np.int32))
