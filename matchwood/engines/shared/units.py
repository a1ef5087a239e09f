"""What both stores share: numbering of units, how many rules use each, and which are alive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Number, State, require
from matchwood.errors import InvalidArgument


class UnitTable(State):
    """Units numbered from 0 on, each with the number of its uses; a number is not given again before `compact`.

    A unit whose uses fall to none stays alive, and readable, until it is freed.
    """

    _uses = Column(np.int32)
    _alive = Column(np.bool_, length="uses")
    _live = Number(0)

    def start(self) -> None:
        super().start()
        self._live = 0

    def invariants(self) -> None:
        require(self._live == int(np.count_nonzero(self.alive)), "live units are miscounted")

    @property
    def count(self) -> int:
        """Units numbered so far, dead ones included."""
        return self._uses.count

    @property
    def live(self) -> int:
        """Units that are alive."""
        return self._live

    @property
    def dead(self) -> int:
        """Numbers that no live unit has any more."""
        return self._uses.count - self._live

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which units are alive, read-only."""
        return self._alive.view()

    @property
    def uses(self) -> NDArray[np.int32]:
        """How many times each unit is used, read-only."""
        return self._uses.view()

    def live_units(self) -> NDArray[np.int32]:
        """The numbers of all units that are alive, increasing."""
        return np.flatnonzero(self._alive.view()).astype(np.int32)

    def drop(self, units: NDArray[np.int32]) -> NDArray[np.int32]:
        """Count one use less for each unit named; returns those that have none left, increasing."""
        uses = self._uses.writable()
        np.subtract.at(uses, units, 1)
        left = uses[units]
        if len(left) and int(left.min()) < 0:
            np.add.at(uses, units, 1)
            raise InvalidArgument(f"unit {int(units[int(left.argmin())])} is dropped more often than it is used")
        return np.unique(units[left == 0])

    def _bury(self, units: NDArray[np.int32]) -> None:
        """Mark units dead, after refusing those that are not ready for it."""
        uses, alive = self._uses.view(), self._alive.writable()
        if len(units) and (uses[units].any() or not alive[units].all()):
            raise InvalidArgument("only live units without uses can be freed")
        alive[units] = False
        self._live -= len(units)

    def _compacted(self) -> NDArray[np.int32]:
        """The numbers that units will have once the dead ones are gone; -1 for those."""
        remap = np.cumsum(self.alive, dtype=np.int32) - np.int32(1)
        return np.where(self.alive, remap, np.int32(-1))

    def _audit_units(self) -> list[str]:
        problems = []
        if self._live != int(np.count_nonzero(self.alive)):
            problems.append(f"{self._live} units are said to live, {int(np.count_nonzero(self.alive))} do")
        unused = np.flatnonzero(self.alive & (self.uses <= 0))
        if len(unused):
            problems.append(f"unit {unused[0]} is alive without uses ({len(unused)} such)")
        used = np.flatnonzero(~self.alive & (self.uses != 0))
        if len(used):
            problems.append(f"unit {used[0]} is dead and has uses ({len(used)} such)")
        return problems
