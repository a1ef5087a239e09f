"""Keys whose values are numbers: where the boundaries of their attributes lie, for a kernel that looks all of them up.

To find one value in Python takes some microseconds, and even one that is remembered (`quick.py`) is ten cache misses
where each event has other attributes. So the numbers of an event go to one kernel as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.events.columns._fixed_kernels import SPACES
from matchwood.encoding.events.one_event._number_kernels import OTHERWISE
from matchwood.encoding.events.quick import LABEL_BITS, TypedReaders
from matchwood.encoding.spaces.lookups import Lookup

_LINES = "lines"


class NumberLines:
    """What a kernel knows of the attributes of one plan; lines are made when they are first asked for.

    `integers`  the attributes of keys, for values that are integers; OTHERWISE if these are read in another way
    `doubles`   the same for values that are doubles, where all others are not named
    `lines`     by attribute: `Lookup.line`, with one more boundary than there are; 0 if it is not known
    """

    def __init__(self, quick: Mapping[str, TypedReaders], slow: Iterable[str]) -> None:
        numbers = {key: readers.base >> LABEL_BITS for key, readers in quick.items() if int in readers.types}
        self.integers = dict.fromkeys((*slow, *quick), OTHERWISE) | numbers
        self.doubles = {key: number for key, number in numbers.items() if float in quick[key].types}
        self.lines: NDArray[np.int64] = np.zeros(SPACES * (max(numbers.values(), default=-1) + 1), np.int64)
        self._keys = {number: key for key, number in numbers.items()}
        self._spaces = {number: quick[key].spaces for key, number in numbers.items()}
        self._held: dict[int, Lookup] = {}

    def make(self, numbers: Iterable[int]) -> None:
        """Make the lines of some attributes; if one cannot have any, its values are read in another way from now on."""
        for number in self._spaces.keys() & numbers:
            lookup = self._spaces[number].lookup()
            if lookup is not None:
                self._make(number, lookup)
            else:
                self.integers[self._keys[number]] = self.doubles[self._keys[number]] = OTHERWISE

    def _make(self, number: int, lookup: Lookup) -> None:
        spaces: Any = self._spaces[number]
        # When attributes are numbered anew, tables from before may still be there, with the lines of other numbers.
        spaces.memos.setdefault((_LINES, number), _LinesOfSpaces(number)).tables.add(self)
        self._held[number] = lookup  # keeps alive what the line leads to
        first = SPACES * number
        self.lines[first + 1 : first + SPACES] = lookup.line[1:]
        self.lines[first] = lookup.line[0] + 1

    def forget(self, number: int) -> None:
        """The labels of an attribute mean something else now."""
        self.lines[SPACES * number] = 0
        self._held.pop(number, None)


class _LinesOfSpaces:
    """The lines that lead to the boundaries of one attribute, in tables that know it by one number; emptied as all that
    is remembered of them is."""

    def __init__(self, number: int) -> None:
        self._number = number
        # Several threads may make a plan at once, and each has lines then.
        self.tables: WeakSet[NumberLines] = WeakSet()

    def clear(self) -> None:
        for table in self.tables:
            table.forget(self._number)
