"""The BE-Tree (TODS 2013): the space of all rules is cut by attributes and by their values in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Number, Part
from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines.base import Engine, Hits
from matchwood.engines.betree._adjust_kernels import await_all, recycle
from matchwood.engines.betree._cut_kernels import gather_units, insert_units
from matchwood.engines.betree._leaf_kernels import PASSING, TALLY
from matchwood.engines.betree._match_kernels import match_tree
from matchwood.engines.betree._note_kernels import note_changes
from matchwood.engines.betree._predicate_kernels import attributes_of
from matchwood.engines.betree._remove_kernels import remove_units
from matchwood.engines.betree.feedback import CAPACITIES, Feedback, ToldOfTree, new_noted
from matchwood.engines.betree.layout import (
    CLUSTER,
    DIRECTORIES,
    OUTSIDE,
    PARTITION,
    QUEUE,
    DescentScratch,
    LeafForm,
    TreeSettings,
)
from matchwood.engines.betree.nodes import BucketNodes, new_scratch
from matchwood.engines.betree.predicates import EVALUATIONS, Predicates
from matchwood.engines.betree.stats import shape_of
from matchwood.engines.shared.one_event import BatchOfOne, EventBuffers, OneEventSearch
from matchwood.engines.shared.output import HitOutput, Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace

_BATCH = 256
"""So many units at once, if they are at least as many as there are, are laid out by the statistics of all."""

_ORPHANS = 4096
"""Predicates without rules that may be there beside half of all, before the others are numbered anew."""

PUBLISHED: dict[str, Any] = {
    "max_cap": 0,
    "capacities": "published",
    "min_size": 3,
    "directory": "hybrid",
    "equality_first": True,
    "loss": "optimistic",
    "window": 0,
    "node_window": 0.1,
    "theta": 0.0,
    "evaluation": "plain",
    "blocks": False,
    "bloom_bits": 0,
}
"""The paper's BE: the leaves of Table VI, Hy-R, a window a node of a tenth of its rules, theta 0 (8.1, 8.5); lazy and
bitmap evaluation, blocks and Bloom filters are what it adds afterwards (8.7)."""


class BETree(Engine):
    """Keeps each unit in one leaf, in the smallest bucket of each attribute on the way that encloses it.

    A predicate is cut by the interval that encloses it (Table I), and verified in the leaf. Predicates that accept NULL
    never lead anywhere; units without any other kind are in Z, which is looked at for every event.

    Work: candidates are the units in the leaves that an event reaches; verified are those that the Bloom filters of
    their attributes let through, all of them without such.
    """

    name: ClassVar[str] = "betree"
    uses_event_statistics: ClassVar[bool] = True
    keeps_positions: ClassVar[bool] = True
    published: ClassVar[Mapping[str, Any]] = PUBLISHED
    options: ClassVar[Mapping[str, Any]] = {
        "max_cap": 0,
        "capacities": "measured",
        "min_size": 3,
        "directory": "hybrid",
        "equality_first": True,
        "batch": True,
        "underflow": "reinsert",
        "loss": "optimistic",
        "alpha": 0.5,
        "beta": 0.5,
        "tune_beta": False,
        "window": 0,
        "node_window": 0.0,
        "theta": 0.0,
        "reinsertion": 0.0,
        "exploit": 1.0,
        "seed": 0,
        "evaluation": "hybrid",
        "blocks": True,
        "bloom_bits": 0,
    }
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {
        "max_cap": (0, 2**20),
        "min_size": (1, 2**20),
        "alpha": (0.0, 1.0),
        "beta": (0.0, 1.0),
        "window": (0, 2**40),
        "node_window": (0.0, 1e6),
        "theta": (-1e12, 1e12),
        "reinsertion": (0.0, 0.5),
        "exploit": (0.0, 1.0),
        "seed": (0, 2**63),
        "bloom_bits": (0, 64),
    }
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "capacities": tuple(CAPACITIES),
        "directory": DIRECTORIES,
        "underflow": ("reinsert", "merge"),
        "loss": ("optimistic", "histogram"),
        "evaluation": EVALUATIONS,
    }
    shaped_by_options: ClassVar[str] = "tree"
    store: ConjunctionStore

    nodes: Part[BucketNodes] = Part(
        lambda engine: BucketNodes(engine._max_cap, engine.settings["seed"], engine._noting),
        units="store.count",
        attributes="store.attributes",
    )
    _max_cap = Number(0, low=1)
    _beta = Number(0.5, low=0.0, high=1.0)
    _reconsidered = Number(0)

    def __init__(self, store: ConjunctionStore, options: Mapping[str, Any] | None = None) -> None:
        self._feedback = Feedback()
        super().__init__(store, options)
        self._beta = self.settings["beta"]

    def start(self) -> None:
        self._max_cap = self._capacity()
        super().start()
        self._feedback.forget_nodes()
        self._predicates = Predicates(EVALUATIONS.index(self.settings["evaluation"]))
        self._live = self._counted = 0
        self._shares = np.empty(0, np.float32)

    def invariants(self) -> None:
        """Nothing is left to refuse; predicates and rows are made from what was restored."""
        self._live = len(self._indexed())
        conjunctions, units = self.store.view(), np.arange(self.store.count, dtype=np.int32)
        self._predicates.add(conjunctions, units)
        self._predicates.settle(conjunctions, self.store.attributes, True)
        self._predicates.drop(conjunctions, units[self._homes()[units] == OUTSIDE])
        self.nodes.lay_out(conjunctions, self._predicates.known(), self._form(), self._presence(), True)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._predicates.nbytes

    def _capacity(self) -> int:
        return self.settings["max_cap"] or self._feedback.capacity(self.settings["capacities"])

    @property
    def _noting(self) -> bool:
        """Whether anybody wants to know what false candidates cost."""
        return bool(self._adjusting or self.settings["tune_beta"])

    @property
    def _adjusting(self) -> bool:
        return bool(self.settings["window"] or self.settings["node_window"])

    def _settings(self) -> TreeSettings:
        options = self.settings
        return TreeSettings(
            self._max_cap,
            options["min_size"],
            DIRECTORIES.index(options["directory"]),
            options["equality_first"],
            options["alpha"],
            self._beta,
            options["loss"] == "histogram",
            options["exploit"],
            options["reinsertion"],
        )

    def _form(self) -> LeafForm:
        options = self.settings
        return LeafForm(
            self._predicates.kind,
            options["blocks"],
            options["bloom_bits"],
            self._noting,
        )

    # ------------------------------------------------------------------ changes

    def insert(self, units: NDArray[np.int32]) -> None:
        self.check()
        self.nodes.fit(self.store.count, self.store.attributes)
        fresh = units[self._homes()[units] == OUTSIDE]
        if self.settings["batch"] and len(fresh) >= max(_BATCH, self._live):
            self._build(np.concatenate((self._indexed(), fresh)))
            return
        self._live += len(fresh)
        self._predicates.add(self.store.view(), fresh)
        self._place(fresh)
        self._note_changes(fresh)
        self._adjust_if_due()
        self._lay_out()

    def _homes(self) -> NDArray[np.int32]:
        return self.nodes.homes.view()

    def _indexed(self) -> NDArray[np.int32]:
        return np.flatnonzero(self._homes() != OUTSIDE).astype(np.int32)

    def _place(self, units: NDArray[np.int32]) -> None:
        """Insert units one after the other, and cut what overflows."""
        conjunctions, wanted = self.store.view(), read_only(units, np.int32)
        settings, scratch = self._settings(), new_scratch(self.store.attributes, 0)
        place = 0
        while True:
            place = insert_units(self.nodes.tree(), conjunctions, wanted, place, settings, scratch)
            if place == len(wanted) and not self.nodes.state[QUEUE]:
                return
            scratch = self.nodes.supply(scratch)

    def _build(self, units: NDArray[np.int32]) -> None:
        """All units at once (BE-B)."""
        feedback = self.nodes.feedback
        self.start()
        self.nodes.feedback = feedback
        self.nodes.fit(self.store.count, self.store.attributes)
        self._live = len(units)
        self._predicates.add(self.store.view(), units)
        gather_units(self.nodes.tree(), self.store.view(), read_only(units, np.int32))
        self._place(units[:0])
        self._lay_out(True)

    def remove(self, units: NDArray[np.int32]) -> None:
        self.check()
        self.nodes.fit(self.store.count, self.store.attributes)
        gone = np.unique(units[self._homes()[units] != OUTSIDE])
        self._note_changes(gone)
        displaced = np.empty(self._live, np.int32)
        merging = self.settings["underflow"] == "merge"
        count = remove_units(self.nodes.tree(), read_only(gone, np.int32), merging, self._settings(), displaced)
        self._live -= len(gone)
        self._predicates.drop(self.store.view(), gone)
        moved = displaced[:count]
        self._place(moved[~np.isin(moved, gone)])
        self._adjust_if_due()
        self._lay_out()

    def _lay_out(self, merge: bool = False) -> None:
        """Bring the predicates and the rows of leaves up to date; `merge` puts all predicates into the bitmap now, and
        all rows one behind the other."""
        conjunctions, before = self.store.view(), self._predicates
        if before.orphans > _ORPHANS + before.count // 2:
            self._predicates, merge = Predicates(before.kind), True
            self._predicates.add(conjunctions, self._indexed())
        anew = self._predicates.settle(conjunctions, self.store.attributes, merge) or merge
        self.nodes.lay_out(conjunctions, self._predicates.known(), self._form(), self._presence(), anew)

    def _presence(self) -> NDArray[np.float32]:
        """The share of events that should have each attribute: as observed, else how many rules name it."""
        attributes, live = self.store.attributes, max(1, self._live)
        if len(self._shares) < attributes or not self._counted // 2 <= live <= 2 * self._counted:
            _, words, sets, bits = self.store.view()
            naming = np.empty(len(words), np.int32)
            attributes_of(words, sets, bits, naming)
            named = np.bincount(naming, minlength=attributes)
            self._shares, self._counted = np.minimum(1.0, named / live).astype(np.float32), live
        return self._shares

    def rebuild(self) -> None:
        self.start()
        if self.settings["batch"]:
            self._build(self.store.live_units())
        else:
            self.insert(self.store.live_units())

    # ------------------------------------------------------------------ self-adjustment

    def reconsider(self) -> None:
        """Adjust the tree to the events so far; built anew if leaves of another capacity suit them better."""
        self.check()
        self._reconsidered += 1
        self.nodes.fit(self.store.count, self.store.attributes)
        if self._capacity() != self._max_cap:
            self._build(self._indexed())
        elif self._adjusting:
            self._adjust(everything=True)
            self._lay_out()

    def _note_changes(self, units: NDArray[np.int32]) -> None:
        self._feedback.changes += len(units)
        if self._noting:
            note_changes(self.nodes.tree(), read_only(units, np.int32), self.settings["node_window"])

    def _adjust_if_due(self) -> None:
        self._tune()
        window, feedback = self.settings["window"], self._feedback
        over = 0 < window <= feedback.changes + feedback.window
        if over or (self._noting and self.nodes.due.view()[0]):
            self._adjust(over)

    def _tune(self) -> None:
        """Set beta by Equation 15, if it is to be tuned and events have told anything."""
        rate = self._feedback.false_rate
        if self.settings["tune_beta"] and rate is not None:
            self._beta = 0.5 - rate / 2
            self._feedback.age()

    def _adjust(self, everything: bool) -> None:
        """Rank the nodes whose windows are over, or `everything`, and recycle those below the threshold."""
        tree = self.nodes.tree()
        if everything:
            await_all(tree)
            self._feedback.start_window()
        displaced = np.empty(self._live, np.int32)
        count = recycle(tree, self.settings["theta"], self._settings(), displaced)
        self._place(displaced[:count])

    # ------------------------------------------------------------------ matching

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        output, told = Output(workspace, events, first, self._live), self._told(workspace)
        match_tree(*self._call(read_only_events(events), first, told, workspace, output.arrays))
        hits = output.hits()
        told.fold(self._feedback, hits.count, len(hits.units))
        return hits

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        buffers, told = EventBuffers(self.store.attributes), self._told(workspace)
        output = Output(workspace, buffers.events, 0, self._live).arrays
        arguments = self._call(buffers.source, 0, told, workspace, output)
        matching = BatchOfOne(match_tree, buffers, output.work, arguments)

        def match_and_tell(count: int) -> int:
            hits = matching(count)
            told.fold(self._feedback, 1, hits)
            return hits

        return OneEventSearch(match_and_tell, buffers, output.units, output.work)

    def _told(self, workspace: Workspace) -> ToldOfTree:
        """What match calls tell of the tree as it is."""
        noting, shape = self._noting, self.nodes.shape()
        sizes = len(shape.clusters) // CLUSTER, len(shape.partitions) // PARTITION
        noted = new_noted(workspace, *(sizes if noting else (0, 0)), self._homes())
        tree = self.nodes.tree() if noting else None
        return ToldOfTree(self._live, np.zeros(TALLY, np.int64), tree, noted, self.settings["node_window"])

    def _call(
        self, source: EncodedEvents, first: int, told: ToldOfTree, workspace: Workspace, output: HitOutput
    ) -> tuple[Any, ...]:
        """All that the kernel takes."""
        predicates, parts, shape = self._predicates, self._predicates.count // 64 + 1, self.nodes.shape()
        searched = self.store.view(), shape, predicates.known(), predicates.bitmap, self._form(), self._live
        scratch = DescentScratch(
            workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL),
            workspace.array("betree.reached", len(shape.clusters) // CLUSTER + 2, np.int32, None),
            workspace.copy("betree.result", predicates.bitmap.nulls, predicates.version),
            workspace.array("betree.passed", parts, np.uint64),
            workspace.array("betree.failed", parts, np.uint64),
            workspace.array("betree.done", predicates.count, np.int32, None),
            workspace.array("betree.passing", PASSING, np.int32, None),
            told.tally,
        )
        return *searched, source, first, scratch, told.noted, output

    def counters(self) -> dict[str, int]:
        """Predicates that matching evaluated lazily so far, those it found evaluated, and, where that is noted,
        evaluations for candidates that were false."""
        feedback = self._feedback
        return {"evaluated": feedback.evaluated, "reused": feedback.reused, "discarded": feedback.discarded}

    # ------------------------------------------------------------------ trust

    def stats(self) -> dict[str, Any]:
        return {
            **super().stats(),
            "bytes_rows": self.nodes.bytes_rows,
            "bytes_predicates": self._predicates.nbytes,
            "max_cap": self._max_cap,
            "beta": self._beta,
            "reconsidered": self._reconsidered,
            "predicates": self._predicates.count - self._predicates.orphans,
            "bitmaps_built": self._predicates.built,
            **shape_of(self.nodes),
        }

    def audit(self) -> list[str]:
        """The invariance, and that every live unit is in one leaf."""
        self.check()
        problems = self.audit_indexed(self._homes() != OUTSIDE)
        return problems + self.nodes.audit(self.store.view(), self.store.attributes)
