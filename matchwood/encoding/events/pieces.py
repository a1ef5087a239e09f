"""Where the attributes stand in a chunk of events, and that none stands in two places of one event."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.events.columns.arrow import read_array
from matchwood.encoding.events.columns.objects import read_objects
from matchwood.encoding.events.columns.parts import Misfits, Rows, ValueColumn, placed, without
from matchwood.encoding.events.containers import Container, Values, open_container, rows_of_lists
from matchwood.encoding.events.paths import Edge, Node, positions_below
from matchwood.encoding.events.unwrapping import ValueReading
from matchwood.language import join_path

GIVEN_ONCE = "given only once"
IN_LISTS = "a field of a struct; lists are tested by 'one of', 'all of', 'none of': pass the field as a separate list"
"""What is said of a path that leads into a list of structs."""


class Route(NamedTuple):
    """The keys that lead to a place, from the last one up: events may be 10,000 levels deep."""

    above: Route | None
    key: str

    def keys(self) -> list[str]:
        keys, route = [], cast(Route | None, self)
        while route is not None:
            keys.append(route.key)
            route = route.above
        return keys[::-1]


class Piece(NamedTuple):
    """Values of one attribute that stand in one place: the rows (None for all), and what leads there."""

    values: Values
    rows: Rows | None
    route: Route


class Pieces:
    """What a chunk holds of each attribute, by position."""

    def __init__(self, container: Container, trie: Node) -> None:
        self.found: dict[int, list[Piece]] = {}
        self.in_lists: dict[int, list[Misfits]] = {}
        """Rows in which an attribute would stand within a list of structs."""
        self._opened: list[tuple[Node, Rows, bool]] = []
        self._visited: list[tuple[Route | None, Container]] = []
        self._walk(container, trie)

    def _walk(self, container: Container, trie: Node) -> None:
        stack: list[tuple[Container, Node, Rows | None, Route | None]] = [(container, trie, None, None)]
        while stack:
            inside, node, outer, route = stack.pop()
            self._visited.append((route, inside))
            for key, rows, values in inside.entries(node):
                edge, piece = node[key], Piece(values, _composed(outer, rows), Route(route, key))
                for position in edge.here:
                    self.found.setdefault(position, []).append(piece)
                if edge.below:
                    self._note_lists(edge, piece)
                if edge.below and (deeper := open_container(values)) is not None:
                    nulls = deeper.null_rows if piece.rows is None else piece.rows[deeper.null_rows]
                    for below in edge.below:
                        self._opened.append((below, nulls, deeper.fixed))
                        stack.append((deeper.inside, below, _composed(piece.rows, deeper.rows), piece.route))

    def _note_lists(self, edge: Edge, piece: Piece) -> None:
        rows = rows_of_lists(piece.values)
        if not len(rows):
            return
        rows = rows if piece.rows is None else piece.rows[rows]
        got = f"a list of structs under {join_path(tuple(piece.route.keys()))!r}"
        for below in edge.below:
            for position in positions_below(below):
                self.in_lists.setdefault(position, []).append(Misfits(rows, lambda _: got, IN_LISTS))

    def columns(self, position: int, kind: str, reading: ValueReading, count: int) -> list[ValueColumn]:
        """The attribute's values, one column a place; what stands in two places of a row is a misfit."""
        pieces = self.found.get(position, [])
        columns = [placed(_read(kind, piece.values, reading), piece.rows) for piece in pieces]
        columns += [ValueColumn([], self.in_lists[position])] if position in self.in_lists else []
        if len(pieces) < 2:
            return columns
        places = _places(pieces, count)
        doubled: Rows = np.flatnonzero(places > 1)
        conflict = Misfits(doubled, lambda row: _both(pieces, int(doubled[row])), GIVEN_ONCE)
        return [*(without(column, places > 1) for column in columns), ValueColumn([], [conflict])]

    def whole(self, position: int) -> pa.Array | None:
        """The attribute's values if they stand in one place, an Arrow array of all rows."""
        pieces = self.found.get(position, [])
        if len(pieces) != 1 or position in self.in_lists or pieces[0].rows is not None:
            return None
        return pieces[0].values if isinstance(pieces[0].values, pa.Array) else None

    def names(self) -> list[str]:
        """The names that were seen on the way, for messages."""
        return [".".join(Route(route, name).keys()) for route, container in self._visited for name in container.names()]

    def may_hold(self, position: int) -> bool:
        """Whether some column has the attribute, or may have it in other rows."""
        return position in self.found or position in self._null_above

    def covered(self, position: int, count: int) -> NDArray[np.bool_]:
        """The rows that have the attribute, if only as NULL, or by a NULL above it."""
        held = _places(self.found.get(position, []), count) > 0
        for rows in self._null_above.get(position, ()):
            held[rows] = True
        return held

    @cached_property
    def _null_above(self) -> dict[int, list[Rows]]:
        """Rows in which a NULL stands where the attribute might; also present where keys differ from row to row."""
        above: dict[int, list[Rows]] = {}
        for node, nulls, fixed in self._opened:
            for position in positions_below(node) if len(nulls) or not fixed else ():
                above.setdefault(position, []).append(nulls)
        return above


def _composed(outer: Rows | None, inner: Rows | None) -> Rows | None:
    return inner if outer is None else outer if inner is None else outer[inner]


def _read(kind: str, values: Values, reading: ValueReading) -> ValueColumn:
    return read_objects(kind, values, reading) if isinstance(values, list) else read_array(kind, values, reading)


def _places(pieces: list[Piece], count: int) -> NDArray[np.int64]:
    """In how many places each row has the attribute."""
    places = np.zeros(count, np.int64)
    for piece in pieces:
        if piece.rows is None:
            places += 1
        else:
            places[piece.rows] += 1
    return places


def _both(pieces: list[Piece], row: int) -> str:
    """The places in which a row has an attribute, in words; nested ones first."""
    held = [tuple(piece.route.keys()) for piece in pieces if piece.rows is None or row in piece.rows]
    first, second = map(join_path, sorted(held, key=lambda keys: (-len(keys), keys))[:2])
    return f"{first} twice" if first == second else f"both {first} and {second}"
