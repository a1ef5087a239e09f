"""Generated events as tables: the same values by column that the dicts hold by row."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tests.pools import ATTRIBUTES, Attributes
from tests.sql import field

COLUMNAR: Attributes = {name: kind for name, kind in ATTRIBUTES.items() if kind != "number"}
"""Without the attributes that hold integers and doubles in one column."""

_TYPES = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "list<int>": pa.list_(pa.int64()),
    "list<string>": pa.list_(pa.string()),
}


def arrow_table(events: Sequence[dict[str, Any]], attributes: Attributes = COLUMNAR, nested: bool = False) -> pa.Table:
    """One column an attribute, named as it is; or paths as struct columns."""
    columns: dict[str, pa.Array] = {}
    for name, kind in attributes.items():
        values = pa.array([_cell(field(event, name), kind) for event in events], _TYPES[kind])
        outer, _, inner = name.partition(".")
        if nested and inner and not name.startswith("`"):
            columns[outer] = pa.StructArray.from_arrays([values], [inner])
        else:
            columns[name.strip("`")] = values
    return pa.table(columns)


def _cell(value: Any, kind: str) -> Any:
    if kind == "date":
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value
    if kind != "timestamp" or value is None:
        return value
    moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC).astimezone(datetime.UTC)
