"""Sorting within kernels."""

from __future__ import annotations

import numpy as np
import pytest

import matchwood as mw
from matchwood.core._sorting_kernels import order_by

UNNAMED = np.empty(0, np.int32)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 33, 64, 500])
@pytest.mark.parametrize("different", [1, 3, 10**6])
def test_equal_keys_stay_as_they_stood(count: int, different: int) -> None:
    random = np.random.default_rng(count)
    keys = random.integers(0, different, count + 5).astype(np.float32)
    keys[count // 2] = np.inf
    order = np.full(count + 5, -1, np.int32)
    order_by(keys, UNNAMED, 3, 3 + count, order)
    assert order[3 : 3 + count].tolist() == np.argsort(keys[3 : 3 + count], kind="stable").tolist()
    assert (np.delete(order, np.arange(3, 3 + count)) == -1).all()


def test_keys_can_belong_to_names() -> None:
    keys, names, order = np.array([30, 10, 20], np.int32), np.array([9, 0, 1, 2, 1], np.int32), np.zeros(5, np.int32)
    order_by(keys, names, 1, 5, order)
    assert order[1:].tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize("engine", ["pstbloom", "psthash", "betree"])
def test_a_conjunction_of_very_many_constraints(engine: str) -> None:
    index, names = mw.Index(engine), [f"a{number}" for number in range(100)]
    index["all"] = " and ".join(f"{name} > {(37 * place) % 100}" for place, name in enumerate(names))
    assert index.insert_many([("bulk", " and ".join(f"{name} != 7" for name in reversed(names)))]).inserted == 1
    assert index.match(dict.fromkeys(names, 100)) == ["all", "bulk"]
    assert index.match(dict.fromkeys(names, 100) | {"a50": 50}) == ["bulk"]
    assert index.match(dict.fromkeys(names, 7)) == []
