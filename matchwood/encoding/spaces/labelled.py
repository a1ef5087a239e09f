"""What all implementations of predicate spaces share: remembered look-ups, the ways in, and the counted events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces import labels as labelling
from matchwood.encoding.spaces.base import MEMO_LENGTH, MEMO_SIZE, Relabelling
from matchwood.encoding.spaces.boundaries import Boundaries
from matchwood.encoding.spaces.decimals import Decimals
from matchwood.encoding.spaces.event_counters import CountedAside, EventCounters, check_sizes
from matchwood.encoding.spaces.integer_keys import IntegerKeys
from matchwood.encoding.spaces.key_columns import KeyColumn
from matchwood.encoding.spaces.keys import DOUBLE, double_keys
from matchwood.encoding.spaces.lookups import Lookup
from matchwood.encoding.spaces.number_keys import NumberKeys
from matchwood.encoding.spaces.string_keys import StringKeys

FEW = 8
"""Up to that many elements are added, or labels released, one by one."""

REACH = 16
"""How many doubles away from the one told for a fine decimal its own neighbours may lie."""


class LabelledSpaces(ABC):
    """The boundaries of one attribute; `Spaces` says what each method does."""

    def __init__(self, kind: str, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        self.kind = kind
        self.columns: Any = column_class(kind)
        self.relabellings: list[Relabelling] = []
        self.counters = {"split": 0, "merged": 0, "relabelled": 0, "moved": 0}
        self._events = EventCounters(arrays)
        self._memo: dict[Any, int] = {}
        self.memos: dict[Any, Any] = {}
        self._parting: bool | None = None if arrays is not None else False

    @staticmethod
    def check_saved(columns: Mapping[str, NDArray[Any]], starts: Mapping[str, NDArray[np.int64]]) -> None:
        sizes = {name: np.diff(each) for name, each in starts.items()}
        if "offsets" in sizes:
            _check_offsets(columns["offsets"], starts["offsets"], sizes.pop("data"))
            sizes["offsets"] = sizes["offsets"] - 1
        check_sizes(sizes.pop("observed"), sizes["labels"])
        # `NumberKeys.of_arrays` checks these: few boundaries have any.
        sizes = {name: size for name, size in sizes.items() if name not in ("fine", "fine_ends")}
        if not {"labels", "counts"} < sizes.keys() or any((size != sizes["labels"]).any() for size in sizes.values()):
            raise ValueError("the boundaries' keys, labels and counts differ in number")

    @abstractmethod
    def __len__(self) -> int: ...

    # ---------------------------------------------------------------- look-up

    def locate(self, element: Any) -> int:
        if type(element) is Decimal:
            return self.find(element)
        label = self._memo.get(element)
        if label is None:
            label = self.find(element)
            if self._parts_equals if isinstance(element, int | float) else len(element) > MEMO_LENGTH:
                return label
            if len(self._memo) >= MEMO_SIZE:
                self._memo.clear()
            self._memo[element] = label
        return label

    def find(self, element: Any) -> int:
        label: int = self._label_at(self.columns.value_key(element))
        return label

    @property
    def _parts_equals(self) -> bool:
        """Whether a boundary may part the double 1.0 from the integer 1, which Python's dicts take for one key."""
        if self._parting is None:
            self._parting = self.columns is NumberKeys and self._held().keys.parts_equals()  # type: ignore[attr-defined]
        return self._parting

    def _locate_decimals(self, column: Decimals) -> NDArray[np.int32]:
        """Most stand where a double does. Of the others, those with no boundary about need no closer look."""
        primary = double_keys(column.nearest)
        labels = self._locate_pairs(primary, np.zeros(len(primary), np.int16))
        fine = column.fine
        if not len(fine):
            return labels
        none = np.zeros(len(fine), np.int16)
        below, above = (self._locate_pairs(primary[fine] + step, none) for step in (-REACH, REACH))
        near = np.flatnonzero(below != above)
        values, codes = column.distinct(near)
        labels[fine] = below
        labels[fine[near]] = np.array([self.locate(value) for value in values], np.int32)[codes]
        return labels

    @abstractmethod
    def _locate_pairs(self, primary: NDArray[np.int64], rest: NDArray[np.int16]) -> NDArray[np.int32]:
        """The labels of the spaces of numbers, given by the parts of their keys."""

    def lookup(self) -> Lookup | None:
        return None

    def place(self, boundary: Any) -> tuple[int, bool]:
        key = self.columns.key(boundary)
        return self._label_at(key), self._is_boundary(key)

    @abstractmethod
    def _is_boundary(self, key: Any) -> bool:
        """Whether a live boundary stands at a key in its Python form."""

    @abstractmethod
    def _label_at(self, key: Any) -> int:
        """The label of the space that holds a key in its Python form."""

    def values_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        asked = np.unique(np.concatenate((low, high)))
        inner = asked[labelling.is_inner(asked)]
        least, past = ([key] for key in self.columns.ends(self.kind))
        keys = self.columns.of_keys(least).joined(self._keys_of(inner)).joined(self.columns.of_keys(past))
        labels = np.concatenate(([BOTTOM_LABEL], inner, [TOP_LABEL])).astype(np.int32)
        found: NDArray[np.float64] = keys.steps(places_in(labels, low), places_in(labels, high))
        return found

    def _keys_of(self, labels: NDArray[np.int32]) -> KeyColumn:
        """The keys of boundaries that have these labels, which increase."""
        if len(labels) <= max(FEW, len(self) // 256):
            few: KeyColumn = self.columns.of_keys([self._key_of(label) for label in labels.tolist()])
            return few
        held = self._held()
        return held.keys.take(places_in(np.ascontiguousarray(held.labels), labels))

    @abstractmethod
    def _key_of(self, label: int) -> Any:
        """The key of a boundary, in its Python form."""

    @abstractmethod
    def _held(self) -> Boundaries:
        """All live boundaries in order; changes nothing."""

    # --------------------------------------------------------------- addition

    def add_many(self, elements: Sequence[Any], counts: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        references = len(elements) if counts is None else int(counts.sum())
        if references <= FEW:
            each_counts = [1] * len(elements) if counts is None else counts.tolist()
            own = [self.columns.key(element) for element in elements]
            if self.columns is NumberKeys and any(key & 3 == DOUBLE for key in own):
                self._parting = True
            return self._add_few(own, each_counts)
        keys, inverse = self.columns.of_elements(elements)
        summed = np.bincount(inverse, counts, minlength=len(keys)).astype(np.int32)
        each: NDArray[np.int32] = self.add_keys(keys, summed)[inverse]
        return each

    def add_keys(self, keys: Any, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        if self.columns is NumberKeys and keys.parts_equals():
            self._parting = True
        if len(keys) <= max(FEW, len(self) // 256):
            return self._add_few([keys.at(place) for place in range(len(keys))], counts.tolist())
        return self._add_column(keys, counts)

    def _add_few(self, keys: list[Any], counts: list[int]) -> NDArray[np.int32]:
        """One by one; a label from before a relabelling is looked up again."""
        before = self.counters["relabelled"]
        labels = [self._add(key, count) for key, count in zip(keys, counts, strict=True)]
        if self.counters["relabelled"] != before:
            labels = [self._label_at(key) for key in keys]
        return np.array(labels, np.int32)

    @abstractmethod
    def _add(self, key: Any, count: int) -> int:
        """The label of one key's boundary, counted `count` times more."""

    @abstractmethod
    def _add_column(self, keys: KeyColumn, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Many at once: known ones are counted, the others get labels gap by gap."""

    # ----------------------------------------------------------------- events

    def observe(self, labels: NDArray[np.int32], times: NDArray[np.int64] | None = None) -> None:
        self._events.observe(labels, self._space_labels(), times)

    def observed_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        return self._events.between(low, high)

    def fade(self, factor: float) -> None:
        self._events.fade(factor)

    def counted_aside(self) -> CountedAside:
        return CountedAside(self._events.copy(), self._space_labels())

    @abstractmethod
    def _space_labels(self) -> NDArray[np.int32]:
        """The labels of all spaces in order, BOTTOM_LABEL first."""

    # ------------------------------------------------------------ maintenance

    def _changed(self, what: str, times: int = 1) -> None:
        self.counters[what] += times
        self._forget()

    def _forget(self) -> None:
        """Labels mean something else now."""
        self._memo.clear()
        for memo in self.memos.values():
            memo.clear()

    def _was_relabelled(self, old: NDArray[np.int32], new: NDArray[np.int32], moved: int) -> None:
        """Tell the owner of labels that changed; of `moved` boundaries some had none before."""
        self._events.relabel(old, new)
        if len(old):
            self.relabellings.append(Relabelling(np.array(old), np.array(new)))
            self.counters["relabelled"] += 1
            self.counters["moved"] += moved
        self._forget()


def _check_offsets(offsets: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
    """Each attribute's offsets must rise from 0 to the length of its data."""
    first, last = starts[:-1], starts[1:] - 1
    if (last < first).any() or (offsets[first] != 0).any() or (offsets[last] != lengths).any():
        raise ValueError("the offsets of boundaries do not fit their data")
    steps = np.diff(offsets)
    steps[last[:-1]] = 0
    if (steps < 0).any():
        raise ValueError("the offsets of boundaries do not increase")


def column_class(kind: str) -> Any:
    """The class of key columns for a kind of attribute."""
    if kind == "string":
        return StringKeys
    return NumberKeys if kind in ("number", "double") else IntegerKeys
