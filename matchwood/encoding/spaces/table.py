"""The spaces of all attributes that have any, made or restored when first asked for.

Saved, the arrays of all attributes of one family lie end to end, since a file for each of 30,000 attributes would
be slow to write and to open: `integers.labels` holds the labels of every such attribute, `integers.labels.ends` where
those of each end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces.base import Spaces, spaces_class
from matchwood.encoding.spaces.event_counters import CountedAside

FAMILIES = {"string": "strings", "number": "numbers", "double": "numbers"}
"""Kinds whose spaces have the same arrays; all others are integers."""


Check: TypeAlias = Callable[[Mapping[str, NDArray[Any]], Mapping[str, NDArray[np.int64]]], None]


_AS_THEY_ARE: Mapping[int, CountedAside] = {}


class _Saved:
    """The spaces of one family as saved, cut out when they are asked for."""

    def __init__(self, packed: Mapping[str, NDArray[Any]], family: str, check: Check) -> None:
        prefix, suffix = f"{family}.", ".ends"
        self.attributes = packed[f"{prefix}attributes"]
        own = [name for name in packed if name.startswith(prefix) and name.endswith(suffix)]
        names = [name[len(prefix) : -len(suffix)] for name in own]
        self._columns = {name: packed[prefix + name] for name in names}
        self._columns.setdefault("observed", np.empty(0, np.float32))
        self._starts = {name: np.concatenate(([0], packed[prefix + name + suffix])) for name in names}
        # Snapshots from before events were counted have none of these.
        self._starts.setdefault("observed", np.zeros(len(self.attributes) + 1, np.int64))
        for name, starts in self._starts.items():
            fits = len(starts) == len(self.attributes) + 1 and starts[-1] == len(self._columns[name])
            if not fits or (np.diff(starts) < 0).any():
                raise ValueError(f"saved spaces do not fit their array {prefix + name!r}")
        check(self._columns, self._starts)

    def at(self, place: int) -> _Part:
        """The arrays of one attribute."""
        return _Part(self, place)

    def part(self, name: str, place: int) -> NDArray[Any]:
        start, stop = self._starts[name][place : place + 2].tolist()
        return self._columns[name][start:stop]

    def names(self) -> Iterable[str]:
        return self._columns


class _Part(Mapping[str, NDArray[Any]]):
    """The arrays of one attribute, cut out when asked for: at 30,000 attributes even slicing takes a second."""

    __slots__ = ("_place", "_saved")

    def __init__(self, saved: _Saved, place: int) -> None:
        self._saved, self._place = saved, place

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._saved.part(name, self._place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._saved.names())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class SpaceTable:
    """Spaces by attribute number; `kind_of` tells the kind of a number."""

    def __init__(self, name: str, kind_of: Callable[[int], str]) -> None:
        self.name, self.kind_of = name, kind_of
        self._make = spaces_class(name)
        self._spaces: dict[int, Spaces] = {}
        self._saved: dict[str, _Saved] = {}
        self._places: NDArray[np.int32] = np.empty(0, np.int32)
        """For each attribute its place among those saved of its family; -1 where nothing was, or it is gone."""

    def _is_saved(self, number: int) -> bool:
        return number < len(self._places) and self._places.item(number) >= 0

    def get(self, number: int) -> Spaces | None:
        """The attribute's spaces, if it has any."""
        spaces = self._spaces.get(number)
        if spaces is None and self._is_saved(number):
            # Two threads may both restore; the first one's is the one that stays.
            spaces = self._spaces.setdefault(number, self._make(self.kind_of(number), self._saved_arrays(number)))
        return spaces

    def _saved_arrays(self, number: int) -> Mapping[str, NDArray[Any]]:
        return self._saved[_family(self.kind_of(number))].at(int(self._places[number]))

    def has_boundaries(self, number: int) -> bool:
        """Whether live predicates compare the attribute with anything."""
        spaces = self.get(number)
        return spaces is not None and len(spaces) > 0

    def made(self, number: int) -> Spaces:
        """The attribute's spaces, empty ones if it had none."""
        spaces = self.get(number)
        if spaces is None:
            spaces = self._spaces[number] = self._make(self.kind_of(number))
        return spaces

    def drop(self, number: int) -> None:
        """Forget the spaces of an attribute, before its kind changes."""
        self._spaces.pop(number, None)
        if self._is_saved(number):
            self._places[number] = -1

    def numbers(self) -> list[int]:
        """The attributes that have spaces."""
        return sorted({*self._spaces, *np.flatnonzero(self._places >= 0).tolist()})

    def __iter__(self) -> Iterator[tuple[int, Spaces]]:
        for number in self.numbers():
            spaces = self.get(number)
            assert spaces is not None
            yield number, spaces

    def renumber(self, numbers: NDArray[np.int32], kind_of: Callable[[int], str]) -> None:
        """Move to new attribute numbers, and kinds by these; what has none any more (-1) is gone."""
        self._spaces = {int(numbers[number]): spaces for number, spaces in self if numbers[number] >= 0}
        self._saved, self._places, self.kind_of = {}, np.empty(0, np.int32), kind_of

    def arrays(self, counted: Mapping[int, CountedAside] = _AS_THEY_ARE) -> dict[str, NDArray[Any]]:
        """All spaces, family by family; with the event counters of some as they were `counted` aside."""
        families: dict[str, list[tuple[int, Mapping[str, NDArray[Any]]]]] = {}
        for number in self.numbers():
            made = self._spaces.get(number)
            held = self._saved_arrays(number) if made is None else made.arrays(counted.get(number))
            if "residual" in held:  # as saved before there were decimals
                held = self.made(number).arrays(counted.get(number))
            families.setdefault(_family(self.kind_of(number)), []).append((number, held))
        packed: dict[str, NDArray[Any]] = {}
        for family, members in families.items():
            packed[f"{family}.attributes"] = np.array([number for number, _ in members], np.int32)
            for name in members[0][1]:
                parts = [arrays[name] for _, arrays in members]
                packed[f"{family}.{name}"] = np.concatenate(parts)
                packed[f"{family}.{name}.ends"] = np.cumsum([len(part) for part in parts])
        return packed

    def restore(self, packed: Mapping[str, NDArray[Any]], count: int) -> None:
        """Take over what `arrays` returned, for that many attributes; nothing is read yet."""
        self._places = np.full(count, -1, np.int32)
        for family in ("integers", "numbers", "strings"):
            if f"{family}.attributes" in packed:
                saved = self._saved[family] = _Saved(packed, family, self._make.check_saved)
                if len(saved.attributes) and not 0 <= saved.attributes.min() <= saved.attributes.max() < count:
                    raise ValueError("saved spaces belong to no attribute")
                if any(_family(self.kind_of(number)) != family for number in saved.attributes.tolist()):
                    raise ValueError("saved spaces are not of their attribute's kind")
                self._places[saved.attributes] = np.arange(len(saved.attributes))


def _family(kind: str) -> str:
    return FAMILIES.get(kind, "integers")
