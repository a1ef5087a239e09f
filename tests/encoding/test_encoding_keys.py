"""Keys: integers and doubles in one exact order, alone and in columns."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.spaces.keys import (
    arrow_strings,
    double_keys,
    doubles_of,
    integer_keys,
    key_number,
    number_key,
    number_keys,
    strings_of,
)

EDGES = [0, 1, 2**52, 2**53, 2**54, 2**62, 2**63 - 1024, 2**63 - 512, 2**63 - 1]
near_edges = st.builds(
    lambda edge, shift, sign: max(-(2**63), min(2**63 - 1, sign * (edge + shift))),
    st.sampled_from(EDGES), st.integers(-2_000, 2_000), st.sampled_from([1, -1]),
)  # fmt: skip
integers = st.one_of(st.integers(-(2**63), 2**63 - 1), near_edges)
doubles = st.one_of(st.floats(), near_edges.map(float))
numbers = st.one_of(integers, doubles)


def rank(number: float) -> tuple[int, Fraction]:
    """The exact order: infinities and NaN apart, everything else as a fraction."""
    if number != number:
        return 2, Fraction(0)
    if math.isinf(number):
        return (1 if number > 0 else -1), Fraction(0)
    return 0, Fraction(number)


@given(numbers, numbers)
def test_keys_are_ordered_like_exact_numbers(left: float, right: float) -> None:
    assert (number_key(left) < number_key(right)) == (rank(left) < rank(right))
    assert (number_key(left) == number_key(right)) == (rank(left) == rank(right))


def combined(primary: np.ndarray, residual: np.ndarray) -> list[int]:
    return [(high << 16) + low for high, low in zip(primary.tolist(), residual.tolist(), strict=True)]


@given(st.lists(numbers, max_size=20))
def test_constants_in_bulk_have_the_same_keys(values: list[float]) -> None:
    assert combined(*number_keys(values)) == [number_key(value) for value in values]


@given(st.lists(integers, max_size=20), st.lists(doubles, max_size=20))
def test_columns_have_the_same_keys(ints: list[int], floats: list[float]) -> None:
    assert combined(*integer_keys(np.array(ints, np.int64))) == [number_key(value) for value in ints]
    keys = double_keys(np.array(floats, np.float64))
    assert [key << 16 for key in keys.tolist()] == [number_key(value) for value in floats]


@given(doubles)
def test_doubles_come_back(number: float) -> None:
    back = key_number(number_key(number))
    assert back == number or (back != back and number != number)
    assert doubles_of(double_keys(np.array([number])))[0] == number or number != number


def test_residuals_are_small_and_zeroes_are_equal() -> None:
    extremes = np.array([2**63 - 1, -(2**63) + 1, 2**62 + 511, -(2**62) - 1], np.int64)
    assert integer_keys(extremes)[1].tolist() == [1023, 1, 511, 1023]
    assert number_key(-0.0) == number_key(0.0) == number_key(0) == 0
    assert number_key(math.nan) > number_key(math.inf)


def test_strings_of_arrow_and_python() -> None:
    texts = ["x", "ab", "", "é", "日本"]
    for kind in (pa.string(), pa.large_string()):
        for column in (pa.array(texts, kind), pa.array(["skipped", *texts], kind)[1:], pa.array([], kind)):
            offsets, data = arrow_strings(column)
            bounds = zip(offsets.tolist(), offsets[1:].tolist(), strict=False)
            assert [data[start:stop].tobytes().decode() for start, stop in bounds] == column.to_pylist()
    assert strings_of([b"a", b"", b"bc"]).offsets.tolist() == [0, 1, 1, 3]
