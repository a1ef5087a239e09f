"""Parts of the events given to several threads, and what comes of them in the order of the parts.

Kernels run without the interpreter lock, so threads match side by side. Those who call hold whatever lock the work
needs: a thread takes none itself, so that calls may share the threads without waiting for each other in a circle.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from matchwood.core import begun_again, leads_others, within_this_turn
from matchwood.errors import InvalidArgument

MOST_THREADS = 1_024
AHEAD = 2
"""So many parts a thread are taken from their source before the first of them is done."""

Part = TypeVar("Part")
Done = TypeVar("Done")

_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()


def checked_threads(threads: Any) -> int:
    """How many threads are meant; None is one for each core that this process may use."""
    if threads is None:
        return min(usable_cores(), MOST_THREADS)
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or not 1 <= threads <= MOST_THREADS:
        wanted = f"an integer from 1 to {MOST_THREADS:,}, or None for one thread per core"
        raise InvalidArgument(f"threads must be {wanted} (got {threads!r:.80})")
    return int(threads)


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads are kept, and so is the scratch memory that they match in: its pages cost more than a batch."""
    with _making:
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="matchwood")
        return _pools[threads]


def _forget() -> None:
    """In a process that was forked there are no threads but the one that did."""
    global _making
    _pools.clear()
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def in_order(parts: Iterator[Part], work: Callable[[Part], Done], threads: int) -> Iterator[Done]:
    """The work on each part, done by so many threads; errors come where one thread would have met them.

    When this ends, for whatever reason, nobody works any more.
    """
    if threads == 1:
        yield from map(work, parts)
        return
    pool, source, begun = _pool(threads), _Source(parts), deque[Future[Done]]()
    helping = within_this_turn(work)
    try:
        if leads_others():
            yield from map(work, islice(source, 1))
        for part in source:
            begun.append(pool.submit(helping, part))
            if len(begun) >= AHEAD * threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
        source.raise_error()
    finally:
        for future in begun:
            future.cancel()
        wait(begun)


class _Source(Iterator[Part]):
    """Parts up to the end or to an error, which is kept for later: parts before it are answered first."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self._parts, self._error = parts, None

    _error: Exception | None

    def __next__(self) -> Part:
        try:
            return next(self._parts)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise StopIteration from None

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error


def in_turns(
    parts: Iterator[Part], work: Callable[[Part], list[Done]], threads: int, turn: Callable[[], Any]
) -> Iterator[Done]:
    """The same for parts that may take their time: a group of them is taken, then worked on in one `turn`."""
    source = _Source(parts)
    while group := list(islice(source, threads)):
        done, error = begun_again(functools.partial(_in_one_turn, group, work, threads, turn))
        yield from done
        if error is not None:
            raise error
    source.raise_error()


def _in_one_turn(
    group: list[Part], work: Callable[[Part], list[Done]], threads: int, turn: Callable[[], Any]
) -> tuple[list[Done], Exception | None]:
    """What was done of a group before the first error, and that."""
    done: list[Done] = []
    with turn():
        try:
            for found in in_order(iter(group), work, threads):
                done += found
        except Exception as raised:
            return done, raised
    return done, None
