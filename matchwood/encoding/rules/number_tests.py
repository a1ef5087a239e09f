"""Comparisons with a plain number, of which large sets of rules have most of their distinct tests: bound in columns.

The pattern is narrower than that of `plain_tests.py`: numbers that a double stands for whatever their digits, written
without a plus sign. Arrow reads them.
"""

from __future__ import annotations

from itertools import compress
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.encoding.spaces.domains import NUMBER, compare
from matchwood.language import CANONICAL
from matchwood.logic import Cut

_PATTERN: Final = r"^(?P<op>==?|!=|<[=>]?|>=?)[ \t\r\n]*(?P<number>-?[0-9]{1,14}(?P<fraction>\.[0-9]{1,14})?)$"
_LONGEST = 15
"""Digits and signs of a number for which the nearest double stands, whatever they are (`language/numbers.py`)."""

_SYMBOLS = list(CANONICAL)
_START = -1


def _sides(op: str) -> list[int]:
    """The cuts of a comparison: on which side of its constant each stands, _START for the cut before all values."""
    return [cut[1] if cut else _START for cut in compare(NUMBER, op, 5)]


_SIDES = [_sides(op) for op in CANONICAL.values()]
_COUNTS = np.array([len(sides) for sides in _SIDES], np.int64)
_TABLE = np.array([sides + [_START] * (_COUNTS.max() - len(sides)) for sides in _SIDES], np.int64)


class NumberTests(NamedTuple):
    """Which of some tests compare with a plain number, and of these ones:

    `operators`  by their places in CANONICAL
    `counts`     how many cuts each has
    `inner`      of all their cuts, whether it is not START
    `cuts`       those that are not
    """

    found: NDArray[np.bool_]
    operators: NDArray[np.int64]
    counts: NDArray[np.int64]
    inner: NDArray[np.bool_]
    cuts: list[Cut]


def number_tests(tests: pa.Array) -> NumberTests:
    """Those of some texts.

    >>> read = number_tests(pa.array(["< 2.5", "= 'x'", "= -7"]))
    >>> read.found.tolist(), read.counts.tolist(), read.inner.tolist(), read.cuts
    ([True, False, True], [2, 2], [False, True, True, True], [(2.5, 0), (-7, 0), (-7, 2)])
    """
    read = pc.extract_regex(tests, _PATTERN)
    short = pc.less_equal(pc.binary_length(pc.struct_field(read, "number")), _LONGEST)
    found = pc.fill_null(pc.and_kleene(read.is_valid(), short), False)
    read = read.filter(found)
    operators = pc.index_in(pc.struct_field(read, "op"), pa.array(_SYMBOLS)).to_numpy(zero_copy_only=False)
    counts = _COUNTS[operators]
    owners = np.repeat(np.arange(len(operators)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    sides = _TABLE[operators[owners], within]
    inner = sides != _START
    values = _values(read)
    constants = [values[owner] for owner in owners[inner].tolist()]
    cuts = list(zip(constants, sides[inner].tolist(), strict=True))
    return NumberTests(found.to_numpy(zero_copy_only=False), operators.astype(np.int64), counts, inner, cuts)


def _values(read: pa.Array) -> list[int | float]:
    """The constants: whole ones are integers."""
    numbers = pc.struct_field(read, "number")
    whole = pc.equal(pc.binary_length(pc.struct_field(read, "fraction")), 0).to_numpy(zero_copy_only=False)
    values: list[int | float] = numbers.cast(pa.float64()).to_pylist()
    integers = numbers.filter(pa.array(whole)).cast(pa.int64()).to_pylist()
    for place, integer in zip(compress(range(len(values)), whole.tolist()), integers, strict=True):
        values[place] = integer
    return values
