"""Which columns the live rules name, as the expressions that travel to the Python workers, and how they lie there.

`a.b` is field b of a struct or map a, or a column called `a.b`; a quoted name is only the latter. Columns are taken by
their position, because Spark's own lookup may ignore case; of a struct only the fields that rules name travel. Where
rules only ask whether something is NULL, one bit a row does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from matchwood.encoding import (
    IN_LISTS,
    Edge,
    EventSettings,
    Node,
    always_fits,
    can_fit,
    key_trie,
    positions_below,
)
from matchwood.spark.match.layout import ArgumentShape, Layout
from matchwood.spark.sql.reading import arrow_type_of

if TYPE_CHECKING:
    from pyspark.sql import Column

_NO_SETTINGS = EventSettings()
_NOT_CARRIED = b"a type that Arrow does not carry"


class Unfit(NamedTuple):
    """An attribute, what it must be, and the type of the column that it has; `is_list` if that is a list above it."""

    name: str
    wanted: str
    given: str
    is_list: bool = False


class Arguments(NamedTuple):
    """What travels: the expressions, how a batch of them becomes a table, and the attributes that no column has.

    `values`      of a whole column just its name
    `unfit`       attributes whose column has a type that none of their values can have
    `may_misfit`  attributes of which some values may not fit
    """

    values: list[Column | str]
    layout: Layout
    missing: list[str]
    unfit: Sequence[Unfit] = ()
    may_misfit: Sequence[str] = ()


class ColumnPlace(NamedTuple):
    """A column or field: its name, its type, and the expression that reads it.

    Of a whole column that is the name which `by_position` gives it: to make an expression of each column takes half of
    the time that a match is planned in, since every step of it asks the JVM.
    """

    name: str
    type: st.DataType
    source: Column | str

    @property
    def value(self) -> Column:
        return sf.col(self.source) if isinstance(self.source, str) else self.source


def arguments_for(
    kinds: Mapping[str, str], places: Iterable[ColumnPlace], settings: EventSettings = _NO_SETTINGS
) -> Arguments:
    """The arguments for attributes (name to type), from columns or from the fields of a struct."""
    walk = _SchemaWalk(kinds, settings)
    layout = tuple(walk.shapes(places, [key_trie(list(kinds))]))
    missing = [name for number, name in enumerate(kinds) if number not in walk.found]
    return Arguments(walk.values, layout, missing, walk.unfit, list(dict.fromkeys(walk.may_misfit)))


def column_places(schema: st.StructType) -> list[ColumnPlace]:
    """The columns of a frame that has been through `by_position`."""
    return [ColumnPlace(field.name, field.dataType, f"_{number}") for number, field in enumerate(schema.fields)]


def field_places(struct: st.StructType, value: Column) -> list[ColumnPlace]:
    """The fields of a struct; where names differ only in case it first gets others, by position."""
    names = struct.names
    if len({name.casefold() for name in names}) < len(names):
        names = [f"_{number}" for number in range(len(names))]
        renamed = [st.StructField(name, field.dataType) for name, field in zip(names, struct.fields, strict=True)]
        value = value.cast(st.StructType(renamed))
    pairs = zip(names, struct.fields, strict=True)
    return [ColumnPlace(field.name, field.dataType, value.getField(name)) for name, field in pairs]


class _SchemaWalk:
    """A walk along a schema and the trie of all ways to the attributes."""

    def __init__(self, kinds: Mapping[str, str], settings: EventSettings) -> None:
        self._names, self._kinds, self._settings = list(kinds), list(kinds.values()), settings
        self.values: list[Column | str] = []
        self.found: set[int] = set()
        self.unfit: list[Unfit] = []
        self.may_misfit: list[str] = []

    def shapes(self, places: Iterable[ColumnPlace], nodes: Sequence[Node]) -> Iterator[tuple[str, ArgumentShape]]:
        for place in places:
            edges = [node[place.name] for node in nodes if place.name in node]
            if edges and (shape := self._shape(place, edges)) is not None:
                yield place.name, shape

    def _shape(self, place: ColumnPlace, edges: Sequence[Edge]) -> ArgumentShape | None:
        here = {position for edge in edges for position in edge.here}
        below = [node for edge in edges for node in edge.below]
        self.found |= here
        for position in here:
            self._judge(position, place.type)
        if below and _holds_structs(place.type):
            for node in below:
                self._note_lists(place, node)
        if any(self._kinds[position] != "any" for position in here) or (below and isinstance(place.type, st.MapType)):
            reached = _reachable(place.type, below)
            self.found |= reached
            if isinstance(place.type, st.MapType):
                for position in reached:
                    self._judge(position, place.type.valueType)
            return self._argument(_carried(place))
        inside = tuple(self.shapes(_fields(place), below)) if below else ()
        presence = self._argument(sf.when(self._is_given(place), sf.lit(True))) if here else None
        return ArgumentShape(-1 if presence is None else presence.number, inside) if inside else presence

    def _is_given(self, place: ColumnPlace) -> Column:
        if self._settings.nan != "null" or not isinstance(place.type, st.FloatType | st.DoubleType):
            return place.value.isNotNull()
        return place.value.isNotNull() & ~sf.isnan(place.value)

    def _judge(self, position: int, kind: st.DataType) -> None:
        """Note whether no value of a column can fit an attribute, or some may not."""
        name, wanted = self._names[position], self._kinds[position]
        arrow = arrow_type_of(kind)
        if wanted != "any" and (arrow is None or not can_fit(wanted, arrow, self._settings.coercion_of(name))):
            self.unfit.append(Unfit(name, wanted, kind.simpleString()))
        if wanted != "any" and (arrow is None or not always_fits(wanted, arrow)):
            self.may_misfit.append(name)

    def _note_lists(self, place: ColumnPlace, node: Node) -> None:
        for position in positions_below(node):
            self.found.add(position)
            self.unfit.append(Unfit(self._names[position], IN_LISTS, place.type.simpleString(), is_list=True))

    def _argument(self, value: Column | str) -> ArgumentShape:
        self.values.append(value)
        return ArgumentShape(len(self.values) - 1)


def _holds_structs(kind: st.DataType) -> bool:
    return isinstance(kind, st.ArrayType) and isinstance(kind.elementType, st.StructType | st.MapType)


def _fields(place: ColumnPlace) -> list[ColumnPlace]:
    return field_places(place.type, place.value) if isinstance(place.type, st.StructType) else []


def _reachable(kind: st.DataType, nodes: Sequence[Node]) -> set[int]:
    """The attributes that may stand below a value that travels whole."""
    if isinstance(kind, st.MapType):
        return {position for node in nodes for position in positions_below(node)}
    found: set[int] = set()
    for field in kind.fields if isinstance(kind, st.StructType) else ():
        for edge in [node[field.name] for node in nodes if field.name in node]:
            found |= {*edge.here, *_reachable(field.dataType, edge.below)}
    return found


def _carried(place: ColumnPlace) -> Column | str:
    """The value itself; bytes, which fit no attribute, in place of what Arrow has no type for."""
    if arrow_type_of(place.type) is None:
        return sf.when(place.value.isNotNull(), sf.lit(bytearray(_NOT_CARRIED)))
    return place.source
