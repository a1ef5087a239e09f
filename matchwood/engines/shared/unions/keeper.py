"""When an engine has unions: built when what they would have saved is as much as building them takes.

So they never cost more than a few times what the best of both ways would, whatever events come; and an index whose
events match few rules, or whose rules change all the time, never has them. They are built step by step, within calls
that match: each step is paid for by what was missed since the last, so no call takes much longer than it would have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.unions.building import build_steps
from matchwood.engines.shared.unions.layout import UnionArrays, UnionScratch, UnionSize
from matchwood.engines.shared.unions.unions import LEAST_UNITS, UnionPlan, Unions, plan_unions
from matchwood.engines.shared.workspace import Workspace

BY_COUNTS, ALWAYS_UNITE, NEVER_UNITE = "auto", "always", "never"
UNIONS = (BY_COUNTS, ALWAYS_UNITE, NEVER_UNITE)
"""What the option `unions` may be: by counts, for every event, for none."""

BUILD_CONSTRAINT, BUILD_WORD = 250.0, 1.0
"""Nanoseconds to build: for each constraint, and for each word of all rows."""

_STALE = 4
"""Unions whose units are so many times fewer than those that came, or went, since are dropped."""

_NONE = Unions()


class UnionCall(NamedTuple):
    """What a match call takes: the unions of one moment, whatever others build meanwhile."""

    held: Unions | None
    arrays: UnionArrays
    size: UnionSize
    scratch: UnionScratch


class UnionKeeper:
    """The unions of an engine, if it has any, and what it has missed without.

    Engines tell what comes and goes, as part of a change. Whoever matches asks for a `call` first; of several threads
    one makes the next step, and the others go on without. What is built is there at once, by one assignment.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted, self._building, self._counting = wanted, Lock(), Lock()
        self.drop()

    def drop(self) -> None:
        """Begin with nothing: units or labels mean something else from now on."""
        self.held: Unions | None = None
        self._plan: UnionPlan | None = None
        self._planned = self._gone = 0
        self._missed = 0.0
        """Nanoseconds that they would have saved; while they are built, less what the steps have taken."""
        self._at_once = False
        self._stop_building()

    def _stop_building(self) -> None:
        self._steps: Iterator[Unions | None] | None = None
        self._late: list[NDArray[np.int32]] = []
        """Units that came while unions were built, and `_lost`, those that went."""
        self._lost: list[NDArray[np.int32]] = []

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        if self._steps is not None:
            self._late.append(units)
        if self.held is not None:
            self.held.insert(units)
        self._drop_stale()

    def remove(self, units: NDArray[np.int32]) -> None:
        if self._steps is not None:
            self._lost.append(units)
        if self.held is not None:
            self.held.remove(units)
            self._gone += len(units)
        self._drop_stale()

    def _drop_stale(self) -> None:
        held, changed = self.held, sum(map(len, self._late)) + sum(map(len, self._lost))
        if held is not None and _STALE * max(len(held.fresh), self._gone) > held.units:
            self.drop()
        elif _STALE * changed > self._planned:
            self._stop_building()

    # ------------------------------------------------------------------ matching

    def call(
        self, store: ConjunctionStore, live: int, units: Callable[[], NDArray[np.int32]], workspace: Workspace
    ) -> UnionCall:
        """What there is for a call, after planning and building if it is time to; `units` are those of the engine,
        `live` how many they are."""
        if self._wanted != NEVER_UNITE and (live >= LEAST_UNITS or self._wanted == ALWAYS_UNITE) and self._is_due(live):
            self._get_ready(store, live, units)
        held = self.held
        return UnionCall(held, (held or _NONE).view(), self._size(held), _scratch(held or _NONE, workspace))

    def _get_ready(self, store: ConjunctionStore, live: int, units: Callable[[], NDArray[np.int32]]) -> None:
        if not self._building.acquire(blocking=False):
            return
        try:
            if self._plan is None or self._has_outgrown(live):
                self._plan, self._planned = plan_unions(store, units()), live
            if self._is_due(live) and len(self._plan.attributes):
                if self._steps is None:
                    self._begin(store, units())
                self._go_on()
        finally:
            self._building.release()

    def _has_outgrown(self, live: int) -> bool:
        """Whether there is no plan, or one for far more or fewer units."""
        return self._plan is None or 4 * abs(live - self._planned) > self._planned

    def _is_due(self, live: int) -> bool:
        return self._is_worth_a_step or self._has_outgrown(live)

    @property
    def _is_worth_a_step(self) -> bool:
        if self._wanted == ALWAYS_UNITE:
            return self.held is None
        return self._missed >= 0.0 if self._steps is not None else self._missed > self._price

    @property
    def _price(self) -> float:
        """Nanoseconds to build unions by the plan."""
        plan = self._plan
        return np.inf if plan is None else BUILD_CONSTRAINT * plan.constraints + BUILD_WORD * plan.rows * plan.words

    def _begin(self, store: ConjunctionStore, units: NDArray[np.int32]) -> None:
        plan = self._plan = plan_unions(store, units)
        self._steps, self._planned = build_steps(store.view(), units, plan, store.attributes), len(units)
        with self._counting:
            self._missed = 0.0

    def _go_on(self) -> None:
        """Make the next step, or all of them where nobody waits."""
        steps, began = self._steps, perf_counter_ns()
        assert steps is not None
        try:
            built = next(steps)
            while built is None and (self._at_once or self._wanted == ALWAYS_UNITE):
                built = next(steps)
        except BaseException:
            # A kernel may have to be compiled first, without a turn: then all begins again, at once.
            self._stop_building()
            with self._counting:
                self._missed = 2 * self._price
            raise
        with self._counting:
            self._missed -= perf_counter_ns() - began
        if built is not None:
            self._take_over(built)

    def _take_over(self, built: Unions) -> None:
        for units in self._late:
            built.insert(units)
        for units in self._lost:
            built.remove(units)
        self._gone, self._at_once = sum(map(len, self._lost)), False
        self._stop_building()
        with self._counting:
            self._missed = 0.0
        self.held = built

    def _size(self, held: Unions | None) -> UnionSize:
        """What there is, or would be."""
        plan, always, found = self._plan, self._wanted == ALWAYS_UNITE, held or _NONE
        attributes = 0 if plan is None else len(plan.attributes)
        entries = 0.0 if plan is None else 2.0 * plan.constraints / max(1, plan.cells)
        words = found.words if held or plan is None else plan.words
        limit = max(0.0, (self._price if self._steps is None else 0.0) - self._missed)
        limit = limit if self._wanted == BY_COUNTS else np.inf
        return UnionSize(held is not None, always, words, found.units, found.loose_units, attributes, entries, limit)

    def settle(self, call: UnionCall) -> bool:
        """Take over what a call has missed; whether the next one should be got ready anew."""
        if call.held is not self.held:
            call.scratch.missed[0] = 0.0
            return True
        missed = float(call.scratch.missed[0])
        if not missed:
            return False
        call.scratch.missed[0] = 0.0
        with self._counting:
            self._missed += missed
        return self._is_worth_a_step

    def foresee(self, times: int) -> None:
        """What was missed so far will be missed so many times; what that is worth, the next call does at once."""
        with self._counting:
            self._missed = max(0.0, self._missed) * times
            self._at_once = self._missed > self._price

    def one_event(
        self, ready: Callable[[], UnionCall], matching: Callable[[UnionCall], Callable[[int], int]]
    ) -> Callable[[int], int]:
        """What matches one event after the other, with what is `ready`: got ready anew when there are other unions."""
        call = ready()
        match = matching(call)

        def match_one(count: int) -> int:
            nonlocal call, match
            hits = match(count)
            if self.settle(call):
                call = ready()
                match = matching(call)
            return hits

        return match_one

    # ------------------------------------------------------------------ trust

    @property
    def nbytes(self) -> int:
        return 0 if self.held is None else self.held.nbytes

    def stats(self) -> dict[str, Any]:
        """What `stats` shows of them."""
        held = self.held or _NONE
        return {
            "attributes": len(held.attributes),
            "cells": len(held.fails) - 2 * len(held.attributes),
            "entries": int(held.entry_starts.view()[-1]) if self.held else 0,
            "fresh": len(held.fresh),
            "bytes": self.nbytes,
        }


def _scratch(held: Unions, workspace: Workspace) -> UnionScratch:
    """Arrays of the workspace, large enough for any event: no row tells fewer than one attribute."""
    rows = len(held.attributes) + 1
    return UnionScratch(
        workspace.array("unions.rows", rows, np.int64, None),
        workspace.array("unions.labels", rows, np.int32, None),
        workspace.array("unions.left", held.words, np.uint64, None),
        workspace.array("unions.missed", 1, np.float64),
    )
