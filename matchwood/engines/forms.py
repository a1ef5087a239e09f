"""The store of forms: rules that are too large for a DNF, each distinct one once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood._arrays import Growable
from matchwood.encoding.codes import EncodedConjunctions, EncodedForm
from matchwood.engines._form_kernels import AND, OR, hash_all, hash_form, pack_all
from matchwood.engines._record_kernels import WIDTH, same_records
from matchwood.engines._records import attribute_count, relabel, renumber, side_intervals, unpacked
from matchwood.engines._views import read_only_conjunctions, saved, saved_count
from matchwood.engines.form_arrays import FORM_ARRAYS, Forms, check_forms
from matchwood.engines.units import UnitTable
from matchwood.errors import InvalidArgument


class FormStore(UnitTable):
    """Distinct forms, numbered as units, with the number of rules that use each.

    Two forms are the same when their integers are: the encoding writes equal forms equally.
    """

    def __init__(self) -> None:
        super().__init__()
        self._start()

    def _start(self) -> None:
        begins = {"offsets": [0], "node_offsets": [0], "child_offsets": [0]}
        self._columns = {name: Growable(dtype, begins.get(name)) for name, dtype in FORM_ARRAYS.items()}
        self._by_hash: dict[int, list[int]] | None = {}
        self._attributes = 0
        self._most_nodes = 0
        self._sound = True

    # ------------------------------------------------------------------ reading

    @property
    def attributes(self) -> int:
        """One more than the largest attribute of any form: the size of a dense array of labels."""
        return self._attributes

    @property
    def most_nodes(self) -> int:
        """The number of nodes of the largest form."""
        return self._most_nodes

    @property
    def bytes_verify(self) -> int:
        """The bytes that evaluation reads."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def bytes_shared(self) -> int:
        """The bytes that count uses."""
        return self._uses.nbytes + self._alive.nbytes

    def view(self) -> Forms:
        """The arrays for kernels; a restored state is checked before it is handed out for the first time."""
        self.check()
        return self._view()

    def _view(self) -> Forms:
        return Forms(*(column.view() for column in self._columns.values()))

    def encoded(self, units: NDArray[np.int32]) -> EncodedConjunctions:
        """The constraints of these forms, one list a form; also of dead ones, until `compact`."""
        view = self.view()
        return unpacked(view.offsets, view.records, view.intervals, units)

    def form(self, unit: int) -> EncodedForm:
        """One form, as it was added."""
        view = self.view()
        start, stop = view.node_offsets[unit], view.node_offsets[unit + 1]
        child_offsets = view.child_offsets[start : stop + 1]
        nodes = view.nodes[start:stop]
        return EncodedForm(
            self.encoded(np.array([unit], dtype=np.int32)),
            np.where(nodes >= 0, nodes, -1).astype(np.int32),
            nodes == AND,
            child_offsets - child_offsets[0],
            view.children[child_offsets[0] : child_offsets[-1]].copy(),
        )

    # ------------------------------------------------------------------ changes

    def add(self, form: EncodedForm) -> tuple[int, bool]:
        """Store a form unless it is there, and count one use; returns its unit and whether it is new."""
        self.check()
        before = {name: len(column) for name, column in self._columns.items()}
        unit = self.count
        self._append(form)
        key = int(hash_form(self._view(), unit))
        for other in self._index().get(key, []):
            if self._same(unit, other):
                self._cut(before)
                self._uses.writable()[other] += 1
                return other, False
        self._index().setdefault(key, []).append(unit)
        self._enter(form)
        return unit, True

    def _append(self, form: EncodedForm) -> None:
        """Write a form behind the last one."""
        if not len(form.leaf):
            raise InvalidArgument("a form must have at least one node")
        columns, source = self._columns, read_only_conjunctions(form.constraints)
        constraints, used = len(columns["records"]) // WIDTH, len(columns["intervals"]) // 2
        columns["records"].resize(WIDTH * (constraints + len(source.attributes)))
        columns["intervals"].resize(2 * (used + side_intervals(source)))
        pack_all(source, columns["records"].writable(), constraints, columns["intervals"].writable(), used)
        columns["offsets"].append(constraints + len(source.attributes))
        columns["nodes"].extend(np.where(form.leaf >= 0, form.leaf, np.where(form.is_and, AND, OR)))
        columns["node_offsets"].append(len(columns["nodes"]))
        columns["child_offsets"].extend(len(columns["children"]) + np.asarray(form.child_offsets)[1:])
        columns["children"].extend(form.children)

    def _enter(self, form: EncodedForm) -> None:
        self._uses.append(1)
        self._alive.append(True)
        self._live += 1
        self._most_nodes = max(self._most_nodes, len(form.leaf))
        self._attributes = max(self._attributes, attribute_count(form.constraints))

    def _cut(self, lengths: Mapping[str, int]) -> None:
        for name, length in lengths.items():
            self._columns[name].resize(length)

    def _same(self, one: int, other: int) -> bool:
        view = self._view()
        first, second = view.offsets[one], view.offsets[other]
        count = view.offsets[one + 1] - first
        return (
            count == view.offsets[other + 1] - second
            and all(np.array_equal(*pair) for pair in zip(self._shape(one), self._shape(other), strict=True))
            and bool(same_records(view.records, view.intervals, first, second, count))
        )

    def _shape(self, unit: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The nodes of a form without its constraints."""
        view = self._view()
        start, stop = view.node_offsets[unit], view.node_offsets[unit + 1]
        child_offsets = view.child_offsets[start : stop + 1]
        children = view.children[child_offsets[0] : child_offsets[-1]]
        return view.nodes[start:stop], child_offsets - child_offsets[0], children

    def _index(self) -> dict[int, list[int]]:
        """Live units by their hash; made anew after a restore or when labels changed."""
        if self._by_hash is None:
            self._by_hash = {}
            for unit, key in zip(self.live_units().tolist(), self._hashes()[self.alive].tolist(), strict=True):
                self._by_hash.setdefault(key, []).append(unit)
        return self._by_hash

    def _hashes(self) -> NDArray[np.uint64]:
        hashes = np.empty(self.count, dtype=np.uint64)
        hash_all(self._view(), hashes)
        return hashes

    def free(self, units: NDArray[np.int32]) -> None:
        """Forget units without uses: they are dead from now on, and their numbers stay taken."""
        self.check()
        index, view = self._index(), self._view()
        self._bury(units)
        for unit in units.tolist():
            key = int(hash_form(view, unit))
            index[key].remove(unit)
            if not index[key]:
                del index[key]

    def relabel(self, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Replace the labels of one attribute wherever they are stored; those not in `old` stay."""
        self.check()
        relabel(self._columns["records"], self._columns["intervals"], attribute, old, new)
        self._by_hash = None

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Give all attributes the numbers[old], which are in the same order; there must be no dead units."""
        self.check()
        self._attributes = renumber(self._columns["records"], numbers)
        self._by_hash = None

    def compact(self) -> NDArray[np.int32]:
        """Give back the room of dead units; returns the new number of each old one, -1 for the dead."""
        remap, uses = self._compacted(), self.uses[self.alive]
        forms = [self.form(unit) for unit in self.live_units().tolist()]
        super().__init__()
        self._start()
        for form in forms:
            self.add(form)
        self._uses.writable()[:] = uses
        return remap

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, by name."""
        columns = {name: column.view() for name, column in self._columns.items()}
        return {**columns, "uses": self._uses.view(), "alive": self._alive.view()}

    def header(self) -> dict[str, Any]:
        """What is small and not an array."""
        return {"live": self._live, "attributes": self._attributes, "most_nodes": self._most_nodes}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; what it says is checked before a kernel first reads it."""
        uses, alive = saved(arrays, "uses", np.int32), saved(arrays, "alive", np.bool_)
        super().__init__(uses, alive, saved_count(header, "live"))
        self._columns = {name: Growable(dtype, saved(arrays, name, dtype)) for name, dtype in FORM_ARRAYS.items()}
        self._attributes = saved_count(header, "attributes")
        self._most_nodes = saved_count(header, "most_nodes")
        self._by_hash = None
        self._sound = False

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays."""
        if self._sound:
            return
        view = self._view()
        self._check_units(len(view.offsets) - 1, len(view.node_offsets) - 1)
        check_forms(view, self._attributes, self._most_nodes)
        self._sound = True

    # ------------------------------------------------------------------ trust

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when the store is sound."""
        self.check()
        problems = self._audit_units()
        hashes, index = self._hashes(), self._index()
        lost = [unit for unit in self.live_units().tolist() if unit not in index.get(int(hashes[unit]), [])]
        if lost:
            problems.append(f"form {lost[0]} is not found by what it says ({len(lost)} such)")
        if sum(len(units) for units in index.values()) != self.live:
            problems.append("the table of forms holds dead ones")
        return problems
