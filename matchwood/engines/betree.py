"""The BE-Tree (TODS 2013): the space of all rules is cut by attributes and by their values in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import NULL_LABEL, EncodedEvents
from matchwood.engines._betree_cut_kernels import gather_units, insert_units
from matchwood.engines._betree_layout import CLUSTER, DIRECTORIES, OUTSIDE, QUEUE, Settings
from matchwood.engines._betree_match_kernels import match_tree
from matchwood.engines._betree_remove_kernels import remove_units
from matchwood.engines._output import Output
from matchwood.engines._views import read_only, read_only_events, require, saved_count
from matchwood.engines.base import Engine, Hits
from matchwood.engines.betree_nodes import Nodes, new_scratch
from matchwood.engines.betree_stats import shape_of
from matchwood.engines.conjunctions import ConjunctionStore
from matchwood.engines.workspace import Workspace

_BATCH = 1024
"""So many units at once, if they are at least as many as there are, are laid out by the statistics of all."""


class BETree(Engine):
    """Keeps each unit in one leaf, in the smallest bucket of each attribute on the way that encloses it.

    A predicate is cut by the interval that encloses it (Table I), and verified in the leaf. Predicates that accept NULL
    never lead anywhere; units without any other kind are in Z, which is looked at for every event.

    Work: candidates are the units in the leaves that an event reaches; all of them are verified.
    """

    name: ClassVar[str] = "betree"
    options: ClassVar[Mapping[str, Any]] = {
        "max_cap": 0,
        "min_size": 3,
        "directory": "hybrid",
        "equality_first": True,
        "batch": True,
        "underflow": "reinsert",
    }
    limits: ClassVar[Mapping[str, tuple[int, int]]] = {"max_cap": (0, 2**20), "min_size": (1, 2**20)}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "directory": DIRECTORIES,
        "underflow": ("reinsert", "merge"),
    }
    store: ConjunctionStore

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self._start()

    def _start(self) -> None:
        self._max_cap = self.settings["max_cap"] or 5
        self._nodes = Nodes(self._max_cap, 0)
        self._live = 0
        self._sound = True

    def _kernel_settings(self) -> Settings:
        options = self.settings
        return Settings(
            self._max_cap,
            options["min_size"],
            DIRECTORIES.index(options["directory"]),
            options["equality_first"],
            0.5,
            0.5,
            False,
            1.0,
            0.0,
        )

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._nodes.fit(self.store.count, self.store.attributes)
        fresh = units[self._nodes.columns["homes"].view()[units] == OUTSIDE]
        if self.settings["batch"] and len(fresh) >= max(_BATCH, self._live):
            self._build(np.concatenate((self._indexed(), fresh)))
            return
        self._live += len(fresh)
        self._insert(fresh)
        self._nodes.lay_out()

    def _indexed(self) -> NDArray[np.int32]:
        return np.flatnonzero(self._nodes.columns["homes"].view() != OUTSIDE).astype(np.int32)

    def _insert(self, units: NDArray[np.int32]) -> None:
        """Insert units one after the other, and cut what overflows."""
        conjunctions, wanted = self.store.view(), read_only(units, np.int32)
        settings, scratch = self._kernel_settings(), new_scratch(self.store.attributes, 0)
        place = 0
        while True:
            place = insert_units(self._nodes.tree(), conjunctions, wanted, place, settings, scratch)
            if place == len(wanted) and not self._nodes.state[QUEUE]:
                return
            scratch = self._nodes.supply(scratch)

    def _build(self, units: NDArray[np.int32]) -> None:
        """All units at once (BE-B)."""
        self._start()
        self._nodes.fit(self.store.count, self.store.attributes)
        self._live = len(units)
        gather_units(self._nodes.tree(), self.store.view(), read_only(units, np.int32))
        self._insert(units[:0])
        self._nodes.lay_out()

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        self._nodes.fit(self.store.count, self.store.attributes)
        gone = np.unique(units[self._nodes.columns["homes"].view()[units] != OUTSIDE])
        displaced = np.empty(self._live, np.int32)
        merging = self.settings["underflow"] == "merge"
        settings = self._kernel_settings()
        count = remove_units(self._nodes.tree(), read_only(gone, np.int32), merging, settings, displaced)
        self._live -= len(gone)
        moved = displaced[:count]
        self._insert(moved[~np.isin(moved, gone)])
        self._nodes.lay_out()

    def rebuild(self) -> None:
        self._start()
        if self.settings["batch"]:
            self._build(self.store.live_units())
        else:
            self.insert(self.store.live_units())

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        shape = self._nodes.shape()
        output = Output(workspace, events, first, self._live)
        match_tree(
            self.store.view(), shape, self._live, read_only_events(events), first,
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL),
            workspace.array("betree.stack", len(shape.clusters) // CLUSTER + 2, np.int32, None),
            output.units, output.offsets, output.work,
        )  # fmt: skip
        return output.hits()

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self._nodes.arrays()

    def header(self) -> dict[str, Any]:
        return {"options": self.settings, "max_cap": self._max_cap}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        self._start()
        require(header.get("options") == self.settings, "the options of the engine are not those of its tree")
        self._max_cap = max(1, saved_count(header, "max_cap"))
        self._nodes.restore(arrays)
        self._sound = False

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays, or round in circles."""
        if self._sound:
            return
        self._nodes.check(self.store.count, self.store.attributes)
        self._live = int(np.count_nonzero(self._nodes.columns["homes"].view() != OUTSIDE))
        self._sound = True

    def stats(self) -> dict[str, Any]:
        self.check()
        return {
            "bytes_index": sum(array.nbytes for array in self.arrays().values()),
            "max_cap": self._max_cap,
            **shape_of(self._nodes),
        }

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """The invariance, and that every live unit is in one leaf."""
        self.check()
        indexed = np.zeros(self.store.count, dtype=np.bool_)
        homes = self._nodes.columns["homes"].view()
        indexed[: len(homes)] = homes != OUTSIDE
        wrong = np.flatnonzero(indexed != self.store.alive)
        problems = [f"unit {wrong[0]} is alive or indexed, but not both ({len(wrong)} such)"] if len(wrong) else []
        return problems + self._nodes.audit(self.store.view(), self.store.attributes)
