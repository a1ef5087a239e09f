"""The seats and entries of an A-Tree's links, found from both of their ends.

SIGMOD 2021, 4.1: parents and children; the seats are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.core import require
from matchwood.engines.atree._link_kernels import SeatScratch, find_seats
from matchwood.engines.atree.layout import FAN, FIRST, PARENTS, SIZE
from matchwood.engines.shared.views import read_only

if TYPE_CHECKING:
    from matchwood.engines.atree.nodes import TreeNodes

Positions = NDArray[np.int64]


def places_of(starts: NDArray[np.int32], counts: NDArray[np.int32]) -> tuple[Positions, Positions]:
    """Where lists begin when they lie one after the other, and where each of their members lies now."""
    begins = np.cumsum(counts, dtype=np.int64) - counts
    total = int(counts.sum(dtype=np.int64))
    return begins, np.arange(total) + np.repeat(starts - begins, counts)


def links_of(nodes: TreeNodes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The seat of every entry and the entry of every seat; CorruptSnapshot if one end does not know the other."""
    views = {name: nodes.columns[name].view() for name in ("nodes", "children", "parents")}
    inner, fans = nodes.inner(), np.zeros(nodes.count, np.int64)
    live = np.concatenate([nodes.leaves(), inner]).astype(np.int32)
    fans[live] = nodes.fields()[live, FAN]
    edges, count = int(fans.sum()), nodes.count
    seats, entries = np.zeros(len(views["children"]), np.int32), np.full(len(views["parents"]), -1, np.int32)
    scratch = SeatScratch(
        read_only(np.cumsum(fans) - fans, np.int64), np.zeros(count, np.int32), np.empty(edges, np.int32),
        np.empty(edges, np.int32), np.full(count, -1, np.int32), np.empty(count, np.int32),
    )  # fmt: skip
    inner, live = read_only(inner, np.int32), read_only(live, np.int32)
    sound = find_seats(views["nodes"], views["children"], views["parents"], inner, live, scratch, seats, entries)
    require(sound, "parents and children do not name the same links")
    return seats, entries


def audit_links(nodes: TreeNodes) -> list[str]:
    """Whether seats and entries, where they are known, lead from one end of every link to the other."""
    seats, entries = (nodes.columns[name].view() for name in ("seats", "entries"))
    fields, inner = nodes.fields(), nodes.inner()
    children, parents = (nodes.columns[name].view() for name in ("children", "parents"))
    _, places = places_of(fields[inner, FIRST], fields[inner, SIZE])
    if not nodes.linked or not len(places):
        return []
    below = children[places]
    inside = (seats[places] >= 0) & (seats[places] < fields[below, FAN])
    there = np.where(inside, fields[below, PARENTS] + seats[places], 0)
    same = inside & (entries[there] == places) & (parents[there] == np.repeat(inner, fields[inner, SIZE]))
    wrong = np.flatnonzero(~same)
    return [f"the link to node {below[wrong[0]]} does not know its other end ({len(wrong)} such)"] if len(wrong) else []
