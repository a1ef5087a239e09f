"""Kernels as plain Python: the same code, in which every kernel that it calls is plain Python as well.

Within a kernel numbers have the types of NumPy, as in compiled code. A compiled kernel that it called would hand over
Python's own, which do not wrap around: so interpreted kernels call none but their like.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

Function = Callable[..., Any]

_making = threading.RLock()
_worlds: dict[int, dict[str, Any]] = {}
_twins: dict[int, FunctionType] = {}


def interpreted(kernel: Any, *arguments: Any) -> Any:
    """What a kernel returns: as in compiled code, numbers wrap around without a word, and Python's own come back."""
    with np.errstate(all="ignore"):
        return _pythons(twin_of(kernel)(*map(_numpys, arguments)))


def twin_of(kernel: Any) -> Function:
    """The Python function of a kernel, among the twins of all others."""
    with _making:
        if id(kernel) not in _twins:
            function = kernel.py_func
            cells = tuple(CellType(_twin_or_self(cell.cell_contents)) for cell in function.__closure__ or ())
            twin = FunctionType(
                function.__code__, _world(function.__globals__), function.__name__, function.__defaults__, cells
            )
            _twins[id(kernel)] = twin
        return _twins[id(kernel)]


def _world(names: dict[str, Any]) -> dict[str, Any]:
    """The names of a module, its kernels replaced by their twins."""
    if id(names) not in _worlds:
        # It is there before its twins are, which need it; their code looks names up when it runs.
        world = _worlds[id(names)] = dict(names)
        world.update({name: twin_of(value) for name, value in names.items() if isinstance(value, Dispatcher)})
    return _worlds[id(names)]


def _twin_or_self(value: Any) -> Any:
    return twin_of(value) if isinstance(value, Dispatcher) else value


def _numpys(value: Any) -> Any:
    """An argument as a kernel has it: numbers in 64 bits, however deep in tuples."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return np.int64(value) if value < 1 << 63 else np.uint64(value)
    if isinstance(value, float):
        return np.float64(value)
    return _with_parts(value, _numpys)


def _pythons(value: Any) -> Any:
    """A result as compiled code hands it over."""
    return value.item() if isinstance(value, np.generic) else _with_parts(value, _pythons)


def _with_parts(value: Any, change: Function) -> Any:
    if not isinstance(value, tuple):
        return value
    parts = map(change, value)
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
