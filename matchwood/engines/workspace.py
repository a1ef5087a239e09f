"""Scratch memory of one thread: what matching writes to, so that the index itself is only read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Workspace:
    """Named scratch arrays that live as long as the thread that matches."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, size: int, dtype: DTypeLike, fill: Any = 0) -> NDArray[Any]:
        """An array of at least `size`; filled when it is made, afterwards as its user left it."""
        found = self._arrays.get(name)
        if found is None or len(found) < size or found.dtype != dtype:
            room = max(size, 16 if found is None else len(found) + len(found) // 2)
            found = self._arrays[name] = np.full(room, fill, dtype=dtype)
        return found
