"""List tests through an inverted table: from each element to the tests that name it.

A list is looked at once, whatever the number of tests: each of its elements counts for the tests that name
it, and a test holds when as many of its elements were met as it needs (one, or all).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.derived import _kernels as kernels
from matchwood.encoding.derived.keys import DerivedTest
from matchwood.encoding.derived.tables import ListColumn, Marks, Pairs, collected
from matchwood.encoding.spaces.key_columns import frozen


class ListTable:
    """`one of` and `all of` tests of one source."""

    def __init__(self, attributes: Sequence[int], tests: Sequence[DerivedTest]) -> None:
        self.attributes = np.array(attributes, np.int32)
        self.tests = tests
        wanted: list[list[Any]] = json.loads(f"[{','.join(test.operand for test in tests)}]")
        lengths = np.fromiter(map(len, wanted), np.int64, len(wanted))
        named = list(chain.from_iterable(wanted))
        self._elements = {element: place for place, element in enumerate(dict.fromkeys(named))}
        places = np.fromiter(map(self._elements.__getitem__, named), np.int64, len(named))
        naming = np.repeat(np.arange(len(tests)), lengths)
        named_by = _inverted(places, naming, len(self._elements))
        needs_all = np.array([test.op == "all of" for test in tests], np.bool_)
        self._known = kernels.ListTests(*named_by, frozen(np.where(needs_all, lengths, 1)))
        self._marks = Marks(elements=len(self._elements), tests=len(tests), counts=len(tests))

    def satisfied(self, column: ListColumn) -> Pairs:
        place = self._elements.get
        known = np.fromiter((place(element, -1) for element in column.distinct), np.int64, len(column.distinct))
        elements = frozen(np.append(known, -1)[column.codes])
        offsets = frozen(column.offsets)

        def run(first: int, values: Any, tests: Any) -> tuple[int, int]:
            epoch, marks = self._marks.taken(len(column))
            return kernels.match_lists(  # type: ignore[no-any-return]
                offsets, elements, self._known, kernels.ListMarks(**marks), epoch, first, values, tests
            )

        values, tests = collected(len(column), len(self.tests), run)
        return Pairs(values, self.attributes[tests])


def _inverted(
    places: NDArray[np.int64], tests: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tests that name each element, as offsets and postings."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(places, minlength=count), out=offsets[1:])
    return frozen(offsets), frozen(tests[np.argsort(places, kind="stable")])
