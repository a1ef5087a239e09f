"""The types of attributes as the events' own columns have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from matchwood.encoding.schema.declared import Declared, read_schema
from matchwood.encoding.schema.inferred import Settled
from matchwood.encoding.schema.types import FAMILIES
from matchwood.errors import InvalidArgument


def types_of_events(events: Any) -> dict[str, Settled]:
    """The kinds that events' columns have, by attribute: of a DataFrame, an Arrow table, or a schema of either.

    A column whose type no attribute can have decides nothing; in a dict, which somebody wrote, it is an error.

    >>> types_of_events(pa.schema({"age": pa.int32(), "photo": pa.binary()}))
    {'age': Settled(kind='number', by="as in the events' column (int)")}
    """
    settled: dict[str, Settled] = {}
    for field in _fields(getattr(events, "schema", events)):
        try:
            declared = read_schema(field)
        except InvalidArgument:
            if isinstance(events, Mapping):
                raise
            continue
        settled |= {name: _settled(kind) for name, kind in _known(declared).items()}
    return settled


def _fields(schema: Any) -> list[Any]:
    """A schema of one column for each column."""
    if schema is None:
        return []
    if isinstance(schema, Mapping):
        return [{name: kind} for name, kind in schema.items()]
    if isinstance(schema, str):
        read_schema(schema)
        return [schema]
    if hasattr(schema, "fields") and hasattr(schema, "names"):
        return [type(schema)([field]) for field in schema.fields]
    if isinstance(schema, pa.Schema):
        return [{name: schema.field(place).type} for place, name in enumerate(schema.names)]
    raise InvalidArgument(
        "events must be a DataFrame, or a schema: a Spark StructType, a pyarrow.Schema, a dict of names and types, or "
        f"DDL text (got {schema!r:.80}, a {type(schema).__name__})"
    )


def _known(declared: Declared) -> dict[str, str]:
    return {name: kind for name, kind in declared.types.items() if kind != "any"}


def _settled(kind: str) -> Settled:
    return Settled(FAMILIES[kind], f"as in the events' column ({kind})")
