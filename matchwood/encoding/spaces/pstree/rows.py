"""The arrays of a PS-Tree, which grow as boundaries come; `_lookup_kernels.py` describes their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces.pstree._change_kernels import LEAVES, LIVE, NODES, POOL, STATE_SIZE, WASTE
from matchwood.encoding.spaces.pstree._lookup_kernels import LEAF_WIDTH, NODE_WIDTH

_LEAST_WASTE = 1_024
"""Rows, or bytes of keys, that may be unused before it is worth building the tree anew."""


class TreeReading(NamedTuple):
    """What look-ups take, read-only."""

    nodes: NDArray[np.int32]
    node_words: NDArray[np.uint64]
    leaves: NDArray[np.int32]
    leaf_words: NDArray[np.uint64]
    pool: NDArray[np.uint8]


class Writing(NamedTuple):
    """What changes take."""

    nodes: NDArray[np.int32]
    node_words: NDArray[np.uint64]
    leaves: NDArray[np.int32]
    leaf_words: NDArray[np.uint64]
    pool: NDArray[np.uint8]
    state: NDArray[np.int64]


class NodeRows:
    """Rows of 32-bit numbers, the same memory also seen as 64-bit words."""

    def __init__(self, width: int, room: int) -> None:
        self._width = width
        self._grow(np.zeros((room, width), np.int32))

    def _grow(self, rows: NDArray[np.int32]) -> None:
        self.rows, self.words = rows, rows.view(np.uint64)

    def reserve(self, count: int) -> bool:
        """Make room for so many rows; tells whether they moved."""
        if count <= len(self.rows):
            return False
        grown = np.zeros((max(count, 2 * len(self.rows)), self._width), np.int32)
        grown[: len(self.rows)] = self.rows
        self._grow(grown)
        return True


class TreeRows:
    """Nodes, leaves, the pool of what keys have after their first eight bytes, and the state of all that."""

    def __init__(self, boundaries: int = 0, rest: int = 0) -> None:
        self._nodes, self._leaves = NodeRows(NODE_WIDTH, boundaries + 4), NodeRows(LEAF_WIDTH, boundaries + 4)
        self._pool = np.zeros(rest, np.uint8)
        self.state = np.zeros(STATE_SIZE, np.int64)
        self.state[NODES] = self.state[LEAVES] = 1
        self._refresh()

    def _refresh(self) -> None:
        nodes, leaves, pool = self._nodes, self._leaves, self._pool
        self.writing = Writing(nodes.rows, nodes.words, leaves.rows, leaves.words, pool, self.state)
        self.reading = TreeReading(*(_read_only(array) for array in self.writing[:5]))

    def reserve(self, keys: int, rest: int) -> None:
        """Make room for so many more boundaries, whose keys have so many bytes after their first eight."""
        moved = self._nodes.reserve(self.state.item(NODES) + keys)
        moved |= self._leaves.reserve(self.state.item(LEAVES) + keys)
        if self.state.item(POOL) + rest > len(self._pool):
            grown = np.zeros(max(self.state.item(POOL) + rest, 2 * len(self._pool)), np.uint8)
            grown[: len(self._pool)] = self._pool
            self._pool, moved = grown, True
        if moved:
            self._refresh()

    @property
    def leaves(self) -> NDArray[np.int32]:
        """The leaves in use; boundaries' leaves begin at 1."""
        return self._leaves.rows[: self.state.item(LEAVES)]

    @property
    def leaf_words(self) -> NDArray[np.uint64]:
        return self._leaves.words[: self.state.item(LEAVES)]

    @property
    def pool(self) -> NDArray[np.uint8]:
        return self._pool[: self.state.item(POOL)]

    def __len__(self) -> int:
        return self.state.item(LIVE)

    @property
    def is_wasteful(self) -> bool:
        """Whether less than half of the leaves, or of the keys, is in use."""
        dead = self.state.item(LEAVES) - 1 - len(self)
        waste, used = self.state.item(WASTE), self.state.item(POOL)
        return (dead > _LEAST_WASTE and dead > len(self)) or (waste > _LEAST_WASTE and 2 * waste > used)

    @property
    def nbytes(self) -> int:
        """The bytes in use; spare room is not counted."""
        rows = NODE_WIDTH * self.state.item(NODES) + LEAF_WIDTH * self.state.item(LEAVES)
        return 4 * rows + self.state.item(POOL)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
