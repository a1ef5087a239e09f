"""Arrays that are not here yet."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Later:
    """An array whose type and shape are known, and whose elements are fetched when somebody first looks at them.

    It answers what is asked of an array before it is used. Whatever else is done with it fetches it, or fails.

    >>> array = Later("i4", (3,), lambda: np.arange(3, dtype="i4"))
    >>> len(array), array.nbytes, np.asarray(array).tolist()
    (3, 12, [0, 1, 2])
    """

    flags = SimpleNamespace(c_contiguous=True, writeable=False)

    def __init__(self, dtype: DTypeLike, shape: tuple[int, ...], fetch: Callable[[], NDArray[Any]]) -> None:
        self.dtype, self.shape, self.fetch = np.dtype(dtype), shape, fetch

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.fetch(), dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> Any:
        return self.fetch()[key]
