"""A run of the K-index: posting lists over some units, built at once and never changed.

VLDB 2009, sections 3 and 4; section 6 for runs beside the main one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Field, State, require, require_offsets, require_range, saved, saved_count
from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines.base import Hits
from matchwood.engines.kindex._build_kernels import decompress
from matchwood.engines.kindex._cluster_match_kernels import match_direct
from matchwood.engines.kindex._match_kernels import match_run
from matchwood.engines.kindex.build import SMALLEST_TABLE, run_arrays, shapes_of
from matchwood.engines.kindex.clusters import access_arrays
from matchwood.engines.kindex.layout import BLOCK, EMPTY, AccessArrays, Cursors, DirectScratch, RunArrays
from matchwood.engines.kindex.options import Layout
from matchwood.engines.shared.bounds import UnitBounds
from matchwood.engines.shared.constraints.words import attribute_count
from matchwood.engines.shared.output import HitOutput, Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only
from matchwood.engines.shared.workspace import Workspace

_DTYPES: dict[str, Any] = {
    "units": np.int32,
    "sizes": np.int32,
    "size_offsets": np.int32,
    "group_offsets": np.int32,
    "group_attributes": np.int32,
    "group_starts": np.int32,
    "table": np.int32,
    "keys": np.uint64,
    "key_offsets": np.int32,
    "list_sizes": np.int32,
    "list_offsets": np.int64,
    "entries": np.int32,
    "clauses": np.int32,
    "levels": np.uint32,
    "block_offsets": np.int64,
    "bases": np.int32,
    "places": np.int64,
    "data": np.uint8,
}


class Run:
    """Posting lists, or clusters if `direct`, over units that are all conjunctions, or all conjunctions of clauses.

    What ranking needs is kept here by `kindex_top` once somebody ranks: `bounds` is what lists can add to a score,
    `ranked` whether the clusters are in the order of what their units promise by now.
    """

    def __init__(self, arrays: RunArrays, of_clauses: bool, layout: Layout, most_clauses: int) -> None:
        self.arrays = RunArrays(*(read_only(array, _DTYPES[name]) for name, array in arrays._asdict().items()))
        self.of_clauses, self.layout, self._most_clauses = of_clauses, layout, most_clauses
        self.access: AccessArrays | None = None
        self.bounds: Any = None
        self.ranked = False

    @classmethod
    def build(
        cls,
        store: ConjunctionStore,
        units: NDArray[np.int32],
        of_clauses: bool,
        layout: Layout,
        bounds: UnitBounds | None = None,
    ) -> Run:
        """A run over these units of a store, in the order of what they promise where bounds tell it."""
        arrays = run_arrays(store.view(), store.attributes, units, of_clauses, layout)
        run = cls(arrays, of_clauses, layout, _most_clauses(store, units) if of_clauses else 0)
        run.cluster(store, bounds)
        return run

    @classmethod
    def restored(cls, saved_arrays: Mapping[str, NDArray[Any]], prefix: str, of_clauses: bool, layout: Layout) -> Run:
        """A run as it was saved; `check` it before use."""
        own = {name: saved(saved_arrays, f"{prefix}{name}", dtype) for name, dtype in _DTYPES.items()}
        return cls(RunArrays(**own), of_clauses, layout, 0)

    def cluster(self, store: ConjunctionStore, bounds: UnitBounds | None) -> AccessArrays | None:
        """Lay out the clusters of a direct run, in the order of what its units promise. They are never saved."""
        if self.layout.direct:
            self.access = access_arrays(store.view(), store.attributes, self.arrays.units, bounds)
            self.ranked = bounds is not None
        return self.access

    # ------------------------------------------------------------------ reading

    @property
    def size(self) -> int:
        """Its units, those removed included."""
        return len(self.arrays.units)

    @property
    def compressed(self) -> bool:
        return len(self.arrays.block_offsets) > 0

    @property
    def postings(self) -> int:
        return int(self.arrays.list_offsets[-1]) if self.access is None else len(self.access.posted)

    @property
    def lists(self) -> int:
        return len(self.arrays.list_sizes if self.access is None else self.access.keys)

    @property
    def zeros(self) -> NDArray[np.int32]:
        """The units of size 0, which make up the Z list."""
        sizes, offsets = self.arrays.sizes, self.arrays.size_offsets
        return self.arrays.units[: offsets[1]] if len(sizes) and sizes[0] == 0 else self.arrays.units[:0]

    @property
    def nbytes(self) -> int:
        clusters = () if self.access is None else self.access[:-1]
        return sum(array.nbytes for array in (*self.arrays, *clusters))

    def match(
        self,
        store: ConjunctionStore,
        states: NDArray[np.uint8],
        events: EncodedEvents,
        first: int,
        last: int,
        workspace: Workspace,
    ) -> Hits:
        """The hits among its units of the events first : last, as far as the output reaches."""
        output = Output(workspace, events, first, self.size)
        kernel, arguments = self.call(store, states, events, (first, last), workspace, output.arrays)
        kernel(*arguments)
        return output.hits()

    def call(
        self,
        store: ConjunctionStore,
        states: NDArray[np.uint8],
        events: EncodedEvents,
        span: tuple[int, int],
        workspace: Workspace,
        output: HitOutput,
    ) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """The kernel that finds them, and all that it takes."""
        units = store.view(), states
        if self.access is None:
            kind = self.of_clauses, self.layout.shortcuts
            return match_run, (self.arrays, *units, *kind, events, *span, self.cursors(workspace), output)
        labels = workspace.array("labels", store.attributes, np.int32, NULL_LABEL)
        return match_direct, (self.access, *units, events, *span, self.size, self.scratch(workspace), labels, output)

    def scratch(self, workspace: Workspace) -> DirectScratch:
        """Scratch memory that is large enough for all clusters of the run."""
        predicates = 0 if self.access is None else len(self.access.cluster_offsets)
        return DirectScratch(
            workspace.array("kindex.truth", predicates, np.uint8),
            workspace.array("kindex.touched", predicates, np.int32, None),
            workspace.array("kindex.found", predicates, np.int32, None),
        )

    def cursors(self, workspace: Workspace) -> Cursors:
        """Scratch memory that is large enough for all lists of the run."""
        lists = len(self.arrays.list_sizes) + 1
        return Cursors(
            workspace.array("kindex.heads", len(self.arrays.sizes), np.int32, EMPTY),
            workspace.array("kindex.tallies", len(self.arrays.sizes), np.int32),
            workspace.array("kindex.nexts", lists, np.int32, None),
            workspace.array("kindex.lists", lists, np.int32, None),
            workspace.array("kindex.pairs", lists, np.int64, None),
            workspace.array("kindex.order", lists, np.int64, None),
            workspace.array("kindex.starts", lists, np.int64, None),
            workspace.array("kindex.positions", lists, np.int64, None),
            workspace.array("kindex.stops", lists, np.int64, None),
            workspace.array("kindex.which", lists, np.int32, None),
            workspace.array("kindex.entries", lists, np.int64, None),
            workspace.array("kindex.pair_of", lists, np.int64, None),
            workspace.array("kindex.counters", self._most_clauses, np.int32),
        )

    # ------------------------------------------------------------------ trust

    def check(self, store: ConjunctionStore, units: int, bounds: UnitBounds | None) -> None:
        """Refuse a restored run that could lead a kernel out of its arrays; units are numbered below `units`."""
        run, lists = self.arrays, len(self.arrays.list_sizes)
        require_range(run.units, 0, units, "units")
        require_offsets(run.size_offsets, self.size, "size_offsets")
        require(len(run.size_offsets) == len(run.sizes) + 1, "'size_offsets' does not fit the sizes")
        require(bool((np.diff(run.sizes) > 0).all()) and run.sizes.min(initial=0) >= 0, "'sizes' does not grow")
        self._check_groups()
        require(
            len(run.table) >= SMALLEST_TABLE and len(run.table) & (len(run.table) - 1) == 0, "'table' has an odd size"
        )
        require_range(run.table, EMPTY, len(run.keys), "table")
        require(2 * int(np.count_nonzero(run.table == EMPTY)) >= len(run.table), "'table' is overfull")
        require_offsets(run.key_offsets, lists, "key_offsets")
        require(len(run.key_offsets) == len(run.keys) + 1, "'key_offsets' does not fit the keys")
        require_range(run.list_sizes, 0, 2 * len(run.sizes), "list_sizes")
        require(len(run.list_offsets) == lists + 1, "'list_offsets' does not fit the lists")
        require_offsets(run.list_offsets, int(run.list_offsets[-1]), "list_offsets")
        require(
            len(run.clauses) == (int(run.list_offsets[-1]) if self.of_clauses else 0),
            "'clauses' does not fit the entries",
        )
        require_range(self._entries(), 0, 2 * self.size, "entries")
        require(self.layout.direct or lists > 0 or len(self.zeros) == self.size, "the lists are missing")
        self._most_clauses = _most_clauses(store, run.units) if self.of_clauses else 0
        self.cluster(store, bounds)

    def _check_groups(self) -> None:
        run, groups = self.arrays, len(self.arrays.group_starts)
        require(len(run.group_offsets) == len(run.sizes) + 1, "'group_offsets' does not fit the sizes")
        require_offsets(run.group_offsets, groups, "group_offsets")
        require(len(run.group_attributes) == groups, "'group_attributes' does not fit the groups")
        require(bool((np.diff(run.group_starts) > 0).all()), "'group_starts' does not grow")
        require_range(run.group_starts, 0, max(1, self.size), "group_starts")

    def _entries(self) -> NDArray[np.int32]:
        """All entries, taken out of their blocks if need be."""
        run = self.arrays
        if not self.compressed:
            require(len(run.entries) == self.postings, "'entries' does not fit the lists")
            return run.entries
        counts = np.diff(run.list_offsets)
        blocks = np.concatenate(([0], np.cumsum((counts + BLOCK - 1) // BLOCK)))
        require(len(run.entries) == 0, "'entries' stands beside its blocks")
        require(np.array_equal(run.block_offsets, blocks), "'block_offsets' does not fit the lists")
        require(len(run.bases) == len(run.places) == int(blocks[-1]), "the arrays of blocks differ in length")
        entries = np.empty(self.postings, np.int32)
        sound = decompress(run.list_offsets, run.block_offsets, run.bases, run.places, run.data, 2 * self.size, entries)
        require(sound, "a block reaches out of 'data', or an entry beyond the units")
        return entries

    def audit(self, store: ConjunctionStore) -> list[str]:
        """Whether the run is what its units, as the store holds them, would be laid out to."""
        levels, units = len(self.arrays.levels), self.arrays.units
        form = "cnf" if self.of_clauses else "dnf"
        if attribute_count(store.encoded(units).attributes) > levels:
            return [f"{form}: 'levels' has no room for some attribute of a run of {self.size} units"]
        fresh = run_arrays(store.view(), levels, units, self.of_clauses, self.layout)
        pairs = zip(fresh._fields, fresh, self.arrays, strict=True)
        wrong = [
            str(name) for name, wanted, there in pairs if not np.array_equal(np.asarray(wanted), np.asarray(there))
        ]
        return [f"{form}: {', '.join(wrong)} of a run of {self.size} units should be others"] if wrong else []


def _most_clauses(store: ConjunctionStore, units: NDArray[np.int32]) -> int:
    return int(shapes_of(store.view(), units).clauses.max(initial=0))


FORMS = ("dnf", "cnf")
Runs: TypeAlias = dict[str, tuple[Run, ...]]


class RunLists(Field):
    """The runs of each form, as a field of the engine's state: run i of `dnf` is saved under the names `dnfi.…`."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, state: None, owner: type) -> RunLists: ...
        @overload
        def __get__(self, state: State, owner: type) -> Runs: ...
        def __get__(self, state: State | None, owner: type) -> RunLists | Runs: ...

        def __set__(self, state: State, runs: Runs) -> None: ...

    def start(self, state: State) -> None:
        self.put(state, dict.fromkeys(FORMS, ()))

    def arrays(self, state: State) -> dict[str, NDArray[Any]]:
        runs: Runs = self.held(state)
        named = [(f"{form}{place}", run.arrays) for form in runs for place, run in enumerate(runs[form])]
        return {f"{prefix}.{name}": array for prefix, own in named for name, array in own._asdict().items()}

    def header(self, state: State) -> dict[str, Any]:
        return {form: len(runs) for form, runs in self.held(state).items()}

    def restore(self, state: Any, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        for form in FORMS:
            count, asked = range(saved_count(header, form)), (form == "cnf", state.layout)
            runs = (Run.restored(arrays, f"{form}{place}.", *asked) for place in count)
            self.held(state)[form] = tuple(runs)

    def check(self, state: Any) -> None:
        bounds = None if state.bounds is None else state.bounds.view()
        for runs in self.held(state).values():
            for run in runs:
                run.check(state.store, state.extent("states"), bounds)

    def nbytes(self, state: State) -> int:
        return sum(run.nbytes for runs in self.held(state).values() for run in runs)
