"""A chunk of rules as columns: those that are new, and those that replace others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding import CompiledRules, RuleReader, Schema, Use, UsesOfRules
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.chunks import RuleChunk
from matchwood.matching.loading.live_rules import counted_uses
from matchwood.matching.loading.preparation import PreparedRule, stored_uses
from matchwood.matching.loading.storing import Replacing
from matchwood.rules import RuleTable, encode_many


class ChunkColumns(NamedTuple):
    """The rules of a chunk: those in columns, and beside them the others that were taken, by their positions.

    `rows`  the row of the rule that each of the chunk replaces, -1 for a new one
    `old`   what the rules that are replaced ask of their attributes, in the order of the chunk
    """

    chunk: RuleChunk
    prepared: dict[int, PreparedRule]
    compiled: CompiledRules
    rows: NDArray[np.int32]
    old: OldRules | None

    @property
    def total(self) -> int:
        """How many rules they are."""
        return len(self.prepared) + len(self.compiled)

    @property
    def taken(self) -> NDArray[np.int64]:
        """The positions of all of them, in their order."""
        held = np.fromiter(self.prepared, np.int64, len(self.prepared))
        return np.sort(np.concatenate((held, self.compiled.positions)))

    @property
    def replaced_rows(self) -> NDArray[np.int32]:
        """The rows of rules that are replaced, in the order of the chunk."""
        rows = self.rows[self.taken]
        return rows[rows >= 0]

    def batches(self, size: int) -> Iterator[Batch]:
        """New rules in their order, so many at a time."""
        return (batch for _, batch in self._batches(self.rows < 0, size))

    def replacing(self, size: int) -> Iterator[Replacing]:
        """The others in their order, so many at a time."""
        if self.old is None:
            return
        done = 0
        for positions, batch in self._batches(self.rows >= 0, size):
            old = self.old.counted(done, done + len(positions))
            done += len(positions)
            yield Replacing(self.rows[positions], batch, old)

    def _batches(self, chosen: NDArray[np.bool_], size: int) -> Iterator[tuple[NDArray[np.int64], Batch]]:
        """Those of the chosen positions, so many at a time."""
        kept, compiled = self.taken, self.compiled
        if not chosen.all():
            kept, compiled = kept[chosen[kept]], compiled.only(chosen)
        for first in range(0, len(kept), size):
            positions = kept[first : first + size]
            part = compiled if len(kept) <= size else compiled.between(int(positions[0]), int(positions[-1]) + 1)
            yield positions, self._batch(positions, part)

    def _batch(self, positions: NDArray[np.int64], compiled: CompiledRules) -> Batch:
        beside = positions if not len(compiled) else positions[~compiled.wanted[positions]]
        own = {at: self.prepared[at] for at in beside.tolist()}
        if len(compiled):
            return Batch.with_compiled(self.chunk, own, compiled)
        return Batch.of([self.chunk.id_at(at) for at in own], list(own.values()))


class OldRules:
    """What rules that give way to others ask of their attributes: read by kernels, and one by one where they cannot."""

    def __init__(self, reader: RuleReader, schema: Schema, table: RuleTable, rows: NDArray[np.int32]) -> None:
        texts = encode_many(table.texts(rows))
        self._read: UsesOfRules = reader.uses(*texts, np.ones(len(rows), np.bool_))
        self._others: dict[int, list[Use]] = {
            place: stored_uses(schema, table.text(int(rows[place]))) for place in self._read.left_out().tolist()
        }
        self._places = np.fromiter(self._others, np.int64, len(self._others))

    def counted(self, start: int, stop: int) -> list[tuple[Use, int]]:
        """The uses of some of them, and how many of these have each."""
        first, last = places_in(self._places, np.array([start, stop])).tolist()
        others = counted_uses(self._others[place] for place in self._places[first:last].tolist())
        return [*self._read.counted(start, stop), *others]
