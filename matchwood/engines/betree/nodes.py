"""The arrays of a BE-Tree, which grow when a kernel asks for room (docs/protocols.md).

TODS 2013, 4.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State, Table, require
from matchwood.engines.betree._check_kernels import BROKEN, COUNTED, PROBLEMS, SAFE, audit_tree, check_tree
from matchwood.engines.betree._node_kernels import enter_all, new_cluster
from matchwood.engines.betree._place_kernels import recount
from matchwood.engines.betree._row_kernels import LEAF_START, forget_rows, lay_out, most_room, plan_rows
from matchwood.engines.betree.layout import (
    ALWAYS,
    CLUSTER,
    CLUSTERS,
    ENTRIES,
    FLAGS,
    FREE_CLUSTER,
    FREE_PARTITION,
    GONE,
    LEFT,
    NEED_CLUSTERS,
    NEED_PAIRS,
    NEED_PARTITIONS,
    NEXT,
    NONE,
    NOTE,
    OUTSIDE,
    PARTITION,
    PARTITIONS,
    PLACE,
    POOL,
    QUEUE,
    ROOT,
    STAMP,
    UNCLEAN,
    WASTE,
    WHOLE,
    BucketTree,
    CutScratch,
    LeafForm,
)
from matchwood.engines.betree.predicates import NumberedPredicates
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

_SMALLEST = 64
_STATE = 24


class NodeArrays(NamedTuple):
    """What matching reads."""

    clusters: NDArray[np.int32]
    partitions: NDArray[np.int32]
    keys: NDArray[np.uint64]
    values: NDArray[np.int32]
    pool: NDArray[np.int32]


class BucketNodes(State):
    """All nodes of one tree, the units in its leaves, and the rows that matching reads.

    What is not saved is made anew: rows from the rest, and the memory of changes, which is empty between them.
    """

    clusters = Column(np.int32)
    partitions = Column(np.int32)
    keys = Column(np.uint64, initial=np.zeros(_SMALLEST), length="values")
    values = Table(_SMALLEST, below="_most_nodes", low=NONE, empty=NONE)
    homes = Column(np.int32, longest="units", low=NONE, below="_clusters")
    after = Column(np.int32, length="homes", low=NONE, below="units")
    before = Column(np.int32, length="homes", low=NONE, below="units")
    _state = Column(np.int64, initial=np.zeros(_STATE), length=_STATE)
    random = Column(np.uint64, length=1)
    queue = Column(np.int32, saved=False)
    unclean = Column(np.int32, saved=False)
    marks = Column(np.int64, saved=False)
    feedback = Column(np.float64, saved=False)
    cluster_notes = Column(np.int64, saved=False)
    partition_notes = Column(np.int64, saved=False)
    due = Column(np.int64, saved=False)
    pool = Column(np.int32, saved=False)

    def __init__(self, capacity: int, seed: int, noting: bool) -> None:
        self._capacity, self._seed, self._noting = capacity, seed, noting
        self.start()

    def start(self) -> None:
        super().start()
        self.random.resize(1, self._seed)
        state = self.state
        state[FREE_CLUSTER] = state[FREE_PARTITION] = NONE
        self._reserve(2, 1)
        for _ in (ROOT, ALWAYS):
            new_cluster(self.tree(), NONE, NONE, 31, 0, WHOLE, self._capacity)

    @property
    def _clusters(self) -> int:
        return len(self.clusters) // CLUSTER

    @property
    def _partitions(self) -> int:
        return len(self.partitions) // PARTITION

    @property
    def _most_nodes(self) -> int:
        return max(self._clusters, self._partitions)

    @property
    def state(self) -> NDArray[np.int64]:
        return self._state.writable()

    def tree(self) -> BucketTree:
        """The arrays for kernels that change them."""
        columns = self.columns
        return BucketTree(*[columns[name].writable() for name in BucketTree._fields])

    def shape(self) -> NodeArrays:
        """The arrays for kernels that match."""
        return self.view_as(NodeArrays)

    # ------------------------------------------------------------------ room

    def fit(self, units: int, attributes: int) -> None:
        """Room for all units of a store and all attributes."""
        self.homes.resize(max(units, len(self.homes)), OUTSIDE)
        self.after.resize(len(self.homes), NONE)
        self.before.resize(len(self.homes), NONE)
        for name in ("marks", "feedback"):
            self.columns[name].resize(max(attributes, len(self.columns[name])))

    def supply(self, scratch: CutScratch) -> CutScratch:
        """Make the room that a kernel stopped for; returns the scratch memory, larger if that was too small."""
        state = self.state
        if state[NEED_CLUSTERS] or state[NEED_PARTITIONS]:
            self._reserve(int(state[NEED_CLUSTERS]), int(state[NEED_PARTITIONS]))
            state[NEED_CLUSTERS] = state[NEED_PARTITIONS] = 0
        if state[NEED_PAIRS]:
            scratch = new_scratch(len(scratch.gains), int(state[NEED_PAIRS]))
            state[NEED_PAIRS] = 0
        return scratch

    def _reserve(self, clusters: int, partitions: int) -> None:
        state = self.state
        for name, wide, used, more in (
            ("clusters", CLUSTER, int(state[CLUSTERS]), clusters),
            ("partitions", PARTITION, int(state[PARTITIONS]), partitions),
        ):
            rows = len(self.columns[name]) // wide
            if rows < used + more:
                self.columns[name].resize(wide * max(used + more, _SMALLEST // 4, rows + rows // 2))
        rows = len(self.clusters) // CLUSTER
        self.queue.resize(rows)
        self.unclean.resize(rows)
        if self._noting:
            partitions = len(self.partitions) // PARTITION
            self.cluster_notes.resize(NOTE * rows)
            self.partition_notes.resize(NOTE * partitions)
            self.due.resize(rows + partitions + 1)
        self._grow_table(int(state[ENTRIES]) + clusters + partitions)

    def _grow_table(self, entries: int) -> None:
        """A table is at most half full; one that is made anew a third."""
        size = len(self.keys)
        if 2 * entries <= size:
            return
        while size < 3 * entries:
            size *= 2
        keys, values = np.zeros(size, dtype=np.uint64), np.full(size, NONE, dtype=np.int32)
        enter_all(keys, values, self.keys.view(), self.values.view())
        self.keys, self.values = Growable(np.uint64, keys), Growable(np.int32, values)

    # ------------------------------------------------------------------ rows

    def lay_out(
        self,
        conjunctions: Conjunctions,
        known: NumberedPredicates,
        form: LeafForm,
        presence: NDArray[np.float32],
        anew: bool = False,
    ) -> None:
        """Write the rows of all leaves that changed; all of them, side by side, if asked to or half of the pool is
        lost."""
        state = self.state
        anew = anew or 2 * state[WASTE] > state[POOL] + 4096
        if anew:
            forget_rows(self.tree())
        if not state[UNCLEAN]:
            return
        if anew:
            pool = np.empty(LEAF_START * int(state[CLUSTERS]) + int(most_room(conjunctions, form)), np.int32)
        else:
            self.pool.resize(int(plan_rows(self.tree(), conjunctions, form, self.pool.view())))
            pool = self.pool.writable()
        lay_out(self.tree(), conjunctions, known, form, read_only(presence, np.float32), anew, pool)
        if anew:
            self.pool = Growable(np.int32, pool[: state[POOL]].copy())

    @property
    def bytes_rows(self) -> int:
        """What the rows of all leaves take, with the room that some have for more."""
        return 4 * int(self.state[POOL] - self.state[WASTE])

    @property
    def nbytes(self) -> int:
        """What is saved, and the rows."""
        return self.bytes_rows + sum(array.nbytes for array in self.arrays().values())

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is saved: neither unused room nor the rows, which are written anew from what is."""
        found, state = super().arrays(), self._state.view()
        found["clusters"] = found["clusters"][: CLUSTER * state[CLUSTERS]]
        found["partitions"] = found["partitions"][: PARTITION * state[PARTITIONS]]
        return found

    def invariants(self) -> None:
        """A restored tree leads nowhere outside, nor round in circles; makes what is not saved but the rows."""
        clusters, partitions = self._clusters, self._partitions
        whole = len(self.clusters) == CLUSTER * clusters and len(self.partitions) == PARTITION * partitions
        require(whole and clusters >= 2, "a node is cut off")
        self._check_state(clusters, partitions)
        self.fit(self.extent("units"), self.extent("attributes"))
        self._reserve(0, 0)
        self._check_shape(clusters, partitions, self.extent("attributes"))

    def _check_state(self, clusters: int, partitions: int) -> None:
        """What the arrays tell is not taken from the state; what was done how often may be anything."""
        state = self.state
        require(state[CLUSTERS] == clusters and state[PARTITIONS] == partitions, "nodes are miscounted")
        state[ENTRIES] = np.count_nonzero(self.values.view() != NONE)
        state[[QUEUE, UNCLEAN, STAMP, POOL, WASTE, NEED_CLUSTERS, NEED_PARTITIONS, NEED_PAIRS]] = 0

    def _check_shape(self, clusters: int, partitions: int, attributes: int) -> None:
        seen, seen_partitions = np.zeros(clusters, np.bool_), np.zeros(partitions, np.bool_)
        tree, stack = self.tree(), np.empty(clusters + 2, np.int32)
        problem = check_tree(tree, attributes, seen, seen_partitions, stack)
        require(problem == SAFE, PROBLEMS[problem])
        exact = np.count_nonzero(tree.clusters[FLAGS::CLUSTER][:clusters][seen] & 1)
        require(self.state[ENTRIES] == np.count_nonzero(seen_partitions) + exact, "the table holds what is gone")
        self._free(seen, seen_partitions)
        recount(self.tree())

    def _free(self, seen: NDArray[np.bool_], seen_partitions: NDArray[np.bool_]) -> None:
        """Link all nodes that nothing leads to, as free ones."""
        state, tree = self.state, self.tree()
        gone, idle = np.flatnonzero(~seen), np.flatnonzero(~seen_partitions)
        tree.clusters[CLUSTER * gone + FLAGS] = GONE
        tree.clusters[CLUSTER * gone + LEFT] = np.append(gone[1:], NONE)[: len(gone)]
        tree.partitions[PARTITION * idle + PLACE] = NONE
        tree.partitions[PARTITION * idle + NEXT] = np.append(idle[1:], NONE)[: len(idle)]
        state[FREE_CLUSTER] = gone[0] if len(gone) else NONE
        state[FREE_PARTITION] = idle[0] if len(idle) else NONE

    # ------------------------------------------------------------------ trust

    def audit(self, conjunctions: Conjunctions, attributes: int) -> list[str]:
        """Every broken invariant in words."""
        clusters, partitions = int(self.state[CLUSTERS]), int(self.state[PARTITIONS])
        seen, seen_partitions = np.zeros(clusters, np.bool_), np.zeros(partitions, np.bool_)
        stack = np.empty(clusters + 2, np.int32)
        problem = check_tree(self.tree(), attributes, seen, seen_partitions, stack)
        if problem != SAFE:
            return [PROBLEMS[problem]]
        counted = np.zeros((COUNTED, partitions), np.int64)
        self.marks.writable()[:] = 0
        self.state[STAMP] = 0
        cluster, broken = audit_tree(self.tree(), conjunctions, seen, seen_partitions, counted)
        self.marks.writable()[:] = 0
        return [f"c-node {cluster} {BROKEN[broken]}"] if broken else []


def new_scratch(attributes: int, pairs: int) -> CutScratch:
    """Scratch memory for a change."""
    room = max(pairs, 256)
    return CutScratch(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.zeros(attributes, np.int64),
        np.empty(attributes, np.float64),
        np.empty(attributes, np.float64),
        np.empty(attributes, np.int64),
        np.empty(attributes, np.int64),
        np.empty(attributes, np.int32),
    )
