"""Predicate spaces as sorted arrays: a large main part, and a small tail for what comes one by one.

The tail is merged into the main part when it has grown to a few times the square root of that, so that one
insertion costs the same whether there are a hundred boundaries or a million. In the main part a boundary
that nobody refers to any more takes over the label of the live one before it, which makes it invisible, until
the next merge drops it.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces import labelled as labelled_spaces
from matchwood.encoding.spaces import labels as labelling
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.boundaries import Boundaries
from matchwood.encoding.spaces.decimals import Decimals
from matchwood.encoding.spaces.event_counters import CountedAside
from matchwood.encoding.spaces.key_columns import KeyColumn, frozen
from matchwood.encoding.spaces.labelled import LabelledSpaces
from matchwood.encoding.spaces.lookups import Lookup, lookup_of
from matchwood.errors import CorruptSnapshot


@functools.cache
def _no_boundaries(columns: Any) -> Boundaries:
    return Boundaries.fresh(columns.of_keys([]), np.empty(0, np.int32), np.empty(0, np.int32))


class SortedSpaces(LabelledSpaces):
    """The boundaries of one attribute; `Spaces` says what each method does.

    >>> spaces = SortedSpaces("int")
    >>> low, high = spaces.add_many([18, 65]).tolist()
    >>> [spaces.locate(age) == low for age in (17, 18, 64, 65)]
    [False, True, True, False]
    """

    def __init__(self, kind: str, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        super().__init__(kind, arrays)
        self._arrays = arrays
        if arrays is None:
            self._main = _no_boundaries(self.columns)
        self._dead, self._unit, self._last = 0, 1, -1
        self._tail_keys: list[Any] = []
        self._tail_labels: list[int] = []
        self._tail_counts: list[int] = []
        self._tail: tuple[KeyColumn, NDArray[np.int32]] | None = None
        self._lookup: Lookup | None = None

    def __getattr__(self, name: str) -> Any:
        """Saved boundaries are taken in when they are first needed; from then on this is not called any more."""
        if name != "_main" or self._arrays is None:
            raise AttributeError(name)
        arrays = self._arrays
        try:
            keys, labels, counts = self.columns.of_arrays(arrays), arrays["labels"], arrays["counts"]
        except (LookupError, ValueError) as error:
            raise CorruptSnapshot(f"the boundaries of an attribute are damaged ({error!r})") from error
        self._main = Boundaries(keys, labels, counts, np.zeros(len(keys), np.bool_))
        return self._main

    def __len__(self) -> int:
        return len(self._main.labels) - self._dead + len(self._tail_labels)

    # ---------------------------------------------------------------- look-up

    def _label_at(self, key: Any) -> int:
        main = self._main.keys.find(key)[0]
        tail = bisect_right(self._tail_keys, key)
        return max(
            self._main.labels.item(main - 1) if main else BOTTOM_LABEL,
            self._tail_labels[tail - 1] if tail else BOTTOM_LABEL,
        )

    def _is_boundary(self, key: Any) -> bool:
        main, known = self._main.keys.find(key)
        tail = bisect_left(self._tail_keys, key)
        in_tail = tail < len(self._tail_keys) and self._tail_keys[tail] == key
        return in_tail or (known and self._main.counts.item(main - 1) > 0)

    def _key_of(self, label: int) -> Any:
        tail = bisect_left(self._tail_labels, label)
        if tail < len(self._tail_labels) and self._tail_labels[tail] == label:
            return self._tail_keys[tail]
        # Dead ones with the same label come behind.
        return self._main.keys.at(places_in(self._main.labels, label))

    def locate_many(self, elements: NDArray[Any] | Strings | Decimals) -> NDArray[np.int32]:
        if isinstance(elements, Decimals):
            return self._locate_decimals(elements)
        return self._main.keys.locate(frozen(self._main.labels), *self._tail_column(), elements)

    def _locate_pairs(self, primary: NDArray[np.int64], rest: NDArray[np.int16]) -> NDArray[np.int32]:
        keys: Any = self._main.keys
        found: NDArray[np.int32] = keys.located(frozen(self._main.labels), *self._tail_column(), primary, rest)
        return found

    def _tail_column(self) -> tuple[KeyColumn, NDArray[np.int32]]:
        tail = self._tail
        if tail is None:
            tail = self.columns.of_keys(self._tail_keys), frozen(np.array(self._tail_labels, np.int32))
            self._tail = tail
        return tail

    def lookup(self) -> Lookup | None:
        main, known = self._main, self._lookup
        if known is None or known.main is not main.labels or self._tail is None or known.tail is not self._tail[1]:
            known = self._lookup = lookup_of((main.keys, main.labels), self._tail_column())
        return known

    # --------------------------------------------------------------- addition

    def _add(self, key: Any, count: int) -> int:
        main, known = self._main.keys.find(key)
        if known:
            return self._count_main(main - 1, key, count)
        tail = bisect_left(self._tail_keys, key)
        if tail < len(self._tail_keys) and self._tail_keys[tail] == key:
            self._tail_counts[tail] += count
            return self._tail_labels[tail]
        label = self._new_label(key, main, tail)
        if label < 0:
            label, tail = self._label_after_relabelling(key), 0
        self._tail_keys.insert(tail, key)
        self._tail_labels.insert(tail, label)
        self._tail_counts.insert(tail, count)
        self._changed("split")
        if len(self._tail_keys) > max(256, 4 * math.isqrt(len(self._main.labels))):
            self._settle()
        return label

    def _count_main(self, position: int, key: Any, count: int) -> int:
        """One more reference to a boundary of the main part, which may have to come to life again."""
        labels, counts = self._writable()
        if counts.item(position):
            counts[position] += count
            return labels.item(position)
        label = self._new_label(key, position + 1, bisect_left(self._tail_keys, key))
        if label < 0:
            label = self._label_after_relabelling(key)
            self._tail_keys[:], self._tail_labels[:], self._tail_counts[:] = [key], [label], [count]
        else:
            labels[position : places_in(labels, labels[position], "right")] = label
            counts[position] = count
            self._main.recent[position] = True
            self._dead -= 1
        self._changed("split")
        return label

    def _new_label(self, key: Any, main: int, tail: int) -> int:
        """A label for a key with that many boundaries before it in the two parts; -1 when there is no room."""
        labels = self._main.labels
        low = labels.item(main - 1) if main else BOTTOM_LABEL
        after = places_in(labels, low, "right") if self._dead else main
        high = labels.item(after) if after < len(labels) else TOP_LABEL
        low_in_tail = tail > 0 and self._tail_labels[tail - 1] > low
        high_in_tail = tail < len(self._tail_labels) and self._tail_labels[tail] < high
        low = self._tail_labels[tail - 1] if low_in_tail else low
        high = self._tail_labels[tail] if high_in_tail else high
        direction = labelling.at_end(low, high)
        if direction is None:
            low_key = self._tail_keys[tail - 1] if low_in_tail else self._main.keys.at(main - 1)
            high_key = self._tail_keys[tail] if high_in_tail else self._main.keys.at(after)
            recent = self._main.recent
            direction = labelling.direction(
                low, high, self.columns.place(low_key, key, high_key), self._last,
                low_in_tail or recent.item(main - 1), high_in_tail or recent.item(after),
            )  # fmt: skip
        self._last = labelling.between(low, high, direction, self._unit, len(self))
        return self._last

    def _label_after_relabelling(self, key: Any) -> int:
        self._settle()
        main = self._main.keys.find(key)[0]
        self._relabel(full_gap=main)
        return self._new_label(key, main, 0)

    def _add_column(self, keys: KeyColumn, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Many at once: known ones are counted, the others get labels gap by gap and are merged in."""
        self._settle()
        if not len(self._main.labels) and len(keys):
            return self._begin(keys, counts)
        before = self._main.keys.counts_up_to(keys)
        known = before > 0
        known[known] = self._main.keys.same(before[known] - 1, keys.take(np.flatnonzero(known)))
        if known.any():
            self._writable()[1][before[known] - 1] += counts[known]
        if not known.all():
            fresh = np.flatnonzero(~known)
            self._insert_column(keys.take(fresh), counts[fresh], before[fresh])
        positions = before - 1 + np.cumsum(~known)
        return self._main.labels[positions]

    def _begin(self, keys: KeyColumn, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """The first of all boundaries, of which there are none to be merged with."""
        none, (labels, self._unit) = np.empty(0, np.int32), labelling.first(len(keys))
        self._changed("split", len(keys))
        self._was_relabelled(none, none, 0)
        self._main, self._last = Boundaries(keys, labels, counts, np.zeros(len(keys), np.bool_)), -1
        return labels

    def _insert_column(self, keys: KeyColumn, counts: NDArray[np.int32], before: NDArray[np.int64]) -> None:
        main, added = self._main, len(keys)
        labels = main.labels_for(keys, before, self._unit)
        fresh = Boundaries.fresh(keys, np.zeros(added, np.int32) if labels is None else labels, counts)
        order = np.argsort(np.concatenate((2 * np.arange(len(main.labels)) + 1, 2 * before)), kind="stable")
        self._main = main.joined(fresh).take(order)
        self._changed("split", added)
        if labels is None:
            self._relabel(known=order < len(main.labels), old=main.labels)

    # ---------------------------------------------------------------- release

    def release_many(self, labels: NDArray[np.int32], times: NDArray[np.int32] | None = None) -> None:
        inner = labels[labelling.is_inner(labels)] if times is None else labels
        if (len(inner) if times is None else int(times.sum())) <= max(labelled_spaces.FEW, len(self) // 256):
            for label in (inner if times is None else np.repeat(inner, times)).tolist():
                self._release(label)
            return
        if times is None:
            inner, counted = np.unique(inner, return_counts=True)
            times = counted.astype(np.int32)
        self._settle()
        own, counts = self._writable()
        positions = places_in(own, inner)
        if positions[-1] >= len(own) or (own[positions] != inner).any():
            raise ValueError("a label to be released belongs to no boundary")
        counts[positions] -= times
        if not counts[positions].all():
            self._drop_dead()

    def _release(self, label: int) -> None:
        tail = bisect_left(self._tail_labels, label)
        if tail < len(self._tail_labels) and self._tail_labels[tail] == label:
            self._tail_counts[tail] -= 1
            if not self._tail_counts[tail]:
                del self._tail_keys[tail], self._tail_labels[tail], self._tail_counts[tail]
                self._changed("merged")
            return
        self._release_main(label)

    def _release_main(self, label: int) -> None:
        labels, counts = self._writable()
        position = places_in(labels, label)
        if position == len(labels) or labels[position] != label:
            raise ValueError("a label to be released belongs to no boundary")
        counts[position] -= 1
        if counts[position]:
            return
        end = places_in(labels, label, "right")
        labels[position:end] = labels[position - 1] if position else BOTTOM_LABEL
        self._dead += 1
        self._changed("merged")
        if self._dead > max(256, len(labels) // 64):
            self._settle()

    def _drop_dead(self) -> None:
        alive = np.flatnonzero(self._main.counts)
        dropped = len(self._main.counts) - len(alive)
        if dropped:
            self._main = self._main.take(alive)
            self._changed("merged", dropped)

    def _space_labels(self) -> NDArray[np.int32]:
        main, tail = self._main.labels, self._tail_labels
        labels = np.empty(1 + len(main) + len(tail), np.int32)
        labels[0], labels[1 : 1 + len(main)], labels[1 + len(main) :] = BOTTOM_LABEL, main, tail
        return np.unique(labels) if self._dead or tail else labels

    # ------------------------------------------------------------ maintenance

    def _changed(self, what: str, times: int = 1) -> None:
        super()._changed(what, times)
        self._tail = None

    def _writable(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Labels and counts of the main part, copied if they still belong to a snapshot."""
        if not (self._main.labels.flags.writeable and self._main.counts.flags.writeable):
            self._main = self._main._replace(labels=self._main.labels.copy(), counts=self._main.counts.copy())
        return self._main.labels, self._main.counts

    def _held(self) -> Boundaries:
        """As one part; readers may be about."""
        main = self._main
        if self._dead:
            main = main.take(np.flatnonzero(main.counts))
        if not self._tail_keys:
            return main
        labels, counts = np.array(self._tail_labels, np.int32), np.array(self._tail_counts, np.int32)
        joined = main.joined(Boundaries.fresh(self.columns.of_keys(self._tail_keys), labels, counts))
        return joined.take(np.argsort(joined.labels, kind="stable"))

    def _settle(self) -> None:
        """Merge the tail into the main part, and drop what is dead there."""
        if self._tail_keys or self._dead:
            self._main = self._held()
            self.counters["moved"] += len(self._main.labels)
            self._dead, self._tail = 0, None
            self._tail_keys, self._tail_labels, self._tail_counts = [], [], []

    def _relabel(
        self, full_gap: int = -1, known: NDArray[np.bool_] | None = None, old: NDArray[np.int32] | None = None
    ) -> None:
        """Give all boundaries, settled before, new labels; `known` ones had the `old` labels until now."""
        labels, self._unit = labelling.assigned(self._main.recent, full_gap)
        old = self._main.labels if old is None else old
        new = labels if known is None else labels[known]
        self._was_relabelled(old, new, len(labels))
        self._main = self._main._replace(labels=labels, recent=np.zeros(len(labels), np.bool_))
        self._last = -1
        self._tail = None

    # ------------------------------------------------------------------ state

    def arrays(self, counted: CountedAside | None = None) -> dict[str, NDArray[Any]]:
        main, observed = self._held(), (counted or self.counted_aside()).array()
        return {**main.keys.arrays(), "labels": main.labels, "counts": main.counts, "observed": observed}

    def stats(self) -> dict[str, int]:
        main = self._main
        size = main.keys.nbytes + main.labels.nbytes + main.counts.nbytes + main.recent.nbytes + self._events.nbytes
        return {"boundaries": len(self), "bytes": size + 64 * len(self._tail_keys), **self.counters}

    def audit(self) -> list[str]:
        main = self._held()
        problems = []
        inner = (np.diff(main.labels, prepend=BOTTOM_LABEL) > 0).all() and (main.labels < TOP_LABEL).all()
        if not inner:
            problems.append("labels of boundaries are not increasing")
        if (main.counts <= 0).any():
            problems.append("a boundary has no references")
        if (np.diff(main.keys.counts_up_to(main.keys)) != 1).any():
            problems.append("keys of boundaries are not increasing")
        return problems
