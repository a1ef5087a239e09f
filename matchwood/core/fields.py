"""The pieces that a state is declared of: columns, numbers, and parts that are states themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from matchwood.core.arrays import Growable
from matchwood.core.checks import require, require_range, saved, saved_count
from matchwood.errors import CorruptSnapshot

if TYPE_CHECKING:
    from matchwood.core.state import State

Extent: TypeAlias = int | str
Value = TypeVar("Value", bound=float)
Inner = TypeVar("Inner", bound="State")


class Field:
    """One declared piece of a state. What it stands for is an attribute of the state, under the name of the field.

    So reading one costs no more than any attribute: a match call reads some thirty of them.
    """

    name = ""
    """What it is saved under."""
    attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute, self.name = name, self.name or name.lstrip("_")

    def held(self, state: State) -> Any:
        """What stands for it in a state."""
        return vars(state)[self.attribute]

    def put(self, state: State, held: Any) -> None:
        vars(state)[self.attribute] = held

    def start(self, state: State) -> None:
        """Begin as a new state does."""

    def arrays(self, state: State) -> dict[str, NDArray[Any]]:
        return {}

    def header(self, state: State) -> dict[str, Any]:
        return {}

    def restore(self, state: State, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over what was saved, as far as it is of the right kind."""

    def check(self, state: State) -> None:
        """Refuse what was restored if it is not as declared."""

    def nbytes(self, state: State) -> int:
        return 0

    def bytes_by_column(self, state: State) -> dict[str, int]:
        """The bytes in use of each column in it, saved or not, by the name that it is saved under."""
        return {}


