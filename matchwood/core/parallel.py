"""Several requests at once, to a store for instance: each is mostly waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 16


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """What the function makes of each item, in their order; the first error is raised when all have ended."""
    every = list(items)
    if len(every) < 2:
        return [function(item) for item in every]
    with ThreadPoolExecutor(min(AT_ONCE, len(every)), "matchwood-requests") as pool:
        return list(pool.map(function, every))
