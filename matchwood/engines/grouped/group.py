"""The units that match often, in a store of their own: unions take a bit for every number, whoever has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, Room, State, require
from matchwood.encoding import EncodedConjunctions
from matchwood.engines.counting import Counting
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.unions.keeper import ALWAYS_UNITE

ABSENT = -1

SPARE = 4096
"""Dead numbers that the group's store may have beside half of all."""


class OftenGroup(State):
    """A store with some of the units of another, and an engine over it that unites.

    `numbers`  of each unit here, the number that it has in the store of all
    `places`   of each unit of the store of all, the number that it has here, or ABSENT
    """

    store = Room(lambda group: ConjunctionStore())
    engine = Room(lambda group: Counting(group.store, {"unions": ALWAYS_UNITE}))
    numbers = Column(np.int32, length="store.count", below="units")
    places = Column(np.int32, longest="units", low=ABSENT, below="store.count")

    def __init__(self) -> None:
        self.start()

    def invariants(self) -> None:
        """Live units are where they should be, and no others are."""
        here, numbers = np.flatnonzero(self.store.alive), self.numbers.view()
        places = self.places.view()
        known = numbers[here] < len(places)
        require(bool(known.all()), "a unit of the group has no place")
        require(np.array_equal(places[numbers[here]], here), "a unit of the group is not where it should be")
        require(np.count_nonzero(places != ABSENT) == len(here), "places of the group are taken by dead units")

    def take(self, units: NDArray[np.int32], conjunctions: EncodedConjunctions) -> None:
        """Units of the other store that match often, and what they say."""
        places = self.store.add(conjunctions).units
        self.numbers.extend(units)
        self.places.writable()[units] = places
        self.engine.insert(places)

    def remove(self, units: NDArray[np.int32]) -> NDArray[np.int32]:
        """Leave out those of the units that are here, each given once; returns the others."""
        places = self.places.view()[units]
        here = places != ABSENT
        if here.any():
            self.engine.remove(places[here])
            self.store.free(self.store.drop(places[here]))
            self.places.writable()[units[here]] = ABSENT
            if self.store.dead > SPARE + self.store.count // 2:
                self._close_up()
        others: NDArray[np.int32] = units[~here]
        return others

    def _close_up(self) -> None:
        """Give back the numbers of units that are gone."""
        kept = self.numbers.view()[self.store.alive]
        self.store.compact()
        self.numbers = Growable(np.int32, kept)
        self.places.writable()[kept] = np.arange(len(kept), dtype=np.int32)
        self.engine.rebuild()

    def audit(self) -> list[str]:
        """Whether store and engine are sound."""
        return self.store.audit() + self.engine.audit()
