"""Predicate spaces as a PS-Tree (VLDB 2018, section 4): one tree an attribute, by the elements of its constants.

The leaves are the spaces, in a list from the lowest to the highest. Each but the first begins at a boundary, which
the tree leads to: element by element down inner nodes, whose links l, e and g lead to the leaves below, at and above
what they stand for, so that a look-up costs at most as many steps as a constant has elements, however many constants
there are. A new boundary splits the leaf that it lies in, one without references is merged into the leaf before it.

The paper's predicates list the leaves that they cover; here a predicate is two boundaries, and a leaf counts those
that begin or end at it, so that no insertion walks the list. It is also why neighbours merge for want of a
boundary between them, and not because as many predicates cover one as the other, as 4.4 has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces import _lookup_kernels as space_kernels
from matchwood.encoding.spaces import labelled as labelled_spaces
from matchwood.encoding.spaces import labels as labelling
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.boundaries import Boundaries
from matchwood.encoding.spaces.decimals import Decimals
from matchwood.encoding.spaces.event_counters import CountedAside
from matchwood.encoding.spaces.integer_keys import IntegerKeys
from matchwood.encoding.spaces.key_columns import KeyColumn, frozen
from matchwood.encoding.spaces.keys import DOUBLE, fine_bytes
from matchwood.encoding.spaces.labelled import LabelledSpaces
from matchwood.encoding.spaces.number_keys import value_keys
from matchwood.encoding.spaces.pstree import _change_kernels as changes
from matchwood.encoding.spaces.pstree import _lookup_kernels as kernels
from matchwood.encoding.spaces.pstree._audit_kernels import PROBLEMS, inspect
from matchwood.encoding.spaces.pstree._lookup_kernels import LABEL, LENGTH, NEXT, PREV, RECENT, REFERENCES
from matchwood.encoding.spaces.pstree.keys import (
    ElementKeys,
    column_of,
    heads_of,
    key_of,
    keys_of_column,
    keys_of_numbers,
    keys_of_strings,
    python_key,
)
from matchwood.encoding.spaces.pstree.rows import TreeRows
from matchwood.encoding.spaces.string_keys import StringKeys
from matchwood.errors import CorruptSnapshot


class PSTree(LabelledSpaces):
    """The boundaries of one attribute; `Spaces` says what each method does.

    >>> tree = PSTree("int")
    >>> low, high = tree.add_many([18, 65]).tolist()
    >>> [tree.locate(age) == low for age in (17, 18, 64, 65)]
    [False, True, True, False]
    >>> len(tree), tree.audit()
    (2, [])
    """

    def __init__(self, kind: str, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        super().__init__(kind, arrays)
        self._arrays = arrays
        self._unit, self._last = 1, -1

    @cached_property
    def _tree(self) -> TreeRows:
        """Saved boundaries are hung into a tree when they are first needed: a million take a third of a second."""
        arrays = self._arrays
        if arrays is None:
            return TreeRows()
        try:
            keys = self.columns.of_arrays(arrays)
            held = Boundaries(keys, arrays["labels"], arrays["counts"], np.zeros(len(keys), np.bool_))
            return _planted(held)
        except (LookupError, ValueError) as error:
            raise CorruptSnapshot(f"the boundaries of an attribute are damaged ({error!r})") from error

    def __len__(self) -> int:
        return len(self._tree)

    # ---------------------------------------------------------------- look-up

    def _label_at(self, key: Any) -> int:
        head, data, start, length = key_of(self.kind, key)
        reading = self._tree.reading
        if length == 8 and self.kind != "string":
            return int(kernels.locate_heads(*reading[:4], frozen(np.array([head], np.uint64)))[0])
        return int(kernels.locate_key(*reading, np.uint64(head), data, start, length))

    def _is_boundary(self, key: Any) -> bool:
        label = self._label_at(key)
        if label == BOTTOM_LABEL:
            return False
        return bool(self._key_of(label) == key)

    def locate_many(self, elements: NDArray[Any] | Strings | Decimals) -> NDArray[np.int32]:
        if isinstance(elements, Decimals):
            return self._locate_decimals(elements)
        if isinstance(elements, Strings):
            offsets, data = frozen(elements.offsets), frozen(elements.data)
            return self._locate(keys_of_strings(space_kernels.prefixes(offsets, data), Strings(offsets, data)))
        if self.columns is IntegerKeys:
            return self._locate_heads(heads_of(elements))
        return self._locate_pairs(*value_keys(elements))

    def _locate_pairs(self, primary: NDArray[np.int64], rest: NDArray[np.int16]) -> NDArray[np.int32]:
        """Where no boundary parts a double from the number that equals it, doubles are found by their heads alone."""
        if not rest.any() or not (self._parts_equals or (rest > DOUBLE).any()):
            return self._locate_heads(heads_of(primary))
        return self._locate(keys_of_numbers(primary, rest))

    def _locate_heads(self, heads: NDArray[np.uint64]) -> NDArray[np.int32]:
        found: NDArray[np.int32] = kernels.locate_heads(*self._tree.reading[:4], heads)
        return found

    def _locate(self, keys: ElementKeys) -> NDArray[np.int32]:
        found: NDArray[np.int32] = kernels.locate_keys(*self._tree.reading, *keys)
        return found

    # --------------------------------------------------------------- addition

    def _add(self, key: Any, count: int) -> int:
        tree, given = self._tree, key_of(self.kind, key)
        tree.reserve(1, given.length)
        leaf = changes.add_key(
            tree.writing, np.uint64(given.head), given.data, given.start, given.length, count, BOTTOM_LABEL
        )
        if leaf > 0:
            return tree.leaves.item(leaf, LABEL)
        label = self._new_label(key, -leaf)
        if label < 0:
            self._relabel_beside(-leaf)
            label = self._new_label(key, -leaf)
        tree.leaves[-leaf, LABEL] = label
        self._changed("split")
        return label

    def _new_label(self, key: Any, leaf: int) -> int:
        """A label for a new leaf, between those of its neighbours; -1 when there is no room."""
        leaves = self._tree.leaves
        before, after = leaves.item(leaf, PREV), leaves.item(leaf, NEXT)
        low = leaves.item(before, LABEL)
        high = leaves.item(after, LABEL) if after else TOP_LABEL
        direction = labelling.at_end(low, high)
        if direction is None:
            place = self.columns.place(self._key(before), key, self._key(after))
            recent = bool(leaves.item(before, RECENT)), bool(leaves.item(after, RECENT))
            direction = labelling.direction(low, high, place, self._last, *recent)
        self._last = labelling.between(low, high, direction, self._unit, len(self) - 1)
        return self._last

    def _key_of(self, label: int) -> Any:
        return self._key(int(self._leaves_one_by_one(np.array([label], np.int32))[0]))

    def _key(self, leaf: int) -> Any:
        """The Python form of a boundary's key."""
        tree = self._tree
        head, start = tree.leaf_words[leaf].tolist()[:2]
        length, start = tree.leaves.item(leaf, LENGTH), (start + 8) % 2**64
        return python_key(self.kind, head, tree.pool[start : start + max(length - 8, 0)].tobytes(), length)

    def _relabel_beside(self, leaf: int) -> None:
        """Give all boundaries but a new one new labels."""
        order = self._order()
        place = int(np.flatnonzero(order == leaf)[0])
        self._relabel(np.delete(order, place), place)

    def _relabel(self, order: NDArray[np.int64], full_gap: int = -1, old: NDArray[np.bool_] | None = None) -> None:
        """Give boundaries new labels; `old` tells which of them had any, all if left out."""
        leaves = self._tree.leaves
        labels, self._unit = labelling.assigned(leaves[order, RECENT] != 0, full_gap)
        known = np.ones(len(order), np.bool_) if old is None else old
        before = leaves[order[known], LABEL]
        leaves[order, LABEL], leaves[order, RECENT] = labels, 0
        self._last = -1
        self._was_relabelled(before, labels[known], len(order))

    def _add_column(self, keys: KeyColumn, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        given = keys_of_column(keys)
        held, before, fresh = self._held(), *self._ranks(given)
        labels = held.labels_for(keys.take(fresh), before[fresh], self._unit) if len(fresh) else None
        every = np.zeros(len(keys), np.int32)
        every[fresh] = 0 if labels is None else labels
        if len(self):
            self._tree.reserve(len(fresh), int(given.lengths[fresh].sum()))
            changes.add_keys(self._tree.writing, *given, frozen(counts), frozen(every))
        else:
            self._tree = _planted(Boundaries.fresh(keys, every, counts))
        if len(fresh):
            self._changed("split", len(fresh))
            if labels is None:
                order = self._order()
                self._relabel(order, old=self._tree.leaves[order, LABEL] != BOTTOM_LABEL)
        return self._locate(given)

    def _ranks(self, keys: ElementKeys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many boundaries are not above each key, and the positions of keys that are no boundary."""
        ranks = np.zeros(len(self._tree.leaves), np.int64)
        ranks[self._order()] = np.arange(1, len(self) + 1)
        found = kernels.find_keys(*self._tree.reading, *keys)
        return ranks[np.abs(found)], np.flatnonzero(found <= 0)

    # ---------------------------------------------------------------- release

    def release_many(self, labels: NDArray[np.int32], times: NDArray[np.int32] | None = None) -> None:
        inner = labels[labelling.is_inner(labels)] if times is None else np.repeat(labels, times)
        few = len(inner) <= max(labelled_spaces.FEW, len(self) // 256)
        leaves = self._leaves_one_by_one(inner) if few else self._leaves_in_order(inner)
        gone = changes.release_leaves(*self._tree.writing, leaves)
        if gone:
            self._changed("merged", gone)
            if self._tree.is_wasteful:
                held = self._held()
                self._tree = _planted(held)
                self.counters["moved"] += len(held.labels)

    def _leaves_one_by_one(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        reading = self._tree.reading
        found = [int(kernels.find_label(reading.nodes, reading.leaves, label)) for label in labels.tolist()]
        if not all(found):
            raise ValueError("a label to be released belongs to no boundary")
        return np.array(found, np.int64)

    def _leaves_in_order(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        order = self._order()
        own = self._tree.leaves[order, LABEL]
        positions = np.minimum(places_in(own, labels), len(own) - 1)
        if not len(own) or (own[positions] != labels).any():
            raise ValueError("a label to be released belongs to no boundary")
        found: NDArray[np.int64] = order[positions]
        return found

    # ------------------------------------------------------------------ state

    def _order(self) -> NDArray[np.int64]:
        """The leaves of all boundaries, along the list."""
        order: NDArray[np.int64] = kernels.in_order(self._tree.reading.leaves, len(self))
        return order

    def _space_labels(self) -> NDArray[np.int32]:
        leaves = self._tree.leaves
        return np.concatenate((leaves[:1, LABEL], leaves[self._order(), LABEL]))

    def _held(self) -> Boundaries:
        tree, order = self._tree, self._order()
        leaves, heads = tree.leaves[order], tree.leaf_words[order, 0]
        if self.kind == "string":
            keys: Any = StringKeys(*kernels.gather_keys(*tree.reading, order))
        else:
            rests = np.zeros(len(order), np.int16)
            further = np.flatnonzero(leaves[:, LENGTH] > 8)
            start = tree.leaf_words[order[further], 1].astype(np.int64) + 8
            rests[further] = tree.pool[start].astype(np.int16) * 256 + tree.pool[start + 1]
            keys = column_of(self.kind, heads, rests, self._fine_bytes(order))
        return Boundaries(keys, leaves[:, LABEL], leaves[:, REFERENCES], leaves[:, RECENT] != 0)

    def _fine_bytes(self, order: NDArray[np.int64]) -> NDArray[np.object_] | None:
        """The further bytes of keys, for most of them none."""
        lengths = self._tree.leaves[order, LENGTH]
        places = np.flatnonzero(lengths > 10).tolist()
        if not places:
            return None
        fine = np.full(len(order), b"", object)
        for place in places:
            fine[place] = fine_bytes(self._key(order.item(place)))
        return fine

    def arrays(self, counted: CountedAside | None = None) -> dict[str, NDArray[Any]]:
        held, observed = self._held(), (counted or self.counted_aside()).array()
        labels, counts = np.ascontiguousarray(held.labels), np.ascontiguousarray(held.counts)
        return {**held.keys.arrays(), "labels": labels, "counts": counts, "observed": observed}

    def stats(self) -> dict[str, int]:
        return {"boundaries": len(self), "bytes": self._tree.nbytes + self._events.nbytes, **self.counters}

    def audit(self) -> list[str]:
        tree = self._tree
        found = inspect(*tree.reading, tree.state.item(changes.NODES), len(tree))
        problems = [problem for number, problem in enumerate(PROBLEMS) if found >> number & 1]
        if problems:
            return problems
        held = self._held()
        if (np.diff(self._space_labels()) <= 0).any() or (held.labels >= TOP_LABEL).any():
            problems.append("labels of boundaries are not increasing")
        if (held.counts <= 0).any():
            problems.append("a boundary has no references")
        if (np.diff(held.keys.counts_up_to(held.keys)) != 1).any():
            problems.append("keys of boundaries are not increasing")
        return problems


def _planted(held: Boundaries) -> TreeRows:
    """A tree of boundaries in order; ValueError if they are not."""
    keys = keys_of_column(held.keys)
    tree = TreeRows(len(held.labels), int(np.maximum(keys.lengths - 8, 0).sum()))
    planted = changes.plant_keys(tree.writing, *keys, frozen(held.counts), frozen(held.labels))
    if planted != len(held.labels):
        raise ValueError("the boundaries are not in order")
    tree.leaves[1:, RECENT] = held.recent
    return tree
