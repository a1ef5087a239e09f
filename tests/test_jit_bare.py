"""Kernels that count no references make no arrays, whatever they call: they compile where nothing was kept, too."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

import matchwood

PACKAGE = Path(matchwood.__file__).parent
MAKING = {"empty", "zeros", "ones", "full", "arange", "empty_like", "zeros_like", "copy", "argsort", "concatenate"}
"""Functions of NumPy, and methods, that make an array."""


def kernels() -> Iterator[Any]:
    for path in sorted(PACKAGE.rglob("*kernels.py")):
        module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
        yield from (each for each in vars(module).values() if hasattr(each, "py_func") and hasattr(each, "within"))


def called(kernel: Any) -> Iterator[Any]:
    """A kernel and all that it names, directly or not."""
    found, waiting = {kernel}, [kernel]
    while waiting:
        function: types.FunctionType = waiting.pop().py_func
        named = {function.__globals__.get(name) for name in function.__code__.co_names if is_kernel(function, name)}
        waiting += named - found
        found |= named
    yield from found


def is_kernel(function: types.FunctionType, name: str) -> bool:
    return hasattr(function.__globals__.get(name), "py_func")


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_no_kernel_that_counts_no_references_calls_one_that_makes_an_array() -> None:
    bare = [each for each in kernels() if each.targetoptions.get("_nrt") is False]
    assert len(bare) > 100
    wrong = {
        f"{each.py_func.__module__}.{each.py_func.__name__} by {callee.py_func.__name__}"
        for each in bare
        for callee in called(each)
        if MAKING & set(callee.py_func.__code__.co_names)
    }
    assert wrong == set()
