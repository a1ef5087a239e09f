"""Fixed columns of a chunk, collected for kernels that read all of them in one call.

A column is fixed if its values have a fixed width and need no conversion, and its attribute has one number: then
`_fixed_kernels.py` finds its labels without NumPy or Arrow touching it. The columns of a table are taken all at once,
by Arrow's C data interface; others one by one, as they are found.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property, lru_cache
from operator import is_not
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


class FixedTargets:
    """What some columns are looked up by, and how they are read: worked out once for all tables with one schema.

    Columns come in the order of their attributes.

    `numbers`  the attributes
    `kinds`    what stands in the columns
    """

    def __init__(self, targets: Sequence[Target], kinds: Sequence[int]) -> None:
        self.numbers: NDArray[np.int32] = np.array([target.number for target in targets], np.int32)
        self.kinds: NDArray[np.int64] = np.array(kinds, np.int64)
        self._spaces = [target.spaces for target in targets]
        self._held: _HeldSpaces | None = None

    def __len__(self) -> int:
        return len(self._spaces)

    def spaces(self) -> _HeldSpaces:
        """Where their boundaries lie now; several threads may ask at once."""
        lookups = [None if spaces is None else spaces.lookup() for spaces in self._spaces]
        held = self._held
        if held is None or any(map(is_not, held.lookups, lookups)):
            held = self._held = _HeldSpaces(_lines(lookups), lookups)
        return held


class _HeldSpaces(NamedTuple):
    """Lines of `FixedLayout.spaces`, and what must live as long as they are read."""

    lines: NDArray[np.int64]
    lookups: list[Lookup | None]


class _ColumnPlaces(NamedTuple):
    """Where the columns of a batch lie, and what keeps that alive."""

    values: NDArray[np.int64]
    validity: NDArray[np.int64]
    starts: NDArray[np.int64]
    owner: Any


class BatchPlaces:
    """Where the columns of a batch lie, which was validated: asked for once by all chunks of it.

    Several threads may ask at once: they all find the same.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._columns: _ColumnPlaces | None = None

    @property
    def columns(self) -> _ColumnPlaces:
        found = self._columns
        if found is None:
            found = self._columns = self._found()
        return found

    def _found(self) -> _ColumnPlaces:
        _, capsule = self._batch.__arrow_c_array__()
        values, validity, starts = np.empty((3, self._batch.num_columns), np.int64)
        kernels.read_children(_pointer_in(capsule, b"arrow_array"), values, validity, starts)
        return _ColumnPlaces(values, validity, starts, (self._batch, capsule))


class _ColumnGroup(NamedTuple):
    """Some columns: what they are, where they lie, and what keeps that alive."""

    columns: FixedTargets
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

    def add_batch(self, columns: FixedTargets, batch: BatchPlaces, first: int) -> None:
        """All columns of a batch from its row `first` on."""
        places = batch.columns
        self._groups.append(_ColumnGroup(columns, places.values, places.validity, places.starts + first, places))

    def add_array(self, source: Source, array: pa.Array) -> bool:
        """One column, validated or made here; False if it is not fixed."""
        kind = fixed_kind(source.kind, array.type, self._nan_is_null)
        target = None if kind is None else fixed_target(source)
        if kind is None or target is None:
            return False
        self._arrays.append((target, kind, array))
        return True

    def __len__(self) -> int:
        return len(self._arrays) + sum(len(group.columns) for group in self._groups)

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
        groups = [*self._groups, *([_group_of(self._arrays)] if self._arrays or not self._groups else [])]
        every = [(group.columns.numbers, *_laid_out(group)) for group in groups]
        if len(every) == 1:
            return every[0]
        numbers = np.concatenate([own for own, _, _ in every])
        order = np.argsort(numbers)
        fixed = FixedLayout._make(
            np.concatenate(parts)[order] for parts in zip(*(own for _, own, _ in every), strict=True)
        )
        return numbers[order], fixed, every


def _laid_out(group: _ColumnGroup) -> tuple[FixedLayout, Any]:
    held = group.columns.spaces()
    return FixedLayout(group.columns.kinds, group.values, group.validity, group.starts, held.lines), (group, held)


def _lines(lookups: list[Lookup | None]) -> NDArray[np.int64]:
    lines = [NO_SPACES if lookup is None else lookup.line for lookup in lookups]
    return np.concatenate([NO_SPACES[:0], *lines]).reshape(len(lines), kernels.SPACES)


def _group_of(arrays: list[tuple[Target, int, pa.Array]]) -> _ColumnGroup:
    """Columns that were found one by one."""
    arrays = sorted(arrays, key=lambda each: each[0].number)
    buffers = [array.buffers() for _, _, array in arrays]
    return _ColumnGroup(
        FixedTargets([target for target, _, _ in arrays], [kind for _, kind, _ in arrays]),
        np.array([0 if held[1] is None else held[1].address for held in buffers], np.int64),
        np.array([0 if held[0] is None else held[0].address for held in buffers], np.int64),
        np.array([array.offset for _, _, array in arrays], np.int64),
        buffers,
    )
