"""How a BE-Tree lies in flat arrays (TODS 2013, section 4).

A *c-node* is a bucket of one attribute's label space with the rules assigned to it: those in its leaf, a linked list of
units, and those below its *p-nodes*, one for each attribute by which the bucket is partitioned further. A p-node leads
to the buckets of its attribute: in a hash table those that one predicate fills exactly, and from TOP on a binary tree
of halves. The l-node of the paper is the leaf of a c-node, and part of it.

The discrete space is that of the labels, 0 to 2**31, and a bucket is a dyadic block of it
(`encoding/spaces/dyadic.py`): halving at the midpoint, the halves sharing no bound, makes these and no others. An
equality is nearly always one block itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CLUSTER = 16
"""Integers a c-node: one cache line."""

(
    OWNER,  # its p-node; NONE for the root and for Z
    UP,  # the bucket whose half it is; of a bucket in the hash table, the one before it in the p-node's chain
    LEVEL,  # of its block
    NUMBER,  # of its block among those of the level
    FLAGS,
    LEFT,  # the buckets of its halves, NONE if nothing lies in one; in the hash table RIGHT is the next of the chain
    RIGHT,
    HEAD,  # the first unit of its leaf
    UNIT_COUNT,  # units in its leaf
    CAPACITY,  # how many it may have before the bucket is cut
    LOW,  # the smallest interval that encloses the predicates of its rules, as far as known
    HIGH,
    START,  # where the rows of its leaf lie in the pool
    ROOM,  # for how many integers
    FIRST,  # its first p-node
    MASK,  # a bit for the attribute of each p-node, modulo 32
) = range(CLUSTER)

PARTITION = 10
(
    PLACE,  # the c-node that it partitions
    ATTRIBUTE,
    LEVELS,  # a bit for every level that has a block in the hash table
    TOP,  # the bucket of the whole domain
    CHAIN,  # the first of its buckets in the hash table
    RULES,  # units below it
    SUBSUMED,  # predicates of these, on the whole way from the root to their leaves, that are exactly a bucket
    NEXT,  # p-node of the same c-node
    PREVIOUS,
    COVERED,  # the other predicates on the ways to their leaves: a bucket encloses them (13)
) = range(PARTITION)

NOTE = 7
(
    SEEN,  # events that reached the node in its present window
    CHANGED,  # units that came or went below it in that window
    SPENT,  # predicate evaluations at or below it, in that window, of candidates that were false
    LEAF_SPENT,  # of a c-node: those in its own leaf
    LOSS,  # a reaching event, in its last window (11)
    OTHERS,  # of a c-node: the loss of its leaf, the paper's l-node; of a p-node: the losses of all nodes below it
    WAITING,  # whether its window is over, so that it is to be ranked at the next change
) = range(NOTE)
"""What matching told of a node; it begins with the node and dies with it."""

LOSS_UNIT = 2.0**-16
"""Losses are whole numbers of this: sums of them are exact, whatever comes and goes."""

EXACT, SPLIT, WHOLE, QUEUED, DIRTY, GONE, REWRITE, OFFERED = 1, 2, 4, 8, 16, 32, 64, 128
"""Flags: in the hash table; cut in halves; never to be cut; waits to be settled; its rows are out of date; free; its
rows hold units that are gone, or have no room for those that came; some of its units were reinserted for the cut that
it waits for."""

NONE, OUTSIDE = -1, -1
ROOT, ALWAYS = 0, 1
"""The c-nodes that always exist: the root, and Z for the units without a predicate that NULL fails."""

CLUSTERS, FREE_CLUSTER, PARTITIONS, FREE_PARTITION, ENTRIES, QUEUE, UNCLEAN, STAMP, POOL, WASTE = range(10)
NEED_CLUSTERS, NEED_PARTITIONS, NEED_PAIRS = range(10, 13)
SPLITS, CUTS, MERGES, DISSOLVED, EXTENDED, RECYCLED, REINSERTED, EXPLORED = range(13, 21)
RECYCLED_LEAVES, RECYCLED_BUCKETS = 21, 22
"""The numbers in `state`: nodes in use and the first free ones, entries of the table, c-nodes that wait, c-nodes with
rows out of date, the last mark; integers of the pool in use and lost; what a kernel stopped for; what was done how
often."""

GENERIC, SPECIALISED, HYBRID = range(3)
DIRECTORIES = ("generic", "specialised", "hybrid")


class BucketTree(NamedTuple):
    """All that changes.

    `clusters`, `partitions`  the nodes, as above
    `keys`, `values`  the hash table: (c-node, attribute) to p-node, (p-node, block) to c-node
    `homes`           the c-node of each unit, OUTSIDE if it is not indexed
    `after`, `before` the neighbours of a unit in its leaf
    `state`           numbers, as above
    `queue`, `unclean`  c-nodes to be settled, and those whose rows are out of date
    `marks`           by attribute: STAMP if it is used on the present path
    `random`          the state of the generator
    `feedback`        by attribute: what its p-nodes lost, a rule and event
    `cluster_notes`, `partition_notes`  what matching told of each node, as above; empty if nobody wants to know
    `due`             nodes that wait to be ranked: how many, and then c-nodes, and p-nodes as -1 - number
    """

    clusters: NDArray[np.int32]
    partitions: NDArray[np.int32]
    keys: NDArray[np.uint64]
    values: NDArray[np.int32]
    homes: NDArray[np.int32]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    state: NDArray[np.int64]
    queue: NDArray[np.int32]
    unclean: NDArray[np.int32]
    marks: NDArray[np.int64]
    random: NDArray[np.uint64]
    feedback: NDArray[np.float64]
    cluster_notes: NDArray[np.int64]
    partition_notes: NDArray[np.int64]
    due: NDArray[np.int64]


class TreeSettings(NamedTuple):
    """The options, as kernels take them; the paper's symbols are in the documentation of the engine."""

    max_cap: int
    min_size: int
    directory: int
    equality_first: bool
    alpha: float
    beta: float
    histogram: bool
    exploit: float
    reinsertion: float


