"""How unions lie in memory, and what matching writes to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class UnionArrays(NamedTuple):
    """The arrays that kernels read. A *row* is a bit for each unit, in whole words.

    The labels of an attribute are cut into *cells*, runs of spaces, at its `edges`. The row of a cell tells the units
    that fail everywhere in it; those that fail in a part of it are its entries. Behind the rows of all cells is a tree
    over the attributes: its leaves tell the units that fail without the attribute, and each node what one of its two
    does, so that a run of missing attributes takes few rows. Nodes are numbered as in a heap, from 1 on.

    `attributes`   those that have cells, increasing
    `firsts`       the row of the first cell of each, and then that of the tree
    `edge_firsts`  where the edges of each begin, and where those of the last end
    `edges`        of each attribute, the labels that cells begin with but for the first, increasing
    `bits`         all rows
    `fails`        of each row, how many units it tells
    `entry_starts`  where the entries of each row begin, and where those of the last end
    `entries`      three integers each: the unit, and the interval of labels where it fails
    `base`         a row: the units that are told by the others, and live
    `loose`        a row: units that also constrain attributes without cells
    `fresh`        units that came later, and live
    """

    attributes: NDArray[np.int32]
    firsts: NDArray[np.int64]
    edge_firsts: NDArray[np.int64]
    edges: NDArray[np.int32]
    bits: NDArray[np.uint64]
    fails: NDArray[np.int32]
    entry_starts: NDArray[np.int64]
    entries: NDArray[np.int32]
    base: NDArray[np.uint64]
    loose: NDArray[np.uint64]
    fresh: NDArray[np.int32]


class UnionSize(NamedTuple):
    """What unions hold, or would.

    `ready`       whether there are any
    `always`      whether they are used for every event, whatever the other way costs
    `words`       of a row
    `units`       that the rows tell, of which
    `loose`       must be verified in any case
    `attributes`  that have cells
    `entries`     of a cell, on average
    `limit`       nanoseconds that could be saved, after which a call returns early to have them built
    """

    ready: bool
    always: bool
    words: int
    units: int
    loose: int
    attributes: int
    entries: float
    limit: float


class UnionScratch(NamedTuple):
    """What matching by unions writes to.

    `rows`, `labels`  the rows of an event, those that exclude most first, and the label that each is of
    `left`            a bit for each unit: the candidates
    `missed`          nanoseconds that unions would have saved, had there been any, or newer ones
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int32]
    left: NDArray[np.uint64]
    missed: NDArray[np.float64]
