"""Arrays that are fetched when somebody first looks at them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from matchwood.core import Growable, Later


def test_an_array_that_comes_later_is_fetched_once_by_whoever_needs_it() -> None:
    asked: list[int] = []

    def fetch() -> NDArray[Any]:
        asked.append(1)
        return np.arange(5, dtype=np.int32)

    column = Growable(np.int32, Later("i4", (5,), fetch))
    assert (len(column), column.nbytes, asked) == (5, 20, [])
    with ThreadPoolExecutor(4) as threads:
        views = list(threads.map(lambda _: column.view(), range(8)))
    assert all(view.tolist() == [0, 1, 2, 3, 4] for view in views)
    assert not views[0].flags.writeable
    assert asked == [1]
    column.append(7)
    assert (column.view().tolist(), column.nbytes, asked) == ([0, 1, 2, 3, 4, 7], 24, [1])


def test_an_array_that_comes_later_and_is_changed_first() -> None:
    for change in (
        lambda column: column.append(9),
        lambda column: column.extend([9]),
        lambda column: column.resize(4, 9),
    ):
        column = Growable(np.int32, Later("i4", (3,), lambda: np.arange(3, dtype=np.int32)))
        change(column)
        assert column.view().tolist() == [0, 1, 2, 9]
    with pytest.raises(AttributeError):
        _ = Growable(np.int32).nothing  # type: ignore[attr-defined]
