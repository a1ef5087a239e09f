"""Scratch memory of one thread: what matching writes to, so that the index itself is only read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Workspace:
    """Named scratch arrays that live as long as the thread that matches.

    `room` is how many hits a match call may collect beyond the most that one event can have; a call
    stops at the event's edge when it is used up.
    """

    def __init__(self, room: int = 2**22) -> None:
        self.room = room
        self.lends = False
        """Whether an engine may leave its hits where it wrote them, until its next call."""
        self._arrays: dict[str, NDArray[Any]] = {}
        self._versions: dict[str, object] = {}
        self._beside: dict[str, Workspace] = {}

    def beside(self, name: str) -> Workspace:
        """Memory for one of several engines that work for another, which is done with their hits before it returns."""
        found = self._beside.get(name)
        if found is None:
            found = self._beside[name] = Workspace(self.room)
            found.lends = True
        return found

    def array(self, name: str, size: int, dtype: DTypeLike, fill: Any = 0) -> NDArray[Any]:
        """An array of at least `size`; filled when it is made, afterwards as its user left it.

        With `fill=None` it begins with whatever the memory held, and pages never written to cost nothing.
        """
        found = self._arrays.get(name)
        if found is None or len(found) < size or found.dtype != dtype:
            room = max(size, 16 if found is None else len(found) + len(found) // 2)
            fresh = np.empty(room, dtype=dtype) if fill is None else np.full(room, fill, dtype=dtype)
            found = self._arrays[name] = fresh
        return found

    def kept(self, name: str, size: int, dtype: DTypeLike, fill: Any, version: object) -> NDArray[Any]:
        """An array of just `size`, as its user left it, and filled anew when `version` is another object now."""
        found = self._arrays.get(name)
        if found is None or len(found) != size or found.dtype != dtype:
            found = self._arrays[name] = np.full(size, fill, dtype=dtype)
        elif self._versions.get(name) is not version:
            found.fill(fill)
        self._versions[name] = version
        return found

    def copy(self, name: str, source: NDArray[Any], version: object) -> NDArray[Any]:
        """A copy of `source` to write to: the one handed out before, unless `version` is another object now.

        Whoever asks must leave the copy equal to the source again.
        """
        found = self._arrays.get(name)
        if found is None or self._versions.get(name) is not version:
            found = self._arrays[name] = source.copy()
            self._versions[name] = version
        return found
