"""Where a test runs: `make test` leaves out those marked `long`, `make test-long` runs those alone, `make soak` all.

What is long: what takes seconds and repeats in another way what a short test shows (more processes, sessions, seeds,
sizes). A test marked `long(2)` keeps two of its parameters in `make test`, spread over all of them and begun at
another place in each test; for a whole file, write `pytestmark = pytest.mark.long`. Products are thinned first
(`tests/thinning.py`), so that both commands together run each test that the two marks leave, exactly once.
"""

from __future__ import annotations

import enum
import os
import zlib
from collections.abc import Iterable, Mapping

import pytest

MARK = "long"
VARIABLE = "MATCHWOOD_LONG"


class Form(enum.Enum):
    """Which tests a run has."""

    SHORT = ""
    """All but those marked: every day."""
    LONG = "only"
    """Those marked and no others: before a change lands."""
    WHOLE = "also"
    """Both."""

    def has(self, long: bool) -> bool:
        return self is Form.WHOLE or long == (self is Form.LONG)


def asked(environment: Mapping[str, str] = os.environ) -> Form:
    """The form that the environment asks for; the soak has both.

    >>> asked({}), asked({"MATCHWOOD_LONG": "only"}), asked({"MATCHWOOD_SOAK": "1"})
    (<Form.SHORT: ''>, <Form.LONG: 'only'>, <Form.WHOLE: 'also'>)
    """
    if environment.get("MATCHWOOD_SOAK") == "1":
        return Form.WHOLE
    return Form(environment.get(VARIABLE, ""))


def leave_out(items: list[pytest.Item], form: Form) -> list[pytest.Item]:
    """Takes those out of the list that this form does not have, and returns them."""
    long = long_ones(items)
    spared = [item for item in items if not form.has(id(item) in long)]
    items[:] = [item for item in items if form.has(id(item) in long)]
    return spared


def long_ones(items: Iterable[pytest.Item]) -> set[int]:
    """The identities of those that are long."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker(MARK) is not None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    found: set[int] = set()
    for name, grid in tests.items():
        mark = grid[0].get_closest_marker(MARK)
        kept = spread(len(grid), *(mark.args if mark else ()), seed=name)
        found |= {id(item) for number, item in enumerate(grid) if number not in kept}
    return found


def spread(count: int, kept: int = 0, seed: str = "") -> set[int]:
    """`kept` numbers below `count`, as far from each other as they can be; which, the seed says.

    >>> sorted(spread(10, 2, "a test")), spread(10), len(spread(3, 5))
    ([3, 8], set(), 3)
    """
    first, kept = zlib.crc32(seed.encode()), min(kept, count)
    return {(first + place * count // kept) % count for place in range(kept)}
