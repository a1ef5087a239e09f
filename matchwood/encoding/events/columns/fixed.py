"""Fixed columns of a chunk, collected for kernels that read all of them in one call.

A column is fixed if its values have a fixed width and need no conversion, and its attribute has one number: then
`_fixed_kernels.py` finds its labels without NumPy or Arrow touching it. The columns of a table are taken all at once,
by Arrow's C data interface; others one by one, as they are found.
"""

from __future__ import annotations

import ctypes
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.attribute import Source, Target
from matchwood.encoding.events.columns import _fixed_kernels as kernels
from matchwood.encoding.events.columns._fixed_kernels import FixedLayout
from matchwood.encoding.events.columns.types import family
from matchwood.encoding.spaces.lookups import NO_SPACES, Lookup

_INTEGERS = {
    pa.int8(): kernels.INT8,
    pa.int16(): kernels.INT16,
    pa.int32(): kernels.INT32,
    pa.int64(): kernels.INT64,
    pa.uint8(): kernels.UINT8,
    pa.uint16(): kernels.UINT16,
    pa.uint32(): kernels.UINT32,
}
_NUMBERS = {**_INTEGERS, pa.float32(): kernels.FLOAT32, pa.float64(): kernels.FLOAT64}
_BY_KIND = {
    "bool": {pa.bool_(): kernels.BIT},
    "int": _INTEGERS,
    "number": _NUMBERS,
    "double": _NUMBERS,
    "date": {pa.date32(): kernels.INT32},
}
_FIXED_WIDTH = ("bool", "int", "float", "date", "timestamp")

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@lru_cache(maxsize=4_096)
def fixed_kind(kind: str, arrow_type: pa.DataType, nan_is_null: bool = False) -> int | None:
    """How kernels read a column of an Arrow type as values of a kind; None if they cannot."""
    if nan_is_null and pa.types.is_floating(arrow_type):
        return None
    if kind == "any":
        return kernels.UNREAD if family(arrow_type) in _FIXED_WIDTH else None
    if kind == "timestamp":
        is_moment = pa.types.is_timestamp(arrow_type) and arrow_type.unit == "us" and arrow_type.tz is not None
        return kernels.INT64 if is_moment else None
    return _BY_KIND.get(kind, {}).get(arrow_type)


def fixed_target(source: Source) -> Target | None:
    """The only attribute that a source's values become, if kernels can look them up."""
    if source.derived is not None or len(source.direct) != 1 or source.kind == "string":
        return None
    target = source.direct[0]
    return target if target.spaces is None or target.spaces.lookup() is not None else None


class _ColumnGroup(NamedTuple):
    """Some columns: what to look them up by, how they are read, where they lie, and what keeps that alive."""

    targets: list[Target]
    kinds: list[int]
    values: NDArray[np.int64]
    validity: NDArray[np.int64]
    starts: NDArray[np.int64]
    owner: Any


class FixedColumns:
    """The fixed columns of one chunk of `rows` rows."""

    def __init__(self, rows: int, nan_is_null: bool = False) -> None:
        self._rows, self._nan_is_null = rows, nan_is_null
        self._groups: list[_ColumnGroup] = []
        self._arrays: list[tuple[Target, int, pa.Array]] = []

    def add_batch(self, targets: list[Target], kinds: list[int], batch: pa.RecordBatch) -> None:
        """All columns of a batch, which was validated."""
        _, capsule = batch.__arrow_c_array__()
        values, validity, starts = np.empty((3, len(targets)), np.int64)
        kernels.read_children(_pointer_in(capsule, b"arrow_array"), values, validity, starts)
        self._groups.append(_ColumnGroup(targets, kinds, values, validity, starts, (batch, capsule)))

    def add_array(self, source: Source, array: pa.Array) -> bool:
        """One column, validated or made here; False if it is not fixed."""
        kind = fixed_kind(source.kind, array.type, self._nan_is_null)
        target = None if kind is None else fixed_target(source)
        if kind is None or target is None:
            return False
        self._arrays.append((target, kind, array))
        return True

    def __len__(self) -> int:
        return len(self._arrays) + sum(len(group.targets) for group in self._groups)

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """The attributes, increasing."""
        return self._columns[0]

    @cached_property
    def cells(self) -> int:
        """How many values there are that are not NULL."""
        return int(kernels.count_valid(self._columns[1], self._rows)) if len(self) else 0

    def located(self) -> tuple[NDArray[np.int64], list[NDArray[Any]]]:
        """Where the values of each attribute begin; rows, attributes and labels of all that are not NULL."""
        begins, *found = kernels.located(self._columns[1], self.numbers, self._rows, self.cells)
        return begins, found

    def fill(self, matrix: NDArray[np.int32], lines: NDArray[np.int64]) -> None:
        """Write the labels of each column to its line."""
        kernels.fill_lines(self._columns[1], lines, self._rows, matrix)

    @cached_property
    def _columns(self) -> tuple[NDArray[np.int32], FixedLayout, Any]:
        """All columns by number, and what must live as long as they are read."""
        groups = [*self._groups, _group_of(self._arrays)]
        targets = [target for group in groups for target in group.targets]
        lookups = [None if target.spaces is None else target.spaces.lookup() for target in targets]
        numbers = np.array([target.number for target in targets], np.int32)
        order = np.argsort(numbers)
        fixed = FixedLayout(
            np.array([kind for group in groups for kind in group.kinds], np.int64)[order],
            np.concatenate([group.values for group in groups])[order],
            np.concatenate([group.validity for group in groups])[order],
            np.concatenate([group.starts for group in groups])[order],
            _lines(lookups)[order],
        )
        return numbers[order], fixed, (groups, lookups)


def _lines(lookups: list[Lookup | None]) -> NDArray[np.int64]:
    lines = [NO_SPACES if lookup is None else lookup.line for lookup in lookups]
    return np.concatenate([NO_SPACES[:0], *lines]).reshape(len(lines), kernels.SPACES)


def _group_of(arrays: list[tuple[Target, int, pa.Array]]) -> _ColumnGroup:
    """Columns that were found one by one."""
    buffers = [array.buffers() for _, _, array in arrays]
    return _ColumnGroup(
        [target for target, _, _ in arrays],
        [kind for _, kind, _ in arrays],
        np.array([0 if held[1] is None else held[1].address for held in buffers], np.int64),
        np.array([0 if held[0] is None else held[0].address for held in buffers], np.int64),
        np.array([array.offset for _, _, array in arrays], np.int64),
        buffers,
    )
