"""How the arguments that reach a Python worker become a table again: plain columns, and structs put together anew.

No value is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc


class ArgumentShape(NamedTuple):
    """A column that is an argument as it came, or a struct of such.

    `number`  the argument's position; for a struct, that of an argument that is NULL where the struct is, or -1
    `inside`  the fields of a struct, by name
    """

    number: int
    inside: Layout | None = None


Layout: TypeAlias = tuple[tuple[str, ArgumentShape], ...]


def layout_names(layout: Layout, above: str = "") -> Iterator[str]:
    """The columns, and for a struct its fields, with dots."""
    for name, shape in layout:
        if shape.inside is None:
            yield f"{above}{name}"
        else:
            yield from layout_names(shape.inside, f"{above}{name}.")


def table_of(layout: Layout, arguments: Sequence[pa.Array]) -> pa.RecordBatch:
    """The columns that the rules name. Where there is none, the rows of the first argument still are."""
    if not layout:
        return pa.record_batch([pa.nulls(len(arguments[0]))], names=[""])
    return pa.record_batch([_array(shape, arguments) for _, shape in layout], names=[name for name, _ in layout])


def _array(shape: ArgumentShape, arguments: Sequence[pa.Array]) -> pa.Array:
    """Recursive, but only as deep as the columns' types, which Spark and Arrow walk in the same way."""
    if shape.inside is None:
        return arguments[shape.number]
    arrays = [_array(field, arguments) for _, field in shape.inside]
    absent = None if shape.number < 0 else pc.is_null(arguments[shape.number])
    return pa.StructArray.from_arrays(arrays, names=[name for name, _ in shape.inside], mask=absent)
