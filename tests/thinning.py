"""The short form of a test that has a product of parameters: a part of it that has each value, or each two together.

A test marked `few` runs with so few of its parameters that each value of each comes at least once; one marked
`few(2)`, so that each two values of two parameters come together, and one marked `few(0)`, where each run takes
seconds, with one of all. For a whole file, write `pytestmark = pytest.mark.few`. With MATCHWOOD_SOAK=1 all run with
all. Which values are taken differs from test to test: an engine that is left out with an option here has it there.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pytest

MARK = "few"


def covering(rows: Sequence[Mapping[str, Hashable]], strength: int, seed: str = "") -> list[int]:
    """The numbers of a few rows that have all combinations of `strength` columns that the rows have.

    >>> product = [{"engine": engine, "way": way} for engine in "abc" for way in (1, 2)]
    >>> [tuple(product[number].values()) for number in covering(product, 1)]
    [('a', 1), ('b', 2), ('c', 1)]
    >>> len(covering(product, 2)), len(covering(product, 0))
    (6, 1)
    """
    turn = zlib.crc32(seed.encode()) % len(rows) if rows and seed else 0
    order = [*range(turn, len(rows)), *range(turn)]
    having = {number: _combinations(rows[number], strength) for number in order}
    missing = set().union(*having.values())
    chosen = []
    while missing:
        best = max(order, key=lambda number: len(having[number] & missing))  # the first of several
        chosen.append(best)
        missing -= having[best]
    return sorted(chosen)


def _combinations(row: Mapping[str, Hashable], strength: int) -> set[Any]:
    return set(itertools.combinations(sorted(row.items()), min(strength, len(row))))


def thin(items: list[pytest.Item]) -> list[pytest.Item]:
    """Takes those out of the list that the short form does without, and returns them."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker(MARK) is not None and hasattr(item, "callspec"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    spared: list[pytest.Item] = []
    for name, grid in tests.items():
        mark = grid[0].get_closest_marker(MARK)
        rows = [_values(item) for item in grid]
        chosen = set(covering(rows, *(mark.args if mark and mark.args else (1,)), seed=name))
        spared += [item for number, item in enumerate(grid) if number not in chosen]
    gone = set(map(id, spared))
    items[:] = [item for item in items if id(item) not in gone]
    return spared


def _values(item: pytest.Item) -> dict[str, Hashable]:
    """Each parameter and which object it is: equal ones need not be hashable."""
    return {name: id(value) for name, value in item.callspec.params.items()}  # type: ignore[attr-defined]
