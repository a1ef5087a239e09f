"""Kernel of `grouped`: the hits of both groups, one event behind the other."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel


@kernel
def join_hits(seldom: Any, seldom_offsets: Any, often: Any, often_offsets: Any, numbers: Any, output: Any) -> None:
    """Write the hits of every event that both have covered: those of the one group, and those of the other by the
    `numbers` that the store of all knows them by."""
    units, offsets, used = output.units, output.offsets, 0
    for event in range(min(len(seldom_offsets), len(often_offsets)) - 1):
        for at in range(seldom_offsets[event], seldom_offsets[event + 1]):
            units[used] = seldom[at]
            used += 1
        for at in range(often_offsets[event], often_offsets[event + 1]):
            units[used] = numbers[often[at]]
            used += 1
        offsets[event + 1] = used