class LeafForm(NamedTuple):
    """How leaves are laid out and evaluated; `kind` is a number of EVALUATIONS, `noting` keeps account of what false
    candidates cost."""

    kind: int
    blocks: bool
    bloom_bits: int
    noting: bool


class DescentScratch(NamedTuple):
    """What matching writes to, for one thread.

    `labels`   by attribute: the event's label, NULL_LABEL between two events
    `reached`  the c-nodes that the event reaches
    `result`   the bitmap's result; that of an event without attributes between two events
    `passed`, `failed`, `done`  lazy evaluation of one event: bits of predicates that passed and that failed, and the
               places where some were set
    `passing`  candidates that passed their first test: their residuals, or units
    `tally`    numbers, as `_leaf_kernels` names them
    """

    labels: NDArray[np.int32]
    reached: NDArray[np.int32]
    result: NDArray[np.uint64]
    passed: NDArray[np.uint64]
    failed: NDArray[np.uint64]
    done: NDArray[np.int32]
    passing: NDArray[np.int32]
    tally: NDArray[np.int64]


class Noted(NamedTuple):
    """What one match call tells of the nodes that its events reached; all 0 between calls, and empty if nobody asks.

    `leaves`      by c-node, three numbers: events that reached it, and the evaluations for its false candidates; hits
    `partitions`  by p-node: events that reached it
    `reached`     the c-nodes with numbers, and the p-nodes, as -1 - number, in the order of first visits
    `homes`       the c-node of each unit
    """

    leaves: NDArray[np.int64]
    partitions: NDArray[np.int64]
    reached: NDArray[np.int32]
    homes: NDArray[np.int32]


class CutScratch(NamedTuple):
    """Memory of one change: the rules of a leaf, and their attributes by attribute.

    `members`    units, as -1 - unit if only its equalities count
    `pairs`      positions among `members`, those of an attribute together
    `gains`      by attribute: how many rules it would take; 0 throughout between calls
    `weights`, `losses`  by attribute: the gain with equalities and other predicates weighed, and the histogram's loss
    `starts`, `ends`  by attribute: where its pairs lie
    `touched`    the attributes with gains
    """

    members: NDArray[np.int32]
    pairs: NDArray[np.int32]
    gains: NDArray[np.int64]
    weights: NDArray[np.float64]
    losses: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    touched: NDArray[np.int32]
