"""From hits to rows: the answer of the engines, in terms of rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Pinned, pooled
from matchwood.engines import Hits, Workspace, read_only
from matchwood.errors import CorruptSnapshot
from matchwood.rules._hit_kernels import repeat_positions
from matchwood.rules._row_kernels import DAMAGED, LinkedHits, RowScratch, collect, collect_one
from matchwood.rules.ids import IdColumn
from matchwood.rules.links import RuleLinks

ROOM = 1 << 20
"""Rows that one call returns, unless a single event has more: 4 MiB."""


class RuleRows(NamedTuple):
    """The rules of the events first : first + count; the i-th has rows[offsets[i] : offsets[i + 1]], ascending.

    A call may cover fewer events than the hits do, when its output is full; it covers at least one.

    `scores`  of the rows, where the best of the rules are wanted, which then come first
    `ids`     of the rules, where they were written at once, in place of rows; there are none of these then
    """

    first: int
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    scores: NDArray[np.float64] | None = None
    ids: NDArray[np.int64] | None = None

    @property
    def total(self) -> int:
        """How many rules all events have."""
        return int(self.offsets[-1])

    @property
    def count(self) -> int:  # type: ignore[override]
        return len(self.offsets) - 1

    def without(self, dead: NDArray[np.bool_]) -> RuleRows:
        """The same without the rows that are dead."""
        if not len(self.rows):
            return self
        kept = ~dead[self.rows]
        before = np.concatenate(([0], np.cumsum(kept)))
        return RuleRows(self.first, before[self.offsets], self.rows[kept])

    @classmethod
    def joined(cls, first: int, pieces: Sequence[RuleRows], most: int | None = None) -> RuleRows:
        """Those of events that follow each other, from the event `first` on; of the first `most` of them, if given."""
        counts = np.concatenate([np.empty(0, np.int64), *(np.diff(piece.offsets) for piece in pieces)])[:most]
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        rows = np.concatenate([np.empty(0, np.int32), *(piece.rows for piece in pieces)])[: offsets[-1]]
        scores = [piece.scores for piece in pieces if piece.scores is not None]
        return cls(first, offsets, rows, np.concatenate(scores)[: offsets[-1]] if scores else None)


def event_positions(first: int, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The event of each row: the i-th from `first` on has offsets[i] : offsets[i + 1]."""
    found = pooled(int(offsets[-1]), np.int64)
    repeat_positions(first, read_only(offsets, np.int64), found)
    return found


_SIDES = 3
"""The kernel is given so many sides, some of them empty: for another number it would be compiled again."""
_NO_OFFSETS, _NO_UNITS = np.empty(0, np.int64), np.empty(0, np.int32)
for _shared in (_NO_OFFSETS, _NO_UNITS):
    _shared.flags.writeable = False
_NO_SIDE = LinkedHits(_NO_OFFSETS, _NO_UNITS, _NO_UNITS, _NO_UNITS, _NO_UNITS)

_ASKED_TOGETHER = 4_096
"""Hits of single events that are told of at once to those who know when it pays to look at all links."""

_SPARE = 4
"""Rows may be more than hits, where rules share units: room for one more in so many is made before anybody counts."""


def rows_of_hits(
    found: Sequence[tuple[Hits, RuleLinks]],
    first: int,
    rows: int,
    workspace: Workspace,
    room: int = ROOM,
    first_id: int | None = None,
) -> RuleRows:
    """The rules that have one of the units that matched, from event `first` on, as far as the output reaches.

    `first_id`  the id of the first row, if all others count on from there: then ids are written, and no rows
    """
    stop = min([hits.first + len(hits.offsets) - 1 for hits, _ in found])
    if first >= stop or first < max([hits.first for hits, _ in found]):
        raise IndexError(f"no hits for event {first} (they end at {stop})")
    sides = [_side(hits, links, first) for hits, links in found]
    sides += [_NO_SIDE] * (_SIDES - len(sides))
    offsets, written = _collected(stop - first, rows, tuple(sides), workspace, room, first_id)
    if first_id is None:
        return RuleRows(first, offsets, written)
    return RuleRows(first, offsets, _NO_UNITS, ids=written)


