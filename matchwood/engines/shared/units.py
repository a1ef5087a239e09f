"""What both stores share: numbering of units, how many rules use each, and which are alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Counts, Growable, Number, State, require, saved
from matchwood.errors import InvalidArgument


class UnitTable(State):
    """Units numbered from 0 on, each with the number of its uses; a number is not given again before `compact`.

    A unit whose uses fall to none stays alive, and readable, until it is freed.

    `_held`  one more than the uses of each unit; 0 for the dead. One byte each, until one has more than 254
    """

    _held = Counts()
    _live = Number(0)

    def start(self) -> None:
        super().start()
        self._live = 0

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        super().restore(_with_held(arrays), header)

    def _units_from(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the uses of saved units, and nothing else."""
        self._held = Growable(np.int32, saved(_with_held(arrays), "held", np.int32))
        self._live = int(np.count_nonzero(self._held.view()))

    def invariants(self) -> None:
        require(self._live == int(np.count_nonzero(self.alive)), "live units are miscounted")

    @property
    def count(self) -> int:
        """Units numbered so far, dead ones included."""
        return self._held.count

    @property
    def live(self) -> int:
        """Units that are alive."""
        return self._live

    @property
    def dead(self) -> int:
        """Numbers that no live unit has any more."""
        return self._held.count - self._live

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which units are alive."""
        found: NDArray[np.bool_] = self._held.view() != 0
        found.flags.writeable = False
        return found

    @property
    def uses(self) -> NDArray[np.int32]:
        """How many times each unit is used."""
        held = self._held.view().astype(np.int32)
        return np.maximum(held - 1, 0, out=held)

    def live_units(self) -> NDArray[np.int32]:
        """The numbers of all units that are alive, increasing."""
        return np.flatnonzero(self._held.view()).astype(np.int32)

    def drop(self, units: NDArray[np.int32]) -> NDArray[np.int32]:
        """Count one use less for each unit named; returns those that have none left, increasing."""
        named, times = np.unique(units, return_counts=True)
        left = self._held.view()[named].astype(np.int64) - times
        if len(left) and int(left.min()) < 1:
            raise InvalidArgument(f"unit {int(named[int(left.argmin())])} is dropped more often than it is used")
        self._held.writable()[named] = left
        unused: NDArray[np.int32] = named[left == 1].astype(np.int32)
        return unused

    def _bury(self, units: NDArray[np.int32]) -> None:
        """Mark units dead, after refusing those that are not ready for it."""
        held = self._held.writable()
        if len(units) and (held[units] != 1).any():
            raise InvalidArgument("only live units without uses can be freed")
        held[units] = 0
        self._live -= len(units)

    def _compacted(self) -> NDArray[np.int32]:
        """The numbers that units will have once the dead ones are gone; -1 for those."""
        alive = self.alive
        remap = np.cumsum(alive, dtype=np.int32) - np.int32(1)
        return np.where(alive, remap, np.int32(-1))

    def _audit_units(self) -> list[str]:
        problems, held = [], self._held.view()
        if self._live != int(np.count_nonzero(held)):
            problems.append(f"{self._live} units are said to live, {int(np.count_nonzero(held))} do")
        unused = np.flatnonzero(held == 1)
        if len(unused):
            problems.append(f"unit {unused[0]} is alive without uses ({len(unused)} such)")
        return problems


def _with_held(arrays: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """What was saved when uses and life stood apart, as it would be saved by now."""
    if "held" in arrays or "uses" not in arrays:
        return arrays
    uses, alive = saved(arrays, "uses", np.int32), saved(arrays, "alive", np.bool_)
    require(len(uses) == len(alive), "'alive' does not fit 'uses'")
    require(bool((uses[~np.asarray(alive)] == 0).all() and (uses >= 0).all()), "a dead unit has uses")
    return {**arrays, "held": (np.asarray(uses) + alive).astype(np.int32)}