class Column(Field):
    """An array of a state, one-dimensional and of one type.

    `initial`            what it holds to begin with; nothing if not given
    `length`, `longest`  how long it is, or at most is
    `low`, `below`       the least value, and the bound that all values are below; or in its place
    `most`               the greatest value
    `when`               the name of an attribute that tells whether it is saved; otherwise it begins anew
    `saved`              False if it never is: it then begins anew with zeros, as long as `length`
    """

    def __init__(
        self,
        dtype: DTypeLike,
        *,
        name: str = "",
        initial: ArrayLike | None = None,
        length: Extent | None = None,
        longest: Extent | None = None,
        low: int = 0,
        below: Extent | None = None,
        most: Extent | None = None,
        when: str = "",
        saved: bool = True,
    ) -> None:
        self.dtype, self.name, self._initial = np.dtype(dtype), name, initial
        self._length, self._longest = length, longest
        self._low, self._below, self._most = low, below, most
        self._when, self._saved = when, saved

    if TYPE_CHECKING:

        @overload
        def __get__(self, state: None, owner: type) -> Column: ...
        @overload
        def __get__(self, state: State, owner: type) -> Growable: ...
        def __get__(self, state: State | None, owner: type) -> Column | Growable: ...

        def __set__(self, state: State, column: Growable) -> None: ...

    def start(self, state: State) -> None:
        self.put(state, Growable(self.dtype, self._initial))

    def is_saved(self, state: State) -> bool:
        """Whether it is among the arrays of this state."""
        return self._saved and (not self._when or bool(getattr(state, self._when)))

    def arrays(self, state: State) -> dict[str, NDArray[Any]]:
        return {self.name: self.held(state).view()} if self.is_saved(state) else {}

    def restore(self, state: State, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        if self.is_saved(state):
            self.put(state, Growable(self.dtype, saved(arrays, self.name, self.dtype)))
        elif self._length is not None:
            self.held(state).resize(state.extent(self._length))

    def check(self, state: State) -> None:
        """Looks at the values only if they have a bound: those of others may not even be here."""
        column: Growable = self.held(state)
        if self._length is not None:
            wanted = state.extent(self._length)
            require(len(column) == wanted, f"{self.name!r} has {len(column)} elements in the place of {wanted}")
        if self._longest is not None:
            longest = state.extent(self._longest)
            require(len(column) <= longest, f"{self.name!r} has {len(column)} elements, more than {longest}")
        if self._below is not None:
            require_range(column.view(), self._low, state.extent(self._below), self.name)
        if self._most is not None:
            require_range(column.view(), self._low, state.extent(self._most) + 1, self.name)

    def nbytes(self, state: State) -> int:
        column: Growable = self.held(state)
        return column.nbytes

    def bytes_by_column(self, state: State) -> dict[str, int]:
        return {self.name: self.nbytes(state)}


class Counts(Column):
    """A column of counts: of one byte each as long as all fit, and of four from then on.

    What counts up stops before one that is MOST_COUNT already, and then goes on with them `widened`.
    """

    def __init__(self, *, name: str = "") -> None:
        super().__init__(np.uint8, name=name)

    def restore(self, state: State, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        found = arrays.get(self.name)
        kind = found.dtype if found is not None and found.dtype in MOST_COUNT else self.dtype
        self.put(state, Growable(kind, saved(arrays, self.name, kind)))


MOST_COUNT = {np.dtype(np.uint8): 2**8 - 1, np.dtype(np.int32): 2**31 - 1}
"""How far each kind of counts reaches."""


def widened(counts: Growable) -> Growable:
    """The same counts, of four bytes each."""
    return Growable.taking(counts.view().astype(np.int32))


class Table(Column):
    """An open-addressing hash table of int32: numbers below a bound, or `empty`; at most half of it is in use."""

    def __init__(self, smallest: int, below: Extent, *, low: int = -1, empty: int = -1, when: str = "") -> None:
        super().__init__(np.int32, initial=np.full(smallest, empty), low=low, below=below, when=when)
        self._smallest, self._empty = smallest, empty

    def check(self, state: State) -> None:
        table = self.held(state).view()
        size = len(table)
        require(size >= self._smallest and size & (size - 1) == 0, f"{self.name!r} has an odd size")
        super().check(state)
        require(2 * int(np.count_nonzero(table == self._empty)) >= size, f"{self.name!r} is overfull")


class Number(Field, Generic[Value]):
    """A number of the header, from `low` on and up to `high`; `initial` until it is set, whatever begins anew."""

    def __init__(self, initial: Value, low: Value | None = None, high: Value | None = None) -> None:
        self._initial: Value = initial
        self._low: Value | None = low
        self._high: Value | None = high

    @overload
    def __get__(self, state: None, owner: type) -> Number[Value]: ...
    @overload
    def __get__(self, state: State, owner: type) -> Value: ...
    def __get__(self, state: State | None, owner: type) -> Number[Value] | Value:
        return self if state is None else self._initial

    def header(self, state: State) -> dict[str, Any]:
        return {self.name: getattr(state, self.attribute)}

    def restore(self, state: State, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        value: Any = saved_count(header, self.name) if type(self._initial) is int else header.get(self.name)
        low, high = (value if bound is None else bound for bound in (self._low, self._high))
        if type(value) is not type(self._initial) or not low <= value <= high:
            raise CorruptSnapshot(f"the saved header holds {self.name!r} out of range (got {value!r})")
        self.put(state, value)


class Part(Field, Generic[Inner]):
    """A state inside a state; `make` is called with its owner, `given` are extents of the owner that it is checked by.

    `prefix` stands before the names of its arrays; with `when`, an attribute of the owner tells whether it is saved.
    """

    def __init__(self, make: Callable[[Any], Inner], *, prefix: str = "", when: str = "", **given: Extent) -> None:
        self._make, self._prefix, self._when, self._given = make, prefix, when, given

    if TYPE_CHECKING:

        @overload
        def __get__(self, state: None, owner: type) -> Part[Inner]: ...
        @overload
        def __get__(self, state: State, owner: type) -> Inner: ...
        def __get__(self, state: State | None, owner: type) -> Part[Inner] | Inner: ...

        def __set__(self, state: State, part: Inner) -> None: ...

    def start(self, state: State) -> None:
        self.put(state, self._make(state))

    def _is_saved(self, state: State) -> bool:
        return not self._when or bool(getattr(state, self._when))

    def arrays(self, state: State) -> dict[str, NDArray[Any]]:
        own = self.held(state).arrays() if self._is_saved(state) else {}
        return {f"{self._prefix}{name}": array for name, array in own.items()}

    def header(self, state: State) -> dict[str, Any]:
        part: State = self.held(state)
        return part.header() if self._is_saved(state) else {}

    def restore(self, state: State, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        if self._is_saved(state):
            self.held(state).restore(arrays_in(arrays, self._prefix), header)

    def check(self, state: State) -> None:
        part: State = self.held(state)
        part.given = {name: state.found(extent) for name, extent in self._given.items()}
        part.check()

    def nbytes(self, state: State) -> int:
        part: State = self.held(state)
        return part.nbytes

    def bytes_by_column(self, state: State) -> dict[str, int]:
        part: State = self.held(state)
        return {f"{self._prefix}{name}": count for name, count in part.bytes_by_column().items()}


class Room(Part[Inner]):
    """A part that has a name of its own in what is saved, for its arrays and its header: none of its names are in the
    way of its owner's, or of another room's."""

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self._prefix = f"{self.name}."

    def header(self, state: State) -> dict[str, Any]:
        return {self.name: super().header(state)}

    def restore(self, state: State, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        own = header.get(self.name)
        require(isinstance(own, Mapping), f"the saved header has nothing of {self.name!r}")
        super().restore(state, arrays, cast(Mapping[str, Any], own))


def arrays_in(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
