"""Keys: integers and doubles in one exact order, alone and in columns."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.spaces.decimals import place_of
from matchwood.encoding.spaces.keys import (
    FineKey,
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


decimals = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False),
    st.builds(lambda double, shift: Decimal(repr(double)) + Decimal(shift).scaleb(-25),
              st.floats(-1e3, 1e3), st.integers(-3, 3)),
    st.builds(lambda whole, digits: Decimal(f"{whole}.{digits}"), integers, st.integers(0, 10**6)),
    st.sampled_from([Decimal("1E+400"), Decimal("-1E+400"), Decimal("1E-400"), Decimal("-1E-400")]),
)  # fmt: skip
fine = decimals.map(place_of)


def rank(number: Any) -> tuple[int, Fraction]:
    """The order of places: infinities and NaN apart, a double that is not whole by its shortest text."""
    if number != number:
        return 2, Fraction(0)
    if isinstance(number, float) and math.isinf(number):
        return (1 if number > 0 else -1), Fraction(0)
    shortest = isinstance(number, float) and not number.is_integer()
    return 0, Fraction(repr(number) if shortest else number)


@given(st.one_of(numbers, fine), st.one_of(numbers, fine))
def test_keys_are_ordered_like_places(left: Any, right: Any) -> None:
    keys, ranks = (number_key(left), number_key(right)), (rank(left), rank(right))
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (ranks[0] < ranks[1], ranks[0] == ranks[1])
    assert (keys[0] <= keys[1], keys[1] > keys[0]) == (ranks[0] <= ranks[1], ranks[1] > ranks[0])
    if left == left and right == right:
        assert (left < right, left == right) == (ranks[0] < ranks[1], ranks[0] == ranks[1])
    sides = [number_key(left, side) for side in (0, 2)]
    assert sides[0] < sides[1]
    assert (sides[1] < keys[1]) == (ranks[0] < ranks[1])


@given(decimals)
def test_a_decimal_stands_at_its_place(value: Decimal) -> None:
    assert rank(place_of(value)) == (0, Fraction(value))


@given(numbers, numbers)
def test_keys_are_ordered_like_exact_numbers(left: float, right: float) -> None:
    assert (number_key(left) < number_key(right)) == (rank(left) < rank(right))
    assert (number_key(left) == number_key(right)) == (rank(left) == rank(right))


def combined(primary: np.ndarray, rest: np.ndarray) -> list[int]:
    return [(high << 16) + low for high, low in zip(primary.tolist(), rest.tolist(), strict=True)]


@given(st.lists(numbers, max_size=20))
def test_constants_in_bulk_have_the_same_keys(values: list[float]) -> None:
    primary, rest, further = number_keys(values)
    assert combined(primary, rest) == [number_key(value) for value in values]
    assert not further


@given(st.lists(st.one_of(numbers, fine), max_size=20))
def test_places_in_bulk_have_the_same_keys(places: list[Any]) -> None:
    keys = [number_key(place) for place in places]
    primary, rest, further = number_keys(places)
    assert combined(primary, rest) == [int(key) for key in keys]
    assert further == {at: key.fine for at, key in enumerate(keys) if isinstance(key, FineKey)}


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


def test_rests_are_small_and_zeroes_are_equal() -> None:
    extremes = np.array([2**63 - 1, -(2**63) + 1, 2**62 + 511, -(2**62) - 1], np.int64)
    assert integer_keys(extremes)[1].tolist() == [4 * 1023, 4 * 1, 4 * 511, 4 * 1023]
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
