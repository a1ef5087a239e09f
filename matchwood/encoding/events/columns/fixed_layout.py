"""Which columns of a table are plain: worked out once for all tables with one schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from matchwood.encoding.attribute import Source, Target
from matchwood.encoding.events.columns.fixed import FixedTargets, fixed_kind, fixed_target
from matchwood.encoding.events.containers import positions_of
from matchwood.encoding.events.paths import Node


class ColumnLayout(NamedTuple):
    """The plain columns of tables with one schema, in the order of their attributes, and the others by name."""

    schema: pa.Schema
    positions: tuple[int, ...]
    columns: FixedTargets
    others: dict[str, list[int]]


class Layouts:
    """The layout of the last schema that was asked for, by the sources of one plan."""

    def __init__(self, trie: Node, sources: Sequence[Source], nan_is_null: bool = False) -> None:
        self._trie, self._sources, self._nan_is_null = trie, sources, nan_is_null
        self._last: ColumnLayout | None = None

    def of(self, schema: pa.Schema) -> ColumnLayout:
        """The layout of tables with a schema."""
        layout = self._last
        if layout is None or not layout.schema.equals(schema):
            layout = self._last = self._made(schema)
        return layout

    def _made(self, schema: pa.Schema) -> ColumnLayout:
        types, others = schema.types, dict[str, list[int]]()
        plain: list[tuple[Target, int, int]] = []
        for name, places in positions_of(schema.names).items():
            found = self._plain(name, types[places[0]]) if len(places) == 1 else None
            if found is None:
                others[name] = places
            else:
                plain.append((*found, places[0]))
        plain.sort(key=lambda each: each[0].number)
        columns = FixedTargets([target for target, _, _ in plain], [kind for _, kind, _ in plain])
        return ColumnLayout(schema, tuple(place for _, _, place in plain), columns, others)

    def _plain(self, name: str, arrow_type: pa.DataType) -> tuple[Target, int] | None:
        """Only of a name that is the one way to one attribute."""
        edge = self._trie.get(name)
        if edge is None or not edge.sole or len(edge.here) != 1 or edge.below:
            return None
        source = self._sources[edge.here[0]]
        kind = fixed_kind(source.kind, arrow_type, self._nan_is_null)
        target = None if kind is None else fixed_target(source)
        return None if kind is None or target is None else (target, kind)
