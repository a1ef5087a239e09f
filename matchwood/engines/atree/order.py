"""A new order for the nodes of an A-Tree, in which what is read together lies together.

SIGMOD 2021, ours: the paper says nothing of memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.engines.atree.layout import (
    CHILD_END,
    CHILD_WASTE,
    FAN,
    FIRST,
    FLAG_BITS,
    FREE,
    INTERVALS,
    LIVE,
    NODE_COUNT,
    PARENT_END,
    PARENT_WASTE,
    PARENTS,
    ROOM,
    SEVERAL,
    SIZE,
    STALE_LEAVES,
    STAMP,
    TOP,
)
from matchwood.engines.atree.links import places_of
from matchwood.engines.atree.nodes import TreeNodes


def laid_out(nodes: TreeNodes) -> NDArray[np.int32]:
    """Give live nodes new numbers, pools without gaps and lists without spare room; returns old number to new, or -1.

    Leaves lie by attribute and label, like the postings that lead to them; other nodes by level and access child, since
    what one child tells is evaluated one after the other.
    """
    nodes.reserve()  # scratch for all nodes, which a tree that was just opened has not
    order = _order(nodes)
    moved = np.full(nodes.count, -1, np.int32)
    moved[order] = np.arange(len(order), dtype=np.int32)
    fields = nodes.fields()[order].copy()
    views = {name: column.view() for name, column in nodes.columns.items()}
    leaves = len(nodes.leaves())
    begins, at = places_of(fields[leaves:, FIRST], fields[leaves:, SIZE])
    above, on = places_of(fields[:, PARENTS], fields[:, FAN])
    fields[leaves:, FIRST], fields[:, PARENTS] = begins, above
    children, parents = moved[views["children"][at]], moved[views["parents"][on]]
    places = np.empty(len(views["children"]), np.int32)
    places[at] = np.arange(len(at))
    links = {"seats": views["seats"][at], "entries": places[views["entries"][on]]}
    fields[leaves:, ROOM] = fields[leaves:, SIZE]
    intervals = _copied_intervals(fields[:leaves], views["intervals"])
    fresh = {"nodes": fields.ravel(), "ids": views["ids"][order], "shares": views["shares"][order]}
    fresh |= {"rooms": fields[:, FAN].copy(), "children": children, "parents": parents, "intervals": intervals}
    fresh |= links
    nodes.put_columns({name: _own(array) for name, array in fresh.items()})
    counts = {NODE_COUNT: len(order), LIVE: len(order), CHILD_END: len(children), PARENT_END: len(parents)}
    counts |= {INTERVALS: len(intervals) // 2, TOP: int(nodes.levels().max(initial=0)), FREE: -1}
    counts |= dict.fromkeys((CHILD_WASTE, PARENT_WASTE, STALE_LEAVES, STAMP), 0)
    for place, value in counts.items():
        nodes.state[place] = value
    nodes.reserve()
    nodes.move_scratch(order)
    nodes.refill_table()
    return moved


def _own(array: NDArray[Any]) -> Growable:
    """An array that may be written to at once."""
    growable = Growable(array.dtype)
    growable.extend(array)
    return growable


def _order(nodes: TreeNodes) -> NDArray[np.int32]:
    """Live nodes in their new order."""
    fields, leaves, inner = nodes.fields(), nodes.leaves(), nodes.inner()
    codes, low = fields[leaves, ROOM], fields[leaves, FIRST]
    parts = [leaves[np.lexsort((low, codes >> FLAG_BITS))]]
    rank = np.zeros(nodes.count, np.int64)
    rank[parts[0]] = np.arange(len(leaves))
    levels = nodes.levels()[inner]
    inner = inner[np.argsort(levels, kind="stable")]
    access = nodes.columns["children"].view()[fields[inner, FIRST]]
    bounds = [*np.flatnonzero(np.diff(nodes.levels()[inner], prepend=-1)).tolist(), len(inner)]
    done = len(leaves)
    for start, stop in pairwise(bounds):
        parts.append(inner[start:stop][np.argsort(rank[access[start:stop]], kind="stable")])
        rank[parts[-1]] = np.arange(done, done + stop - start)
        done += stop - start
    return np.concatenate(parts)


def _copied_intervals(fields: NDArray[np.int32], pool: NDArray[np.int32]) -> NDArray[np.int32]:
    several = np.flatnonzero(fields[:, ROOM] & SEVERAL)
    counts = fields[several, SIZE] - fields[several, FIRST]
    begins, places = places_of(fields[several, FIRST], counts)
    fields[several, FIRST], fields[several, SIZE] = begins, begins + counts
    return pool.reshape(-1, 2)[places].ravel()
