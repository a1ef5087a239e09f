"""The types of attributes as column types, for readers of text that would otherwise guess from the digits."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from matchwood.language import split_path

_COLUMNS = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""Without `number`, which takes integers and doubles, and without lists, which text has no form for."""


def arrow_types(types: Mapping[str, str]) -> dict[str, pa.DataType]:
    """Column types by column name; a path is a column with dots in its name.

    >>> arrow_types({"a.b": "int", "score": "number"})
    {'a.b': DataType(int64)}
    """
    return {".".join(split_path(name)): _COLUMNS[kind] for name, kind in types.items() if kind in _COLUMNS}
