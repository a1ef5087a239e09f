"""The spaces of all attributes that have any, made or restored when first asked for.

Saved, the arrays of all attributes of one family lie end to end, since a file for each of 30,000 attributes would be
slow to write and to open: `integers.labels` holds the labels of every such attribute, `integers.labels.ends` where each one's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces import Spaces, spaces_class

FAMILIES = {"string": "strings", "number": "numbers", "double": "numbers"}
"""Kinds whose spaces have the same arrays; all others are integers."""


class SpaceTable:
    """Spaces by attribute number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._make = spaces_class(name)
        self._spaces: dict[int, Spaces] = {}
        self._saved: dict[int, tuple[str, dict[str, NDArray[Any]]]] = {}

    def get(self, number: int) -> Spaces | None:
        """The attribute's spaces, if it has any."""
        spaces = self._spaces.get(number)
        if spaces is None and number in self._saved:
            # Two threads may both restore; the first one's is the one that stays.
            kind, arrays = self._saved[number]
            spaces = self._spaces.setdefault(number, self._make(kind, arrays))
        return spaces

    def made(self, number: int, kind: str) -> Spaces:
        """The attribute's spaces, empty ones if it had none."""
        spaces = self.get(number)
        if spaces is None:
            spaces = self._spaces[number] = self._make(kind)
        return spaces

    def drop(self, number: int) -> None:
        """Forget the spaces of an attribute."""
        self._spaces.pop(number, None)
        self._saved.pop(number, None)

    def numbers(self) -> list[int]:
        """The attributes that have spaces."""
        return sorted({*self._spaces, *self._saved})

    def __iter__(self) -> Iterator[tuple[int, Spaces]]:
        for number in self.numbers():
            spaces = self.get(number)
            assert spaces is not None
            yield number, spaces

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Move to new attribute numbers; what has none any more (-1) is gone."""
        self._spaces = {int(numbers[number]): spaces for number, spaces in self._spaces.items() if numbers[number] >= 0}
        self._saved = {int(numbers[number]): saved for number, saved in self._saved.items() if numbers[number] >= 0}

    def arrays(self, kind_of: Any) -> dict[str, NDArray[Any]]:
        """All spaces, family by family; `kind_of(number)` tells an attribute's kind."""
        families: dict[str, list[tuple[int, dict[str, NDArray[Any]]]]] = {}
        for number in self.numbers():
            family = FAMILIES.get(kind_of(number), "integers")
            made = self._spaces.get(number)
            families.setdefault(family, []).append((number, made.arrays() if made is not None else self._saved[number][1]))
        packed: dict[str, NDArray[Any]] = {}
        for family, members in families.items():
            packed[f"{family}.attributes"] = np.array([number for number, _ in members], np.int32)
            for name in members[0][1]:
                parts = [arrays[name] for _, arrays in members]
                packed[f"{family}.{name}"] = np.concatenate(parts)
                packed[f"{family}.{name}.ends"] = np.cumsum([len(part) for part in parts])
        return packed

    def restore(self, packed: Mapping[str, NDArray[Any]], kind_of: Any) -> None:
        """Take over what `arrays` returned; nothing is read yet."""
        for family in ("integers", "numbers", "strings"):
            attributes = packed.get(f"{family}.attributes")
            if attributes is None:
                continue
            prefix = f"{family}."
            names = [name[len(prefix) : -5] for name in packed if name.startswith(prefix) and name.endswith(".ends")]
            columns = {name: _slices(packed[prefix + name], packed[f"{prefix}{name}.ends"], len(attributes)) for name in names}
            for place, number in enumerate(attributes.tolist()):
                self._saved[number] = kind_of(number), {name: parts[place] for name, parts in columns.items()}


def _slices(array: NDArray[Any], ends: NDArray[np.int64], count: int) -> list[NDArray[Any]]:
    """An array cut into parts; ValueError if the parts do not fit it."""
    starts = np.concatenate(([0], ends))
    if len(ends) != count or starts[-1] != len(array) or (np.diff(starts) < 0).any():
        raise ValueError("saved spaces do not fit their arrays")
    bounds = starts.tolist()
    return [array[start:stop] for start, stop in zip(bounds, bounds[1:], strict=False)]
