"""Kernels hand each other tuples by their address, and arrays without what is known of them; owners count them."""

from __future__ import annotations

import itertools
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.twins import interpreted


class Inner(NamedTuple):
    left: Any
    right: Any
    number: int


class Outer(NamedTuple):
    inner: Inner
    values: Any


@bare_kernel
def _one(outer: Any, at: int, out: Any) -> Any:
    left = outer.inner.left
    out[at] += left[at] + outer.values[at] + outer.inner.number
    return left[at]


@kernel
def _made(inner: Any, count: int) -> Any:
    made = np.empty(count, np.int64)
    for at in range(count):
        made[at] = inner.left[at] + inner[1][at]
    return made


@kernel
def _chosen(inner: Any, is_right: bool) -> Any:
    chosen, right = inner.left, inner.right
    if is_right:
        chosen = right
    return chosen


@kernel
def _all(outer: Any, out: Any) -> Any:
    total = 0
    for at in range(len(outer.values)):
        total += _one(outer, at, out)
    made = Inner(outer.values, outer.inner.left, 3)
    written = _made(made, 2)
    other = Outer(made, out)
    for at in range(2):
        total += _one(other, at, written)
    inner = outer.inner
    if total > 100:
        inner = made
    return total, written, _chosen(inner, total > 5), inner.number, len(outer)


@bare_kernel
def _checked(pair: Any, at: int) -> Any:
    if at >= len(pair.values):
        raise IndexError("too far")
    return pair.values[at]


@bare_kernel
def _asks(pair: Any, at: int) -> Any:
    return _checked(pair, at) + 1


@bare_kernel
def _nothing(pair: Any) -> None:
    pair.values[0] = 7


@kernel
def _without(values: Any, other: Any) -> Any:
    total = values[0]
    if other is not None:
        total += other.values[1]
    return total


@bare_kernel
def _least_fraction(values: Any, other: Any) -> Any:
    return min(values[0], values[1], other), max(other, values[0], values[1]), min(2, values[0]), max(values[1], other)


@kernel
def _least(values: Any, short: Any) -> Any:
    far = np.uint64(2**63)
    return min(values[0], short, 4), max(values[0], 2, short), max(np.uint64(3), far) == far, min(0.5, values[1])


def _outer() -> Outer:
    return Outer(Inner(np.arange(5), 7 * np.arange(5), 11), 3 * np.arange(5))


def _counts(outer: Outer) -> list[int]:
    return [sys.getrefcount(each) for each in (outer.values, outer.inner.left, outer.inner.right)]


def test_tuples_in_tuples_and_tuples_that_a_kernel_makes() -> None:
    results = []
    for call in (_all, lambda *given: interpreted(_all, *given)):
        outer, out = _outer(), np.zeros(5, np.int64)
        total, written, chosen, *rest = call(outer, out)
        results.append((total, written.tolist(), chosen.tolist(), rest, out.tolist()))
    assert results[0] == results[1]


def test_arrays_outlive_the_call_that_returns_them_and_no_longer() -> None:
    outer, out = _outer(), np.zeros(5, np.int64)
    _all(outer, out)
    before = [*_counts(outer), sys.getrefcount(out)]
    for _ in range(20):
        kept = _all(outer, out)
    assert kept[2].tolist() == outer.inner.right.tolist()
    written = kept[1].tolist()
    _all(outer, out)
    assert kept[1].tolist() == written
    del kept
    assert [*_counts(outer), sys.getrefcount(out)] == before
    assert [_chosen(outer.inner, each).tolist() for each in (False, True)] == [[0, 1, 2, 3, 4], [0, 7, 14, 21, 28]]
    assert [*_counts(outer), sys.getrefcount(out)] == before


def test_errors_pass_through_kernels_and_what_raises_none_is_not_asked() -> None:
    outer = _outer()
    assert _asks(outer, 1) == 4
    with pytest.raises(IndexError, match="too far"):
        _asks(outer, 5)
    assert _nothing(outer) is None
    assert outer.values[0] == 7


def test_least_and_greatest_of_numbers_and_branches_that_none_leaves_out() -> None:
    for short in (np.int32(5), np.int32(-1), np.int64(1)):
        given = np.array([3, 2]), short
        assert _least(*given) == interpreted(_least, *given)
    assert [_without(np.array([3, 2]), other) for other in (None, _outer())] == [3, 6]


def test_least_and_greatest_of_what_is_not_a_number_are_pythons() -> None:
    for values in itertools.permutations((np.nan, 1.5, -np.inf), 2):
        for other in (1, np.float32(2.5), np.nan):
            made = _least_fraction(np.array(values), other), interpreted(_least_fraction, np.array(values), other)
            np.testing.assert_array_equal(*made)


def test_functions_of_others_may_call_a_kernel() -> None:
    outer = _outer()
    called = numba.njit(lambda given, at: _checked(given, at) + 1)
    assert called(outer, 2) == 7
    with pytest.raises(IndexError, match="too far"):
        called(outer, 5)
    assert _asks(outer, 2) == 7
