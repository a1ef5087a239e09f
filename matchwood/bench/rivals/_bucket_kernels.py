"""Lists of rules in one pool, as all rivals keep them: a full list moves to the end, with twice the room."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel

SMALLEST = 4


@kernel
def room_wanted(lists: Any, bucket: Any) -> Any:
    """How many places of the pool one more entry takes."""
    return max(SMALLEST, 2 * lists.capacities[bucket]) if lists.counts[bucket] == lists.capacities[bucket] else 0


@kernel
def append(lists: Any, bucket: Any, entry: int) -> None:
    """Put an entry into a bucket; the pool has the room."""
    starts, counts, capacities, pool = lists.starts, lists.counts, lists.capacities, lists.pool
    count = counts[bucket]
    if count == capacities[bucket]:
        start, used = starts[bucket], lists.used[0]
        for step in range(count):
            pool[used + step] = pool[start + step]
        starts[bucket], capacities[bucket] = used, max(SMALLEST, 2 * count)
        lists.used[0] = used + capacities[bucket]
    pool[starts[bucket] + count] = entry
    counts[bucket] = count + 1


@kernel
def take_out(lists: Any, bucket: Any, entry: int) -> Any:
    """Find an entry in its bucket and put the last one in its place; returns how many were looked at."""
    start, count, pool = lists.starts[bucket], lists.counts[bucket], lists.pool
    for step in range(count):
        if pool[start + step] == entry:
            pool[start + step] = pool[start + count - 1]
            lists.counts[bucket] = count - 1
            return step + 1
    return count
