"""Kernels become the code that Python means, by the steps of our own: variables, elements, operators."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import matchwood
from matchwood.core.jit import bare_kernel, kernel
from matchwood.core.machine_code.pipeline import ARE_TAKEN


class Pair(NamedTuple):
    left: Any
    right: Any


def _elements(values: Any, places: Any, out: Any) -> Any:
    """Places from the end, whole numbers without a sign, constants, and values that are stored narrower."""
    total = 0.0
    for place in range(len(places)):
        total += values[places[place]] * (place + 1)
        out[place] = values[places[place]]
    out[0] += 1
    out[-1] = values[0]
    return total + values[-1] + values[np.uint64(1)]


def _paths(values: Any, limit: int) -> Any:
    """Variables with a value from one place, from two, from before the loop and from the turn before."""
    first, second, count = 0, 1, len(values)
    last = -1
    for place in range(count):
        first, second = second, first + second
        doubled = 2 * values[place]
        if doubled > limit:
            found = place
            kept = doubled - found
        else:
            kept = -doubled
            if place == 3:
                continue
        last = kept if kept > last else last
        while kept > 7:
            kept //= 2
            last += kept & 1
    return first * 1000 + last


def _tuples(pair: Any, at: int) -> Any:
    left, right = pair
    pair.right[at] = left[at] + (right[at] if left[at] > 2 else pair[0][0])
    return pair.right[at] ** 2 + (-5) // 2 + (-5) % 3 + len(left)


def _flags(flags: Any, numbers: Any) -> Any:
    count = 0
    for place in range(len(flags)):
        flags[place] = not flags[place] or numbers[place] > 2
        if flags[place] and numbers[place] != 4:
            count += 1
    return count


def _whole_arrays(values: Any) -> Any:
    doubled = values[1:] * 2 + values[:-1]
    doubled[:2] = 7
    kept = doubled[doubled > 5]
    return kept.sum() + kept[-1]


def _raises(values: Any, at: int) -> Any:
    if at >= len(values):
        raise IndexError("too far")
    return values[at]


@pytest.mark.few(2)
@pytest.mark.parametrize("wrapped", [kernel, bare_kernel])
@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.uint64, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("place", [np.int32, np.int64])
def test_elements(wrapped: Any, kind: Any, place: Any) -> None:
    values, places = np.array([5, 3, 9, 1, 7], kind), np.array([0, -1, 2, -4], place)
    mine, pythons = np.zeros(4, np.int16), np.zeros(4, np.int16)
    assert wrapped(_elements)(values, places, mine) == _elements(values.astype(float), places, pythons)
    assert mine.tolist() == pythons.tolist()


@pytest.mark.few
@pytest.mark.parametrize("wrapped", [kernel, bare_kernel])
@pytest.mark.parametrize("limit", [-1, 5, 11, 100])
def test_paths(wrapped: Any, limit: int) -> None:
    values = [3, 9, 2, 4, 40, 1, 6]
    assert wrapped(_paths)(np.array(values), limit) == _paths(values, limit)


@pytest.mark.parametrize("wrapped", [kernel, bare_kernel])
def test_tuples_of_arrays(wrapped: Any) -> None:
    for at in (0, 2, -1):
        mine, pythons = (Pair(np.array([1, 2, 3, 4]), np.array([5, 6, 7, 8], np.int32)) for _ in range(2))
        assert wrapped(_tuples)(mine, at) == _tuples(pythons, at)
        assert mine.right.tolist() == pythons.right.tolist()


def test_flags_read_only_arrays_and_whole_arrays() -> None:
    flags, numbers = np.array([True, False, True, False]), np.array([1, 2, 3, 4], np.int32)
    numbers.flags.writeable = False
    assert bare_kernel(_flags)(flags, numbers) == 2
    assert flags.tolist() == [False, True, True, True]
    assert kernel(_whole_arrays)(np.arange(6)) == _whole_arrays(np.arange(6))


def test_errors() -> None:
    checked = kernel(_raises)
    assert checked(np.arange(3), 2) == 2
    with pytest.raises(IndexError, match="too far"):
        checked(np.arange(3), 3)


def test_with_bounds_checked_places_out_of_range_are_errors() -> None:
    script = (
        "import numpy as np, pytest\nfrom tests.test_jit_lowering import _elements\n"
        "from matchwood.core.jit import bare_kernel\n"
        "with pytest.raises(IndexError): bare_kernel(_elements)(np.arange(3), np.array([5]), np.zeros(3))"
    )
    given = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": str(Path(matchwood.__file__).parent.parent)}
    subprocess.run([sys.executable, "-c", script], env=given, check=True)


def test_this_version_of_numba_is_one_that_the_steps_were_tested_with() -> None:
    """Else kernels take longer to compile: run all tests with it, then add it to `TESTED`."""
    assert ARE_TAKEN
