"""Numbers that are written past the caches: the same numbers, whatever begins where."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from matchwood.core.jit import kernel
from matchwood.rules._stream_kernels import RUN, end_streams, first_run, stream_added, stream_repeated


@kernel
def begin_of(out: Any) -> Any:
    return first_run(out)


@kernel
def fill(out: Any, value: int) -> None:
    for at in range(first_run(out), len(out) - RUN + 1, RUN):
        stream_repeated(out, at, value)
    end_streams()


@kernel
def add(out: Any, source: Any, added: int) -> None:
    begin = first_run(out)
    for at in range(begin, len(out) - RUN + 1, RUN):
        stream_added(out, at, source, at - begin, added)
    end_streams()


def array_from(place: int, count: int, kind: Any) -> Any:
    """An array that begins so many numbers behind a line of memory."""
    width = np.dtype(kind).itemsize
    memory = np.zeros((count + 4 * RUN) * width, np.uint8)
    begin = -memory.ctypes.data % (RUN * width) + place * width
    return memory[begin : begin + count * width].view(kind)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("place", range(RUN))
def test_runs_begin_where_lines_do(kind: Any, place: int) -> None:
    assert begin_of(array_from(place, 100, kind)) == -place % RUN


def test_numbers_across_lines_have_no_runs() -> None:
    memory = np.zeros(200, np.uint8)
    begin = -memory.ctypes.data % 8 + 3
    assert begin_of(memory[begin : begin + 160].view(np.int64)) == -1


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("place", [0, 1, 7])
def test_all_runs_are_written_and_nothing_else(kind: Any, place: int) -> None:
    out, source = array_from(place, 83, kind), np.arange(-40, 60, dtype=np.int32)
    begin = -place % RUN
    end = begin + (len(out) - begin) // RUN * RUN
    fill(out, 7)
    assert (out[begin:end] == 7).all()
    add(out, source, -(10**6))
    assert out[begin:end].tolist() == (source[: end - begin] - 10**6).tolist()
    assert not out[:begin].any()
    assert not out[end:].any()


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_the_caches_are_really_passed() -> None:
    fresh = numba.njit(fill.py_func)  # type: ignore[attr-defined]  # what comes from the cache cannot be read
    fresh(np.zeros(100, np.int64), 1)
    assert "!nontemporal" in next(iter(fresh.inspect_llvm().values()))
