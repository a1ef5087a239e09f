"""Declared state: what a structure keeps, named once; saving, restoring, checks and bytes follow from that.

    class Lists(State):
        keys = Column(np.uint64)
        counts = Column(np.int32, length="keys", most="pool")
        pool = Column(np.int32, below="units")

A *column* is an array that grows, a *number* stands in the header, a *part* is a state inside the state, whose names
are saved beside, or under a prefix. Each is saved under the name of its attribute, without a leading underscore, or
under the `name` that it is given.

Lengths and bounds are numbers, or names: of a column, for its length; of what the owner of a part has `given` it; or of
an attribute, as `store.count`. They are checked once, before anybody relies on what was restored, and then comes what
the structure adds in `invariants`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray

from matchwood.core.arrays import Growable
from matchwood.core.fields import Column, Extent, Field, Part, arrays_in

Views = TypeVar("Views", bound=tuple[Any, ...])


class Columns(Mapping[str, Growable]):
    """The columns of a state by the names that they are saved under."""

    __slots__ = ("_attributes", "_held")

    def __init__(self, held: Mapping[str, Any], attributes: Mapping[str, str]) -> None:
        self._held, self._attributes = held, attributes

    def __getitem__(self, name: str) -> Growable:
        column: Growable = self._held[self._attributes[name]]
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


class State:
    """What consists of declared fields; `start` it before use."""

    declared: ClassVar[Mapping[str, Field]] = {}
    """All fields by the names of their attributes, those of base classes first."""

    column_attributes: ClassVar[Mapping[str, str]] = {}
    """The attributes of all columns, by the names that they are saved under."""
    _attributes_for: ClassVar[dict[type, tuple[str, ...]]] = {}
    given: Mapping[str, Any] = {}
    """What the owner of a part tells it before it is checked."""
    sound: bool = True
    """False from when a state is restored until it is checked."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fields = [(name, each) for base in reversed(cls.__mro__) for name, each in vars(base).items()]
        cls.declared = {name: each for name, each in fields if isinstance(each, Field)}
        columns = [each for each in cls.declared.values() if isinstance(each, Column)]
        cls.column_attributes = {each.name: each.attribute for each in columns}
        cls._attributes_for = {}

    def start(self) -> None:
        """Begin with nothing; numbers of the header stay."""
        for field in self.declared.values():
            field.start(self)
        self.sound = True

    @property
    def columns(self) -> Mapping[str, Growable]:
        """The arrays by the names that they are saved under, those included that are not saved."""
        return Columns(vars(self), self.column_attributes)

    def view_as(self, kind: type[Views]) -> Views:
        """The columns that a named tuple names, read-only."""
        held, names = self.__dict__, self._attributes_for.get(kind) or self._found_attributes(kind)
        # A match call looks at some thirty columns: the views that they keep are taken without a call.
        views = [view if (view := held[name]._view) is not None else held[name].view() for name in names]
        return kind._make(views)  # type: ignore[attr-defined, no-any-return]

    @classmethod
    def _found_attributes(cls, kind: Any) -> tuple[str, ...]:
        """The attributes that a named tuple names, or whose saved names it has; kept for the next time."""
        found = cls._attributes_for[kind] = tuple(
            [name if name in cls.declared else cls.column_attributes[name] for name in kind._fields]
        )
        return found

    @property
    def nbytes(self) -> int:
        """The bytes of all columns in use, saved or not."""
        return sum(field.nbytes(self) for field in self.declared.values())

    def bytes_by_column(self) -> dict[str, int]:
        """The same by the names of columns, those of parts included; no two of them have the same name."""
        return {name: count for field in self.declared.values() for name, count in field.bytes_by_column(self).items()}

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, by name."""
        return {name: array for field in self.declared.values() for name, array in field.arrays(self).items()}

    def header(self) -> dict[str, Any]:
        """What is small and not an array, JSON-able."""
        return {name: value for field in self.declared.values() for name, value in field.header(self).items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays may be read-only maps of files. `check` it before use."""
        self.start()
        for field in self.declared.values():
            field.restore(self, arrays, header)
        self.sound = False

    # ------------------------------------------------------------------ trust

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays, or round in circles."""
        if self.sound:
            return
        # Columns come first: their lengths fit before parts are checked by them.
        for field in sorted(self.declared.values(), key=lambda field: isinstance(field, Part)):
            field.check(self)
        self.invariants()
        self.sound = True

    def invariants(self) -> None:
        """Refuse what the declarations do not tell, and count or make what is not saved."""

    def found(self, name: Extent) -> Any:
        """What a declaration names."""
        if isinstance(name, int):
            return name
        first, *rest = name.split(".")
        value = next((known[first] for known in (self.given, self.columns) if first in known), None)
        value = getattr(self, first) if value is None else value
        for each in rest:
            value = getattr(value, each)
        return value

    def extent(self, name: Extent) -> int:
        """The number that a declaration names; of a column, its length."""
        value = self.found(name)
        return len(value) if isinstance(value, Growable) else int(value)


def _saved_names(declared: Mapping[str, Field], kind: Any) -> tuple[str, ...]:
    """Under which names the columns are kept that a named tuple names by their attributes."""
    return tuple(declared[name].name if name in declared else name for name in kind._fields)


def arrays_of(rooms: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of all rooms, each named after its room."""
    return {f"{room}.{name}": array for room, state in rooms.items() for name, array in state.arrays().items()}


def headers_of(rooms: Mapping[str, Any]) -> dict[str, Any]:
    """The headers of all rooms; that of `a.b` lies under `b` in what lies under `a`."""
    found: dict[str, Any] = {}
    for room, state in rooms.items():
        *above, name = room.split(".")
        inner = found
        for each in above:
            inner = inner.setdefault(each, {})
        inner[name] = state.header()
    return found


def restore_rooms(rooms: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Give every room what was its own."""
    for room, state in rooms.items():
        found: Any = header
        for each in room.split("."):
            found = found[each]
        state.restore(arrays_in(arrays, f"{room}."), found)
