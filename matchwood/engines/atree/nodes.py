"""The nodes of an A-Tree in arrays that grow: what its kernels read and write.

SIGMOD 2021, 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, State, require
from matchwood.encoding import LEAF, PREDICATE, EncodedConjunctions
from matchwood.engines.atree._node_kernels import fill_table
from matchwood.engines.atree.constraints import constraints_of
from matchwood.engines.atree.layout import (
    CHILD_END,
    DEAD,
    EMPTY,
    FREE,
    ID_MASK,
    INTERVALS,
    KIND,
    KIND_BITS,
    KIND_MASK,
    LIVE,
    NODE_COUNT,
    PARENT_END,
    STAMP,
    STATE_SIZE,
    TOMBSTONES,
    WIDTH,
)
from matchwood.engines.atree.links import links_of

_SMALLEST_TABLE = 16

LINKS = ("seats", "entries")
"""Both ends of links, as `_link_kernels` describes: found anew when a tree that was opened is first changed."""


class SharedTree(NamedTuple):
    """The arrays as kernels write to them; `stamps` and `stack` are scratch of whoever changes the tree.

    `sketches` tell which nodes cannot be part of others, as `sketch_of` describes; they are not saved.
    """

    nodes: NDArray[np.int32]
    ids: NDArray[np.uint64]
    shares: NDArray[np.float32]
    rooms: NDArray[np.int32]
    children: NDArray[np.int32]
    parents: NDArray[np.int32]
    table: NDArray[np.int32]
    intervals: NDArray[np.int32]
    seats: NDArray[np.int32]
    entries: NDArray[np.int32]
    stamps: NDArray[np.int32]
    stack: NDArray[np.int32]
    sketches: NDArray[np.uint32]
    state: NDArray[np.int64]


class ReadTree(NamedTuple):
    """The arrays that matching reads."""

    nodes: NDArray[np.int32]
    children: NDArray[np.int32]
    parents: NDArray[np.int32]
    intervals: NDArray[np.int32]


class TreeNodes(State):
    """Arrays are longer than what is in use, as `state` tells; what is saved is cut to it.

    Eight integers a node as `layout` says; its id; the share of events it is expected to be true of; the room of its
    list of parents; the pools of lists; the table that finds nodes by what they say; low and high label in turn of
    leaves that have no interval or several. Their lengths are in `state`, and `check.py` holds one against the other.
    """

    nodes = Column(np.int32)
    ids = Column(np.uint64)
    shares = Column(np.float32)
    rooms = Column(np.int32)
    children = Column(np.int32)
    parents = Column(np.int32)
    table = Column(np.int32, initial=np.full(_SMALLEST_TABLE, EMPTY))
    intervals = Column(np.int32)
    seats = Column(np.int32, saved=False)
    entries = Column(np.int32, saved=False)

    def __init__(self, id_mask: int = -1) -> None:
        self._id_mask = id_mask
        self.start()

    def start(self) -> None:
        super().start()
        self._linked = True
        self.state = np.zeros(STATE_SIZE, np.int64)
        self.state[FREE], self.state[ID_MASK] = -1, self._id_mask
        self._stamps, self._stack, self._sketches = _scratch(0)
        self._tree: SharedTree | None = None

    # ------------------------------------------------------------------ reading

    @property
    def count(self) -> int:
        """Nodes numbered so far, dead ones included."""
        return int(self.state[NODE_COUNT])

    @property
    def live(self) -> int:
        return int(self.state[LIVE])

    def fields(self) -> NDArray[np.int32]:
        """The nodes as lines of a read-only matrix."""
        return self.columns["nodes"].view()[: WIDTH * self.count].reshape(-1, WIDTH)

    def kinds(self) -> NDArray[np.int32]:
        return self.fields()[:, KIND] & KIND_MASK

    def levels(self) -> NDArray[np.int32]:
        return self.fields()[:, KIND] >> KIND_BITS

    def leaves(self) -> NDArray[np.int32]:
        """The numbers of all leaves that are alive."""
        kinds = self.kinds()
        return np.flatnonzero((kinds == LEAF) | (kinds == PREDICATE)).astype(np.int32)

    def inner(self) -> NDArray[np.int32]:
        """The numbers of all other nodes that are alive."""
        kinds = self.kinds()
        return np.flatnonzero((kinds != DEAD) & (kinds != LEAF) & (kinds != PREDICATE)).astype(np.int32)

    def encoded(self, leaves: NDArray[np.int32]) -> EncodedConjunctions:
        """The constraints of leaves, also of dead ones, each a conjunction of its own."""
        return constraints_of(self, leaves)

    def reading(self) -> ReadTree:
        return self.view_as(ReadTree)

    def bytes_of(self, *names: str) -> int:
        """The bytes of these arrays, as they would be saved."""
        arrays = self.arrays()
        return sum(arrays[name].nbytes for name in names)

    @property
    def linked(self) -> bool:
        """Whether seats and entries are known."""
        return self._linked

    @property
    def bytes_links(self) -> int:
        """The bytes of seats and entries, known or not."""
        return 4 * int(self.state[CHILD_END] + self.state[PARENT_END])

    # ------------------------------------------------------------------ changes

    def reserve(self, nodes: int = 0, children: int = 0, parents: int = 0, intervals: int = 0) -> None:
        """Room for so many more nodes, and so many more places in each pool."""
        if self._tree is None or not self._fits(self._tree, nodes, children, parents, intervals):
            self._tree = None
            self._enlarge(nodes, children, parents, intervals)

    def _fits(self, tree: SharedTree, nodes: int, children: int, parents: int, intervals: int) -> bool:
        state = self.state.tolist()
        return (
            WIDTH * (state[NODE_COUNT] + nodes) <= len(tree.nodes)
            and state[NODE_COUNT] + nodes <= len(tree.ids)
            and state[CHILD_END] + children <= len(tree.children)
            and state[PARENT_END] + parents <= len(tree.parents)
            and 2 * (state[INTERVALS] + intervals) <= len(tree.intervals)
            and 2 * (state[LIVE] + state[TOMBSTONES] + nodes) <= len(tree.table)
        )

    def _enlarge(self, nodes: int, children: int, parents: int, intervals: int) -> None:
        state = self.state
        self._reach(("nodes",), WIDTH * (self.count + nodes))
        self._reach(("ids", "shares", "rooms"), self.count + nodes)
        self.find_links()
        self._reach(("children", "seats"), int(state[CHILD_END]) + children)
        self._reach(("parents", "entries"), int(state[PARENT_END]) + parents)
        self._reach(("intervals",), 2 * (int(state[INTERVALS]) + intervals))
        most = len(self.columns["ids"])
        if len(self._stamps) < most:
            known = self._sketches
            self._stamps, self._stack, self._sketches = _scratch(most + 1)
            self._sketches[: len(known)] = known
        if 2 * (self.live + int(state[TOMBSTONES]) + nodes) > len(self.columns["table"]):
            self.refill_table(self.live + nodes)

    def _reach(self, names: tuple[str, ...], least: int) -> None:
        for name in names:
            column = self.columns[name]
            if len(column) < least:
                column.resize((least + least // 4 + 16) // 2 * 2)

    def refill_table(self, expected: int = 0) -> None:
        """A table without tombstones: at most half full now, and a third when the expected nodes are there."""
        size, least = _SMALLEST_TABLE, max(2 * self.live, 3 * expected)
        while size < least:
            size *= 2
        table = Growable(np.int32)
        table.resize(size, EMPTY)
        self.put_columns({"table": table})
        self.state[TOMBSTONES] = 0
        fill_table(self.tree())

    def tree(self) -> SharedTree:
        """The arrays to write to; the same until there is no more room in one of them."""
        if self._tree is None:
            self.find_links()
            columns = [column.writable() for column in self.columns.values()]
            self._tree = SharedTree._make([*columns, self._stamps, self._stack, self._sketches, self.state])
        return self._tree

    def find_links(self) -> None:
        """Seats and entries of a tree that was opened, unless they are known; CorruptSnapshot if links are broken."""
        if not self._linked:
            found = links_of(self)
            self.put_columns({name: Growable(np.int32, array) for name, array in zip(LINKS, found, strict=True)})
            self._linked = True

    def put_columns(self, columns: Mapping[str, Growable]) -> None:
        """Put other arrays in the place of some."""
        for name, column in columns.items():
            setattr(self, self.column_attributes[name], column)
        self._tree = None

    def move_scratch(self, order: NDArray[np.int32]) -> None:
        """Begin stamping anew, after nodes got other numbers: the first is now what was order[0]."""
        self._stamps[:] = 0
        self.state[STAMP] = 0
        self._sketches[: len(order)] = self._sketches[order]

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        state, views = self.state, super().arrays()
        ends = {"children": int(state[CHILD_END]), "parents": int(state[PARENT_END])}
        ends |= {"nodes": WIDTH * self.count, "intervals": 2 * int(state[INTERVALS]), "table": len(views["table"])}
        return {name: view[: ends.get(name, self.count)] for name, view in views.items()}

    def header(self) -> dict[str, Any]:
        return {"state": self.state.tolist()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        super().restore(arrays, header)
        state: Any = header.get("state")
        whole = isinstance(state, list) and all(type(each) is int and -1 <= each < 2**62 for each in state)
        require(whole and len(state) == STATE_SIZE, f"'state' must be a list of {STATE_SIZE} numbers")
        self.state, self._linked = np.array(state, np.int64), False
        # Numbers that could be used again are not worth following through a file.
        self.state[FREE], self.state[ID_MASK] = -1, -1


def _scratch(nodes: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint32]]:
    """Stamps, stack and sketches for so many nodes."""
    return np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.uint32)
