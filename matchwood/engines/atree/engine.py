"""The A-Tree: all expressions of an index as one tree with many roots, in which whatever is equal is shared.

Leaves are predicates, inner nodes AND and OR (without zero suppression also NOT, XOR and XNOR), and every distinct
predicate, sub-expression and expression is one node. It is an engine of its own, and stands beside the engines
that take conjunctions for the rules that have too many of them.

SIGMOD 2021, sections 4 and 5: construction and matching behind one structure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Growable, Number, Part, require, widened
from matchwood.encoding import EncodedConjunctions, EncodedEvents, EncodedForms
from matchwood.engines.atree import audit as atree_audit
from matchwood.engines.atree import options as atree_options
from matchwood.engines.atree import stats as atree_stats
from matchwood.engines.atree._remove_kernels import remove_nodes
from matchwood.engines.atree._unit_kernels import assign_units, spread_shares
from matchwood.engines.atree.check import check_restored
from matchwood.engines.atree.constraints import relabel, renumber
from matchwood.engines.atree.construction._entry_kernels import ATTRIBUTES, MADE, MERGED, NEEDED, REPORTS
from matchwood.engines.atree.construction.insert import enter_forms
from matchwood.engines.atree.layout import CHILD_WASTE, EDGES, PARENT_WASTE, STALE_LEAVES, UNIT, WIDTH
from matchwood.engines.atree.leaves import LeafLists, leaf_shares, selected
from matchwood.engines.atree.match import match_events, search_events
from matchwood.engines.atree.nodes import TreeNodes
from matchwood.engines.atree.order import laid_out
from matchwood.engines.base import Hits, Structure
from matchwood.engines.shared.one_event import OneEventSearch
from matchwood.engines.shared.units import UnitTable
from matchwood.engines.shared.views import read_only
from matchwood.engines.shared.workspace import Workspace

NO_NODE = -1
"""The root of the unit that is true of every event, and of dead ones."""

_SPARE_NODES = 4096


class AddedForms(NamedTuple):
    """What adding a batch came to: the unit of each form, and the constraints that the tree had already."""

    units: NDArray[np.int32]
    repeated: EncodedConjunctions


class ATree(UnitTable, Structure):
    """Distinct expressions, numbered as units, with the number of rules that use each.

    Work: candidates are the inner nodes that a child reached, and the leaves and constants that are units themselves;
    verified are the nodes whose children were looked at.
    """

    name: ClassVar[str] = "atree"
    unit_kind: ClassVar[str] = "forms"
    options: ClassVar[Mapping[str, Any]] = atree_options.DEFAULTS
    published: ClassVar[Mapping[str, Any]] = atree_options.PUBLISHED

    nodes = Part(lambda tree: TreeNodes())
    leaf_lists = Part(lambda tree: LeafLists(), nodes="nodes.count", attributes="attributes")
    _roots = Column(np.int32, length="held")
    _attributes = Number(0)

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._configure(options)
        self.start()
        self.report = np.zeros(REPORTS, np.int64)
        """What the last batch came to, as `_entry_kernels` describes."""
        self.counters = self.report[:NEEDED]
        """Since it was made or opened: nodes covered by others, links saved by that, nodes adopted, operands merged."""

    def start(self) -> None:
        super().start()
        self._held = Growable(np.int32)
        self._always, self._attributes = -1, 0

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        super().restore(arrays, header)
        # Kernels that build count uses in four bytes: none of them looks for the end of a byte.
        if self._held.view().dtype != np.int32:
            self._held = widened(self._held)

    def invariants(self) -> None:
        super().invariants()
        check_restored(self.nodes, self.roots, self.alive, self._attributes, self.settings["unique"])
        always = np.flatnonzero((self.roots == NO_NODE) & self.alive)
        require(len(always) < 2, "two units are true of every event")
        self._always = int(always[0]) if len(always) else -1

    # ------------------------------------------------------------------ reading

    @property
    def attributes(self) -> int:
        """One more than the largest attribute of any leaf."""
        return self._attributes

    @property
    def roots(self) -> NDArray[np.int32]:
        """The node of each unit; NO_NODE for the unit that is always true, and for dead ones; read-only."""
        return self._roots.view()

    @property
    def on_demand(self) -> bool:
        """Whether an AND node hears of its access child only; without zero suppression, matching sees to that."""
        return bool(self.settings["on_demand"] and self.settings["zero_suppression"])

    @property
    def flat(self) -> bool:
        """Whether operands of an operand of the same kind count as a node's own."""
        return not self.settings["binary"]

    @property
    def bytes_verify(self) -> int:
        """The bytes that evaluation reads."""
        return self.nodes.bytes_of("nodes", "children", "intervals")

    @property
    def bytes_shared(self) -> int:
        """The bytes that find equal nodes and count uses."""
        shared = self.nodes.bytes_of("ids", "table", "rooms", "shares")
        return shared + self.roots.nbytes + self._held.nbytes

    def always(self) -> NDArray[np.int32]:
        """Live units that are true of every event: one at most."""
        return np.array([] if self._always < 0 else [self._always], np.int32)

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        self.check()
        return match_events(self, events, first, workspace)

    def one_event(self, workspace: Workspace) -> OneEventSearch:
        self.check()
        return search_events(self, workspace)

    # ------------------------------------------------------------------ insertion

    def add(self, encoded: EncodedForms) -> AddedForms:
        """Take expressions in, and count one use of each; what is new of them becomes nodes."""
        self.check()
        leaves, inner = len(encoded.leaf_kinds), len(encoded.kinds)
        places = enter_forms(self, encoded)
        units = self._enter_units(encoded, places)
        report = self.report.tolist()
        self._attributes = max(self._attributes, report[ATTRIBUTES])
        repeated, is_new = encoded.constraints, places[leaves + inner : 2 * leaves + inner]
        if report[MADE]:
            self.leaf_lists.add(self.nodes, self._attributes, places[:leaves][is_new != 0])
            repeated = selected(repeated, np.flatnonzero(is_new == 0))
        if report[MERGED]:
            self._remove(places[leaves : leaves + inner])
            self.report[MERGED] = 0
        return AddedForms(units, repeated)

    def _enter_units(self, encoded: EncodedForms, places: NDArray[np.int32]) -> NDArray[np.int32]:
        if len(encoded.roots) == 1:
            root = int(encoded.roots[0])
            return np.array([self._unit_of(NO_NODE if root < 0 else int(places[root]))], np.int32)
        units, before = np.empty(encoded.count, np.int32), self.count
        most = before + len(units)
        self._roots.resize(most, NO_NODE)
        self._held.resize(most)
        count, self._always = assign_units(
            self.nodes.tree().nodes, read_only(encoded.roots, np.int32), places, before, self._always,
            self._roots.writable(), self._held.writable(), units,
        )  # fmt: skip
        self._roots.resize(count)
        self._held.resize(count)
        self._live += count - before
        return units

    def _unit_of(self, node: int) -> int:
        """The unit of a root, a new one if it has none, and one use more for it."""
        fields = self.nodes.tree().nodes
        unit = self._always if node == NO_NODE else int(fields[WIDTH * node + UNIT])
        if unit >= 0:
            self._held.writable()[unit] += 1
            return unit
        unit = self._roots.append(node)
        self._held.append(2)
        self._live += 1
        if node == NO_NODE:
            self._always = unit
        else:
            fields[WIDTH * node + UNIT] = unit
        return unit

    # ------------------------------------------------------------------ deletion

    def free(self, units: NDArray[np.int32]) -> EncodedConjunctions:
        """Forget units without uses, and all nodes that nothing else needs; returns the constraints that went."""
        self.check()
        self._bury(units)
        roots = self.roots[units].copy()
        self._roots.writable()[units] = NO_NODE
        self._always = -1 if (roots == NO_NODE).any() else self._always
        roots = roots[roots != NO_NODE]
        self.nodes.columns["nodes"].writable()[WIDTH * roots.astype(np.int64) + UNIT] = -1
        gone = self._remove(roots)
        released = self.nodes.encoded(gone)
        if self._wasteful():
            self.rebuild()
        return released

    def _remove(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Take out those of these nodes that are not needed, and what is below; returns the leaves that went."""
        pending = np.empty(2 * self.nodes.count + len(nodes), np.int32)
        pending[: len(nodes)] = nodes
        gone, needed = np.empty(self.nodes.count, np.int32), np.zeros(2, np.int64)
        found, waiting = 0, len(nodes)
        self.nodes.reserve()
        while waiting:
            more, waiting = remove_nodes(
                self.nodes.tree(), pending, waiting, self.flat, self.on_demand, gone[found:], needed
            )
            found += more
            self.nodes.reserve(children=int(needed[0]), parents=int(needed[1]))
        return gone[:found]

    def _wasteful(self) -> bool:
        """Whether more than half of something is left over from what is gone."""
        state, edges = self.nodes.state, 2 * int(self.nodes.state[EDGES]) + _SPARE_NODES
        stale = 2 * int(state[STALE_LEAVES]) > self.nodes.count + _SPARE_NODES
        return bool(stale or state[CHILD_WASTE] > edges or state[PARENT_WASTE] > 4 * edges)

    # ------------------------------------------------------------------ upkeep

    def rebuild(self) -> None:
        """Lay nodes and lists out tightly, in the order in which matching reads them."""
        self.check()
        moved = laid_out(self.nodes)
        roots = self._roots.writable()
        known = roots != NO_NODE
        roots[known] = moved[roots[known]]
        self._weigh()
        self.leaf_lists = LeafLists()
        self.leaf_lists.add(self.nodes, self._attributes, self.nodes.leaves())

    def _weigh(self) -> None:
        """Choose access children by what is known of events now."""
        if self.event_statistics is None or not self.event_statistics.events:
            return
        leaves, inner = self.nodes.leaves(), self.nodes.inner()
        shares = leaf_shares(self.nodes.encoded(leaves), self.event_statistics)
        self.nodes.columns["shares"].writable()[leaves] = shares
        ordered = inner[np.argsort(self.nodes.levels()[inner], kind="stable")]
        spread_shares(self.nodes.tree(), read_only(ordered, np.int32), self.on_demand)

    def relabel(self, attribute: int, old: NDArray[np.int32], new: NDArray[np.int32]) -> None:
        """Replace the labels of one attribute wherever they are stored; those not in `old` stay. Rebuild afterwards."""
        self.check()
        relabel(self.nodes, attribute, old, new)
        self.nodes.reserve()
        self.nodes.refill_table()

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Give all attributes the numbers[old]. Rebuild afterwards."""
        self.check()
        self._attributes = renumber(self.nodes, numbers)
        self.nodes.reserve()
        self.nodes.refill_table()

    def compact(self) -> NDArray[np.int32]:
        """Give back the numbers of dead units; returns old number to new, -1 for the dead. Rebuild afterwards."""
        self.check()
        alive, remap = self.alive, self._compacted()
        roots, held = self.roots[alive], self._held.view()[alive]
        self._roots, self._held, self._live = Growable(np.int32, roots), Growable(np.int32, held), len(held)
        known = roots != NO_NODE
        self._always = int(remap[self._always]) if self._always >= 0 else -1
        units = np.arange(len(roots), dtype=np.int32)
        self.nodes.columns["nodes"].writable()[WIDTH * roots[known].astype(np.int64) + UNIT] = units[known]
        return remap

    # ------------------------------------------------------------------ trust

    def stats(self) -> dict[str, Any]:
        self.check()
        return atree_stats.stats(self)

    def audit(self) -> list[str]:
        self.check()
        return self._audit_units() + atree_audit.audit(self)
