"""Rules that match often by unions, all others by access predicates.

PEM (2022) divides rules into a group that matches often and one that does not, with a structure for each. An access
predicate that most events pass leads to nothing but work, and unions take as long for a rule that never matches as for
one that always does: so each is best at what the other is worst at.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Room
from matchwood.encoding import EncodedEvents
from matchwood.engines._scan_kernels import count_attributes
from matchwood.engines.base import Engine, Hits, Work
from matchwood.engines.grouped._join_kernels import join_hits
from matchwood.engines.grouped.group import ABSENT, OftenGroup
from matchwood.engines.grouped.one_event import GroupedSearch
from matchwood.engines.pst.pstbloom import PSTBloom
from matchwood.engines.shared.access import selectivity_order, unit_shares
from matchwood.engines.shared.one_event import OneEventSearch
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only
from matchwood.engines.shared.workspace import Workspace

OFTEN = 1 / 16
"""A unit that should be true of at least this share of the events stands in the group that unites. To find a hit by its
access predicate takes some ten nanoseconds; to have a bit in a few dozen unions, half of one."""


class Grouped(Engine):
    """Two engines over a part of the units each, by how often they should match: `auto` takes it where that is faster.

    How often a unit matches is the product of the shares of events that pass its constraints, by the events that were
    seen, or by the rules alone. Where that errs, answers are the same and take longer.

    Work: that of both engines together.
    """

    name: ClassVar[str] = "grouped"
    uses_event_statistics: ClassVar[bool] = True

    _seldom = Room(lambda engine: PSTBloom(engine.store))
    _often = Room(lambda engine: OftenGroup(), units="store.count")
    _frequency = Column(np.int64, longest="store.attributes")

    @property
    def store(self) -> ConjunctionStore:
        """The store of all units."""
        return self._store

    @store.setter
    def store(self, store: ConjunctionStore) -> None:
        self._store = store
        if "_seldom" in vars(self):
            self._seldom.store = store

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        seldom, group = self._seldom, self._often
        seldom.event_statistics, seldom.values = self.event_statistics, self.values
        group.places.resize(self.store.count, ABSENT)
        often = self._often_matching(read_only(units, np.int32))
        if often.any():
            group.take(units[often], self.store.encoded(units[often]))
        seldom.insert(units[~often])

    def _often_matching(self, units: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of the units should match often."""
        conjunctions = self.store.view()
        self._frequency.resize(self.store.attributes)
        count_attributes(conjunctions, units, self._frequency.writable())
        order = selectivity_order(
            conjunctions, units, self._frequency.view(), self.store.live, self.event_statistics
        )  # fmt: skip
        found: NDArray[np.bool_] = unit_shares(order) >= OFTEN
        return found

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._seldom.remove(self._often.remove(np.unique(units)))

    def reconsider(self) -> None:
        """By what events are like now, other units may match often, and others give access."""
        self.rebuild()

    def foresee(self, times: int) -> None:
        self._seldom.foresee(times)
        self._often.engine.foresee(times)

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        seldom = self._seldom.match(events, first, workspace.beside("seldom"))
        # Behind what the first has covered nothing is joined, so nothing is looked for.
        covered = events._replace(offsets=events.offsets[: first + seldom.count + 1])
        often = self._often.engine.match(covered, first, workspace.beside("often"))
        if not len(often.units) and often.count == seldom.count:
            return self._with_work(seldom, often, workspace)
        output = Output(workspace, covered, first, self.store.live + len(seldom.units) + len(often.units))
        join_hits(seldom.units, seldom.offsets, often.units, often.offsets, self._often.numbers.view(), output.arrays)
        offsets = output.offsets[: often.count + 1]
        joined = Hits(first, offsets, output.units[: offsets[-1]], seldom.work)
        return self._with_work(joined, often, workspace)

    @staticmethod
    def _with_work(hits: Hits, often: Hits, workspace: Workspace) -> Hits:
        together = [own + other for own, other in zip(hits.work, often.work, strict=True)]
        found = hits._replace(work=Work(*together)._replace(matched=len(hits.units)))
        return found if workspace.lends else found.owned()

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        seldom = self._seldom.one_event(workspace.beside("seldom"))
        often = self._often.engine.one_event(workspace.beside("often"))
        return GroupedSearch(seldom, often, self._often.numbers.view())

    # ------------------------------------------------------------------ trust

    @property
    def always_candidates(self) -> int:
        return self._seldom.always_candidates + self._often.engine.always_candidates

    def stats(self) -> dict[str, Any]:
        return {
            **super().stats(),
            "groups": {"often": self._often.store.live, "seldom": self.store.live - self._often.store.live},
            "unions": self._often.engine.stats()["unions"],
            "reconsidered": self._seldom.stats()["reconsidered"],
        }

    def audit(self) -> list[str]:
        """Every unit stands in one of the groups, which are sound themselves, and says the same in both stores."""
        self.check()
        seldom, often = np.zeros((2, self.store.count), np.bool_)
        seldom[self._seldom.live_units()] = True
        numbers = self._often.numbers.view()[self._often.store.live_units()]
        often[numbers] = True
        problems = self.audit_indexed(seldom | often) + self._seldom.audit_listed() + self._often.audit()
        if (seldom & often).any():
            problems.append(f"unit {int(np.flatnonzero(seldom & often)[0])} stands in both groups")
        copied, own = self._often.store.encoded(self._often.store.live_units()), self.store.encoded(numbers)
        if not all(np.array_equal(getattr(copied, name), getattr(own, name)) for name in own._fields):
            problems.append("units of the group that matches often say something else in the store")
        return problems
