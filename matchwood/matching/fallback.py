"""What takes rules that have too many conjunctions: as clauses, where those are few enough, otherwise whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import arrays_of, headers_of, restore_rooms
from matchwood.encoding import EncodedConjunctions, EncodedEvents, EncodedForms
from matchwood.engines import (
    Added,
    AddedForms,
    ATree,
    ConjunctionStore,
    EventShares,
    Hits,
    KIndex,
    Structure,
    Workspace,
    joined,
)

Units = NDArray[np.int32]
_WHOLE, _CLAUSES = 0, 1


class Fallback(Structure):
    """An A-Tree, and `kindex` over a store of clauses. Units of the tree have even numbers, those of clauses odd ones.

    A rule in CNF of a dozen clauses is one unit here, where its conjunctions would be thousands: `kindex` then looks at
    it when one of its clauses holds, while the A-Tree evaluates the clauses that it shares with others.
    """

    name: ClassVar[str] = "fallback"
    takes: ClassVar[str] = "forms"

    def __init__(self, history: EventShares | None = None) -> None:
        self.tree, self.store = ATree(), ConjunctionStore(clauses=True)
        self.clauses = KIndex(self.store)
        self.settings = self.tree.settings
        self.history = self.tree.history = self.clauses.history = history

    # ------------------------------------------------------------------ reading

    @property
    def count(self) -> int:
        """One more than the largest number that a unit may have."""
        return 2 * max(self.tree.count, self.store.count)

    @property
    def live(self) -> int:
        return self.tree.live + self.store.live

    @property
    def dead(self) -> int:
        return self.tree.dead + self.store.dead

    @property
    def uses(self) -> Units:
        """How many times each unit is used; none of a number that no unit has."""
        found = np.zeros(self.count, np.int32)
        found[_WHOLE : 2 * self.tree.count : 2] = self.tree.uses
        found[_CLAUSES : 2 * self.store.count : 2] = self.store.uses
        return found

    @property
    def bytes_verify(self) -> int:
        return self.tree.bytes_verify + self.store.bytes_verify

    @property
    def bytes_shared(self) -> int:
        return self.tree.bytes_shared + self.store.bytes_shared

    def always(self) -> Units:
        """Live units that are true of every event."""
        return _numbered(self.tree.always(), _WHOLE)

    # ------------------------------------------------------------------ changes

    def add(self, encoded: EncodedForms) -> AddedForms:
        """Take expressions in, and count one use of each."""
        added = self.tree.add(encoded)
        return added._replace(units=_numbered(added.units, _WHOLE))

    def add_clauses(self, encoded: EncodedConjunctions) -> Added:
        """Take conjunctions of clauses in, and count one use of each."""
        added = self.store.add(encoded)
        if len(added.new_units):
            self.clauses.insert(added.new_units)
            if self.clauses.merge_due:
                self.clauses.adopt(self.clauses.merged())
        return added._replace(units=_numbered(added.units, _CLAUSES))

    def drop(self, units: Units) -> Units:
        """Count one use less for each unit named; returns those that have none left."""
        whole, clauses = _parted(units)
        gone = _numbered(self.tree.drop(whole), _WHOLE), _numbered(self.store.drop(clauses), _CLAUSES)
        return np.concatenate(gone)

    def free(self, units: Units) -> list[EncodedConjunctions]:
        """Forget units without uses; returns the constraints that went."""
        whole, clauses = _parted(units)
        released = [self.tree.free(whole)] if len(whole) else []
        if len(clauses):
            released.append(self.store.encoded(clauses))
            self.clauses.remove(clauses)
            self.store.free(clauses)
        return released

    def relabel(self, attribute: int, old: Units, new: Units) -> None:
        """Replace the labels of one attribute wherever they are stored. Rebuild afterwards."""
        self.tree.relabel(attribute, old, new)
        self.store.relabel(attribute, old, new)

    def renumber(self, numbers: Units) -> None:
        """Give all attributes the numbers[old]. Rebuild afterwards."""
        self.tree.renumber(numbers)
        self.store.renumber(numbers)

    def compact(self) -> Units:
        """Give back the numbers of dead units; returns old number to new, -1 for the others. Rebuild afterwards."""
        moved = np.full(self.count, -1, np.int32)
        for kind, part in ((_WHOLE, self.tree), (_CLAUSES, self.store)):
            count = part.count
            own = part.compact()
            moved[kind : 2 * count : 2] = np.where(own < 0, -1, _numbered(own, kind))
        return moved

    def rebuild(self) -> None:
        self.tree.rebuild()
        self.clauses.rebuild()

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        if not self.store.live:
            return _as(self.tree.match(events, first, workspace), _WHOLE)
        clauses = _as(self.clauses.match(events, first, workspace), _CLAUSES)
        if not self.tree.live:
            return clauses
        return joined(_as(self.tree.match(events, first, workspace), _WHOLE), clauses)

    # ------------------------------------------------------------------ saving

    def _rooms(self) -> dict[str, Any]:
        return {"tree": self.tree, "store": self.store, "clauses": self.clauses}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return arrays_of(self._rooms())

    def header(self) -> dict[str, Any]:
        return headers_of(self._rooms())

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        restore_rooms(self._rooms(), arrays, header)

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays."""
        for state in self._rooms().values():
            state.check()

    def stats(self) -> dict[str, Any]:
        clauses, tree = self.clauses.stats(), self.tree.stats()
        return {**tree, "bytes_index": tree["bytes_index"] + clauses["bytes_index"], "clause_units": self.store.live}

    def audit(self) -> list[str]:
        return [problem for state in self._rooms().values() for problem in state.audit()]


def _numbered(units: Units, kind: int) -> Units:
    found: Units = (2 * units + kind).astype(np.int32)
    return found


def _parted(units: Units) -> tuple[Units, Units]:
    """The tree's own numbers of units, and those of the clauses."""
    odd = units % 2 == _CLAUSES
    return units[~odd] // 2, units[odd] // 2


def _as(hits: Hits, kind: int) -> Hits:
    return hits._replace(units=_numbered(hits.units, kind))
