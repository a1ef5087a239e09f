"""Rules in blocks: those of a block depend on the settings and its number alone, so that any process can make it.

In one process a workload is its blocks, one after the other; on Spark each executor makes some of them. Both give the
same rules, row for row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 100_000
"""Rules of a block, at most."""

_PILOT = 100_000


class Block(NamedTuple):
    """The rules first … first + count - 1, as one of `blocks`."""

    number: int
    blocks: int
    first: int
    count: int  # type: ignore[assignment]

    def random(self, seed: int, stream: int) -> np.random.Generator:
        """Independent streams for each block; a trailing 0 does not change a seed, so the first one has the plain one.

        >>> first = Block(0, 2, 0, 50_000)
        >>> bool(first.random(7, 2).integers(100) == np.random.default_rng([7, 2]).integers(100))
        True
        """
        return np.random.default_rng([seed, stream, self.number])

    def dealt(self, rules: int) -> NDArray[np.int64]:
        """Of all places 0 … rules - 1 those that are dealt to this block, as cards are: every block gets its share of
        whatever the places stand for."""
        return np.arange(self.number, rules, self.blocks)


def pilot_block(rules: int) -> Block:
    """Rules that a generator measures before it makes any: the same ones however the workload is cut into blocks."""
    return Block(0, 1, 0, min(rules, _PILOT))


def blocks_of(rules: int) -> list[Block]:
    """So many rules in blocks of nearly equal size.

    >>> blocks_of(250_001)[1:]
    [Block(number=1, blocks=3, first=83334, count=83334), Block(number=2, blocks=3, first=166668, count=83333)]
    """
    blocks = -(-rules // BLOCK)
    sizes = [len(range(number, rules, blocks)) for number in range(blocks)]
    return [Block(number, blocks, sum(sizes[:number]), size) for number, size in enumerate(sizes)]
