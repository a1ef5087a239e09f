"""A run of the K-index: posting lists over some units, built at once and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.codes import NULL_LABEL, EncodedEvents
from matchwood.engines._kindex_build_kernels import decompress
from matchwood.engines._kindex_direct_kernels import match_direct, own_entries
from matchwood.engines._kindex_layout import BLOCK, EMPTY, Cursors, RunArrays
from matchwood.engines._kindex_match_kernels import match_run
from matchwood.engines._output import Output
from matchwood.engines._views import read_only, require, require_offsets, require_range, saved
from matchwood.engines.base import Hits
from matchwood.engines.conjunctions import ConjunctionStore
from matchwood.engines.kindex_build import SMALLEST_TABLE, run_arrays, shapes_of
from matchwood.engines.workspace import Workspace

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
    """Posting lists over units that are all conjunctions, or all conjunctions of clauses."""

    def __init__(self, arrays: RunArrays, of_clauses: bool, most_clauses: int) -> None:
        self.arrays = RunArrays(*(read_only(array, _DTYPES[name]) for name, array in arrays._asdict().items()))
        self.of_clauses, self._most_clauses = of_clauses, most_clauses
        self._own: NDArray[np.int64] | None = None
        self.bounds: Any = None
        self.own_bounds: Any = None
        """What its lists can add to a score, kept here by `kindex_top` once somebody ranks."""

    @classmethod
    def build(cls, store: ConjunctionStore, units: NDArray[np.int32], of_clauses: bool, compressed: bool) -> Run:
        """A run over these units of a store."""
        arrays = run_arrays(store.view(), store.attributes, units, of_clauses, compressed)
        return cls(arrays, of_clauses, _most_clauses(store, units) if of_clauses else 0)

    @classmethod
    def restored(cls, saved_arrays: Mapping[str, NDArray[Any]], prefix: str, of_clauses: bool) -> Run:
        """A run as it was saved; `check` it before use."""
        own = {name: saved(saved_arrays, f"{prefix}{name}", dtype) for name, dtype in _DTYPES.items()}
        return cls(RunArrays(**own), of_clauses, 0)

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
        return int(self.arrays.list_offsets[-1])

    @property
    def zeros(self) -> NDArray[np.int32]:
        """The units of size 0, which make up the Z list."""
        sizes, offsets = self.arrays.sizes, self.arrays.size_offsets
        return self.arrays.units[: offsets[1]] if len(sizes) and sizes[0] == 0 else self.arrays.units[:0]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def match(
        self,
        store: ConjunctionStore,
        states: NDArray[np.uint8],
        events: EncodedEvents,
        first: int,
        last: int,
        direct: bool,
        workspace: Workspace,
    ) -> Hits:
        """The hits among its units of the events first : last, as far as the output reaches."""
        output, cursors = Output(workspace, events, first, self.size), self.cursors(workspace)
        where = (cursors, output.units, output.offsets, output.work)
        if self.of_clauses or not direct:
            match_run(self.arrays, store.view(), states, self.of_clauses, events, first, last, *where)
        else:
            labels = workspace.array("labels", store.attributes, np.int32, NULL_LABEL)
            match_direct(
                self.arrays, self.own(), store.view(), states, events, first, last, cursors, labels,
                output.units, output.offsets, output.work,
            )  # fmt: skip
        return output.hits()

    def own(self) -> NDArray[np.int64]:
        """Where the own entries of each list begin and end; found when somebody first asks."""
        if self._own is None:
            own = np.empty(2 * len(self.arrays.list_sizes), np.int64)
            own_entries(self.arrays, own)
            self._own = own
        return self._own

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

    def check(self, store: ConjunctionStore, units: int) -> None:
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
        require(len(run.clauses) == (self.postings if self.of_clauses else 0), "'clauses' does not fit the entries")
        require_range(self._entries(), 0, 2 * self.size, "entries")
        self._most_clauses = _most_clauses(store, run.units) if self.of_clauses else 0

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
        fresh = run_arrays(store.view(), levels, units, self.of_clauses, self.compressed)
        pairs = zip(fresh._fields, fresh, self.arrays, strict=True)
        wrong = [
            str(name) for name, wanted, there in pairs if not np.array_equal(np.asarray(wanted), np.asarray(there))
        ]
        form = "cnf" if self.of_clauses else "dnf"
        return [f"{form}: {', '.join(wrong)} of a run of {self.size} units should be others"] if wrong else []


def _most_clauses(store: ConjunctionStore, units: NDArray[np.int32]) -> int:
    return int(shapes_of(store.view(), units).clauses.max(initial=0))
