"""The baseline of every table: all units, one after the other, with an early exit."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column
from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines._scan_kernels import ALWAYS_WIDTH, BLOCK, GROUP, choose_first_tests, count_attributes, match_scan
from matchwood.engines.base import Engine, Hits
from matchwood.engines.shared.one_event import BatchOfOne, EventBuffers, OneEventSearch
from matchwood.engines.shared.output import HitOutput, Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace

_MOST_GROUP_HITS = 2**24
"""Events are matched in groups, each with room for all its possible hits; more units make smaller groups."""


class FirstTests(NamedTuple):
    """The first test of every unit u: labels[attributes[u]] - lows[u], taken as unsigned, is below widths[u].

    A width of 0 is never passed: units that are not indexed have it.
    """

    attributes: NDArray[np.uint32]
    lows: NDArray[np.int32]
    widths: NDArray[np.uint32]


class Scan(Engine):
    """Tests one constraint of every unit, and verifies the units that pass.

    Work: candidates are all units, for each event; verified are those that pass their first test.
    """

    name: ClassVar[str] = "scan"
    store: ConjunctionStore

    _attributes = Column(np.uint32, length="widths", below="_label_columns")
    _lows = Column(np.int32, length="widths")
    _widths = Column(np.uint32, longest="store.count")
    _frequency = Column(np.int64, longest="store.attributes")

    def start(self) -> None:
        super().start()
        self._live, self._always = 0, 0

    def invariants(self) -> None:
        self._live = int(np.count_nonzero(self._widths.view()))
        self._always = int(np.count_nonzero(self._widths.view() == ALWAYS_WIDTH))

    @property
    def always_candidates(self) -> int:
        return self._always

    @property
    def _label_columns(self) -> int:
        """Units without a test have one of attribute 0, which the rules may not have."""
        return max(1, self.store.attributes)

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        conjunctions, wanted = self.store.view(), read_only(units, np.int32)
        for column in (self._attributes, self._lows, self._widths):
            column.resize(self.store.count)
        self._frequency.resize(self.store.attributes)
        count_attributes(conjunctions, wanted, self._frequency.writable())
        columns = (self._attributes.writable(), self._lows.writable(), self._widths.writable())
        absent = self._widths.view()[wanted] == 0
        choose_first_tests(conjunctions, wanted, self._frequency.view(), *columns)
        self._count(wanted[absent], 1)

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        present = np.unique(units[self._widths.view()[units] != 0])
        self._count(present, -1)
        self._widths.writable()[present] = 0

    def _count(self, units: NDArray[np.int32], sign: int) -> None:
        self._live += sign * len(units)
        self._always += sign * int(np.count_nonzero(self._widths.view()[units] == ALWAYS_WIDTH))

    # ------------------------------------------------------------------ matching

    def tests(self) -> FirstTests:
        """The arrays for kernels; a restored state is checked before it is handed out for the first time."""
        self.check()
        return self.view_as(FirstTests)

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        group = min(GROUP, max(1, _MOST_GROUP_HITS // max(1, self._live)))
        output = Output(workspace, events, first, self._live * group)
        match_scan(*self._call(read_only_events(events), first, workspace, output.arrays))
        return output.hits()

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        buffers = EventBuffers(self._label_columns)
        output = Output(workspace, buffers.events, 0, self._live).arrays
        arguments = self._call(buffers.source, 0, workspace, output)
        return BatchOfOne(match_scan, buffers, output.work, arguments).search(buffers, output.units)

    def _call(self, source: EncodedEvents, first: int, workspace: Workspace, output: HitOutput) -> tuple[Any, ...]:
        """All that the kernel takes."""
        columns = self._label_columns
        labels = workspace.array("scan.labels", GROUP * columns, np.int32, NULL_LABEL)
        candidates = workspace.array("scan.candidates", BLOCK + 1, np.int32)
        written = labels[: GROUP * columns].reshape(GROUP, columns), candidates
        return self.store.view(), self.tests(), self._live, source, first, *written, *output

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every live unit has a test that its own constraints imply; no other unit has one."""
        tests = self.tests()
        indexed = tests.widths != 0
        alive = self.store.alive[: len(indexed)]
        return self.audit_indexed(indexed) + self._audit_tests(tests, np.flatnonzero(indexed & alive).astype(np.int32))

    def _audit_tests(self, tests: FirstTests, units: NDArray[np.int32]) -> list[str]:
        encoded = self.store.encoded(units)
        owner = np.repeat(np.arange(len(units)), np.diff(encoded.offsets))
        selective = ~encoded.accepts_null
        starts, stops = encoded.pieces[:-1], encoded.pieces[1:] - 1
        several = starts <= stops
        low = np.where(several, np.append(encoded.low, 0)[starts], 0)
        high = np.where(several, np.append(encoded.high, 0)[stops], 0)
        same = (
            selective
            & (encoded.attributes == tests.attributes[units[owner]])
            & (low == tests.lows[units[owner]])
            & (np.maximum(high - low, 1) == tests.widths[units[owner]])
        )
        sound = np.zeros(len(units), dtype=np.bool_)
        sound[owner[same]] = True
        sound |= (tests.widths[units] == ALWAYS_WIDTH) & (np.bincount(owner[selective], minlength=len(units)) == 0)
        wrong = units[~sound]
        return [f"unit {wrong[0]} has a first test that it does not imply ({len(wrong)} such)"] if len(wrong) else []
