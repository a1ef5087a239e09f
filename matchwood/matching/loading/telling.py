"""Telling how far a load of rules is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sized
from typing import Any, TypeAlias

from matchwood.errors import InvalidArgument
from matchwood.progress import LoadProgress, Progress

Tell: TypeAlias = Callable[[int, int], None]
"""Is told how many rules were read and rejected so far."""


def rule_count(rules: Any) -> int | None:
    """How many rules a source has, if it says so."""
    count = getattr(rules, "num_rows", None)
    if isinstance(count, int):
        return count
    return len(rules) if isinstance(rules, Sized) else None


@contextlib.contextmanager
def telling(progress: Any, total: int | None) -> Iterator[Tell]:
    """What the argument `progress` asks for: a function that is told, a line on standard error, or nothing."""
    started = time.monotonic()
    if progress is True:
        with Progress("inserting", "rules", total) as line:
            yield lambda read, rejected: line.follow(LoadProgress(read, rejected, total, line.seconds))
    elif progress is False or progress is None:
        yield lambda read, rejected: None
    elif callable(progress):
        yield lambda read, rejected: progress(LoadProgress(read, rejected, total, time.monotonic() - started))
    else:
        raise InvalidArgument(f"progress must be True, False or a function (got {progress!r:.80})")
