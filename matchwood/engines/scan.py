"""The baseline of every table: all units, one after the other, with an early exit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines._scan_kernels import ALWAYS_WIDTH, BLOCK, GROUP, choose_first_tests, count_attributes, match_scan
from matchwood.engines.base import Engine, Hits
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only, read_only_events, require, require_range, saved
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

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self._start()

    def _start(self) -> None:
        self._attributes = Growable(np.uint32)
        self._lows = Growable(np.int32)
        self._widths = Growable(np.uint32)
        self._frequency = Growable(np.int64)
        self._live, self._always = 0, 0
        self._sound = True

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

    def rebuild(self) -> None:
        self._start()
        self.insert(self.store.live_units())

    def tests(self) -> FirstTests:
        """The arrays for kernels; a restored state is checked before it is handed out for the first time."""
        self.check()
        return FirstTests(self._attributes.view(), self._lows.view(), self._widths.view())

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        conjunctions, tests = self.store.view(), self.tests()
        group = min(GROUP, max(1, _MOST_GROUP_HITS // max(1, self._live)))
        output = Output(workspace, events, first, self._live * group)
        columns = max(1, self.store.attributes)
        labels = workspace.array("scan.labels", GROUP * columns, np.int32, NULL_LABEL)
        match_scan(
            conjunctions, tests, self._live, read_only_events(events), first,
            labels[: GROUP * columns].reshape(GROUP, columns),
            workspace.array("scan.candidates", BLOCK + 1, np.int32),
            output.units, output.offsets, output.work,
        )  # fmt: skip
        return output.hits()

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "attributes": self._attributes.view(),
            "lows": self._lows.view(),
            "widths": self._widths.view(),
            "frequency": self._frequency.view(),
        }

    def header(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._attributes = Growable(np.uint32, saved(arrays, "attributes", np.uint32))
        self._lows = Growable(np.int32, saved(arrays, "lows", np.int32))
        self._widths = Growable(np.uint32, saved(arrays, "widths", np.uint32))
        self._frequency = Growable(np.int64, saved(arrays, "frequency", np.int64))
        self._sound = False

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays."""
        if self._sound:
            return
        lengths = {len(self._attributes), len(self._lows), len(self._widths)}
        require(len(lengths) == 1 and max(lengths) <= self.store.count, "first tests do not fit the units")
        require_range(self._attributes.view(), 0, max(1, self.store.attributes), "attributes")
        require(len(self._frequency) <= self.store.attributes, "'frequency' does not fit the attributes")
        self._live = int(np.count_nonzero(self._widths.view()))
        self._always = int(np.count_nonzero(self._widths.view() == ALWAYS_WIDTH))
        self._sound = True

    def stats(self) -> dict[str, Any]:
        self.check()
        bytes_index = sum(array.nbytes for array in self.arrays().values())
        return {"always_candidates": self._always, "bytes_index": bytes_index}

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every live unit has a test that its own constraints imply; no other unit has one."""
        tests = self.tests()
        indexed = np.zeros(self.store.count, dtype=np.bool_)
        indexed[: len(tests.widths)] = tests.widths != 0
        problems = []
        wrong = np.flatnonzero(indexed != self.store.alive)
        if len(wrong):
            problems.append(f"unit {wrong[0]} is alive or indexed, but not both ({len(wrong)} such)")
        return problems + self._audit_tests(tests, np.flatnonzero(indexed & self.store.alive).astype(np.int32))

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