def _side(hits: Hits, links: RuleLinks, first: int) -> LinkedHits:
    """Hits from event `first` on and the links of their units; read-only, or the kernel would be compiled twice."""
    offsets, units = hits.offsets[first - hits.first :], hits.units.view()
    offsets.flags.writeable = units.flags.writeable = False
    return LinkedHits(offsets, units, *links.reading(), links.shifts(int(offsets[-1] - offsets[0])))


def _collected(
    count: int, rows: int, sides: tuple[LinkedHits, ...], workspace: Workspace, room: int, first_id: int | None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    kind, added = (np.int32, 0) if first_id is None else (np.int64, first_id)
    scratch = _scratch(rows, sum(len(side.heads) + len(side.chain) // 2 for side in sides), workspace)
    offsets = np.zeros(count + 1, np.int64)
    needed = min(room, _likely(sides, count))
    while True:
        out = pooled(needed, kind)
        done, more = collect(count, rows, sides, scratch, added, offsets[1:], out)
        if done == DAMAGED:
            raise _refused(scratch)
        if done == count or (done and needed >= room):
            return offsets[: done + 1], out[: offsets[done]]
        needed = max(min(room, 2 * needed), int(more) if not done else 0)


def _likely(sides: tuple[LinkedHits, ...], count: int) -> int:
    """The rows of some events, if no more of them share units than usual."""
    hits = sum(int(side.offsets[count] - side.offsets[0]) for side in sides if len(side.offsets))
    return hits + hits // _SPARE + _SPARE


class OneEventIds:
    """The ids of the rules of one event after the other, for units that stand at one place; until a rule changes."""

    __slots__ = ("_asked", "_found", "_ids", "_links", "_out", "_pinned", "_rows", "_scratch", "_written")

    def __init__(
        self, units: NDArray[np.int32], links: RuleLinks, ids: IdColumn, rows: int, workspace: Workspace
    ) -> None:
        self._ids, self._links, self._rows = ids, links, rows
        self._scratch, self._asked = _scratch(rows, len(units) + links.nodes, workspace), 0
        self._out = np.empty(rows, np.int32)
        numbers = _NO_OFFSETS if ids.numbers is None else ids.numbers
        self._found = np.empty(rows if len(numbers) >= rows else 0, np.int64)
        self._written = np.zeros(2, np.int64), units, np.zeros(1, np.int64), numbers
        self._pinned = self._pin(links.shifts(0))

    def _pin(self, shifts: NDArray[np.int32]) -> Pinned:
        self._asked = -1 if len(shifts) else 0
        offsets, units, ends, numbers = self._written
        read = offsets, units, *self._links.reading(), shifts
        return Pinned((*read, *self._scratch, ends, self._out, numbers, self._found))

    def _ask_for_shifts(self, hits: int) -> None:
        """Use shifts as soon as they pay; events are told of together, since asking takes as long as some hits do."""
        self._asked += hits
        if self._asked >= _ASKED_TOGETHER:
            self._pinned = self._pin(self._links.shifts(self._asked))

    def of(self, hits: int) -> list[Any]:
        """The ids of the rules of the first `hits` units, in rule order."""
        if self._asked >= 0:
            self._ask_for_shifts(hits)
        count = collect_one(self._pinned.table, self._rows, hits)
        if count == DAMAGED:
            raise _refused(self._scratch)
        if len(self._found):
            return self._found[:count].tolist()  # type: ignore[no-any-return]
        return self._ids.to_list(self._out[:count])


def _refused(scratch: RowScratch) -> CorruptSnapshot:
    """The error for links that lead astray; what was marked by then is cleared."""
    scratch.bits[:], scratch.summary[:] = 0, 0
    return CorruptSnapshot("a unit that matched leads to a rule that does not exist: the snapshot is damaged")


def _scratch(rows: int, links: int, workspace: Workspace) -> RowScratch:
    """For so many rows and links; an event may match all of these."""
    words = (rows + 63) // 64
    upper = (words + 63) // 64
    return RowScratch(
        workspace.array("rows.bits", words, np.uint64)[:words],
        workspace.array("rows.summary", upper, np.uint64)[:upper],
        workspace.array("rows.listed", links, np.int32, None)[:links],
        workspace.array("rows.aside", links, np.int32, None)[:links],
        workspace.array("rows.before", words, np.uint32, None)[:words],
    )
