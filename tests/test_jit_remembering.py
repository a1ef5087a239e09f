"""What kernels know of Numba's types without asking is what Numba would say."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

from matchwood.core.jit import bare_kernel
from matchwood.core.machine_code.remembering import TypingContext, _of_element
from matchwood.core.twins import interpreted

NUMBERS = (types.int32, types.int64, types.uint8, types.uint64, types.float32, types.float64, types.boolean)
INDEXES = (types.int32, types.int64, types.uint8, types.uint64, types.literal(0), types.literal(-3))


class Pair(NamedTuple):
    left: Any
    right: Any


def _array(kind: Any, layout: str = "C", readonly: bool = False, dimensions: int = 1) -> Any:
    return types.Array(kind, dimensions, layout, readonly=readonly)


@pytest.fixture(scope="module")
def numba_context() -> Any:
    context = cpu_target.typing_context
    context.refresh()
    return context


@pytest.mark.parametrize("kind", NUMBERS)
def test_reading_and_writing_an_element_has_numbas_signature(numba_context: Any, kind: Any) -> None:
    read = numba_context.resolve_value_type(operator.getitem)
    write = numba_context.resolve_value_type(operator.setitem)
    known = 0
    for index, given in itertools.product(INDEXES, (*NUMBERS, types.literal(7))):
        for asked, arguments in ((read, (_array(kind), index)), (write, (_array(kind), index, given))):
            found = _of_element(asked, arguments)
            if found is not None:
                known += 1
                assert found == numba_context.resolve_function_type(asked, arguments, {})
    assert known > len(INDEXES) * len(NUMBERS)


def test_all_other_elements_are_asked_for(numba_context: Any) -> None:
    read = numba_context.resolve_value_type(operator.getitem)
    write = numba_context.resolve_value_type(operator.setitem)
    values, place = _array(types.int64), types.int64
    for other in (_array(types.int64, "A"), _array(types.int64, dimensions=2), types.UniTuple(types.int64, 3)):
        assert _of_element(read, (other, place)) is None
    assert _of_element(read, (values, types.slice2_type)) is None
    assert _of_element(write, (_array(types.int64, readonly=True), place, place)) is None
    assert _of_element(write, (values, place, types.float64)) is None, "whether that is allowed, Numba says"
    assert _of_element(numba_context.resolve_value_type(operator.add), (place, place)) is None


def test_fields_and_functions_of_modules_are_those_that_numba_finds(numba_context: Any) -> None:
    context = TypingContext(numba_context)
    pair = types.NamedTuple((_array(types.int32), types.float64), Pair)
    for kind, name in (
        (pair, "left"),
        (pair, "right"),
        *((types.Module(np), each) for each in ("int64", "empty", "pi")),
    ):
        for _ in range(2):
            assert context.resolve_getattr(kind, name) == numba_context.resolve_getattr(kind, name)
    assert context.resolve_getattr(types.Module(math), "sqrt") == numba_context.resolve_getattr(
        types.Module(math), "sqrt"
    )
    assert context.resolve_getattr(pair, "neither") is None


@bare_kernel
def _elements(pair: Any, flags: Any, at: int) -> Any:
    """Constant places, places of all widths, from the end, and numbers of other kinds than those of the array."""
    pair.left[0], pair.left[-1] = 5, at
    pair.left[np.uint8(1)] = np.int64(2**40 + 3)
    pair.right[at] = pair.left[1]
    pair.right[np.int32(1)] = 0.25
    flags[0] = pair.right[1] > 0
    total = 0.0
    for place in range(len(pair.left)):
        total += pair.left[place] * pair.right[-1]
    return total, flags[0], pair.left[2]


def test_elements_are_read_and_written_as_python_does() -> None:
    results = []
    for call in (_elements, lambda *given: interpreted(_elements, *given)):
        pair, flags = Pair(np.arange(4, dtype=np.int64), np.arange(4) + 0.5), np.zeros(2, bool)
        results.append((call(pair, flags, 2), pair.left.tolist(), pair.right.tolist(), flags.tolist()))
    assert results[0] == results[1]
    assert results[0][1] == [5, 2**40 + 3, 2, 2]
