"""Derived attributes: list tests and patterns, each distinct one a Boolean attribute of its own.

A `DerivedSource` holds all of them that test one name. Event encoders call it once for a batch, with the
distinct values of the column (or all of them: repetition costs time, not correctness):

    verdicts = source.derived.evaluate(values)     # pyarrow array without NULLs: string, large_string,
                                                   # list<int64> or list<string>; NULL elements are ignored
    verdicts.attributes[verdicts.offsets[i] : verdicts.offsets[i + 1]]    # what value i is encoded to,
    verdicts.labels[verdicts.offsets[i] : verdicts.offsets[i + 1]]        # ordered by attribute

A single event uses `evaluate_one(value)` with a str, or a list of int or str (None elements are ignored).

A verdict that no live rule can tell from NULL is left out: TRUE is told only if some rule accepts one of
TRUE and NULL but not both, and likewise FALSE. `width` is about how many pairs a value has whatever it is.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import Growable, giving_up
from matchwood.encoding.derived import _kernels as kernels
from matchwood.encoding.derived.keys import read_key
from matchwood.encoding.derived.lists import ListTable
from matchwood.encoding.derived.patterns import PatternTable, TextColumn
from matchwood.encoding.derived.recent import Recent
from matchwood.encoding.derived.tables import DerivedTable, ListColumn, Pairs
from matchwood.encoding.spaces.key_columns import frozen
from matchwood.errors import CorruptSnapshot

TRUE_LABEL = 2**30
"""The label of TRUE in every derived attribute, the middle of all labels; FALSE has BOTTOM_LABEL."""

_NONE: NDArray[np.int32] = np.empty(0, np.int32)


class Verdicts(NamedTuple):
    """The pairs of value i are attributes[offsets[i] : offsets[i + 1]] and the labels beside them."""

    offsets: NDArray[np.int64]
    attributes: NDArray[np.int32]
    labels: NDArray[np.int32]


class Register(Protocol):
    """What a source needs to know about its attributes, all by attribute number."""

    references: Growable
    needs_true: Growable
    needs_false: Growable

    def key(self, number: int) -> str: ...


class DerivedSource:
    """The derived attributes of one name. Changes never overlap evaluation, which may run in many threads.

    Tests stand in tables of growing size, as in a log-structured store: new ones make a table of their own, and
    tables are joined when the newer is at least a quarter of the older. So a test is laid out anew a few times only.
    """

    def __init__(self, name: str, kind: str, register: Register, numbers: NDArray[np.int32] = _NONE) -> None:
        self.name, self.kind = name, kind
        self._register = register
        self._initial = numbers
        self._live = len(numbers)
        self._pending: list[int] | None = None
        """Attributes that are in no table yet; None stands for all initial ones."""
        self._lock = threading.Lock()
        self._tables: list[DerivedTable] = []
        self._kept, self._memo = Recent(), Recent()
        self._negatives: NDArray[np.int32] | None = None

    @cached_property
    def _known(self) -> set[int]:
        """The attributes that are laid out in tables or about to be; some may no longer be referred to."""
        return set(self._initial.tolist())

    def __len__(self) -> int:
        return self._live

    def add(self, numbers: Sequence[int]) -> None:
        """Derived attributes of this source are referred to, and were not before."""
        self._live += len(numbers)
        fresh = [number for number in numbers if number not in self._known]
        if fresh:
            self._known.update(fresh)
            self._pending = [*self._waiting(), *fresh]
            self._kept.clear()
        self.changed()

    def remove(self, numbers: Sequence[int]) -> None:
        """Attributes are no longer referred to; their room is taken back when half of all are such."""
        self._live -= len(numbers)
        self.changed()
        if len(self._known) > 2 * self._live + 64:
            references = self._register.references.view()
            self._known = {known for known in self._known if references[known] > 0}
            self._pending, self._tables = sorted(self._known), []
            self._kept.clear()

    def changed(self) -> None:
        """What is needed of some attribute has changed."""
        self._negatives = None
        self._memo.clear()

    @property
    def width(self) -> int:
        """About how many pairs each value has, whatever it is: the tests whose FALSE some rule needs."""
        return len(self._needed_negatives())

    def evaluate(self, values: pa.Array) -> Verdicts:
        """The verdicts on a column of strings, or of lists."""
        pairs = self._kept_pairs(values) if self.kind == "string" else self._pairs(ListColumn.of_array(values))
        return self._verdicts(pairs, len(values))

    def evaluate_one(self, value: str | Sequence[int | str | None]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Attributes and labels for one value."""
        handle = value if isinstance(value, str) else tuple(value)
        known = self._memo.get(handle)
        if known is None:
            column = TextColumn(pa.array([value])) if isinstance(value, str) else ListColumn.of_value(value)
            verdicts = self._verdicts(self._pairs(column), 1)
            known = verdicts.attributes, verdicts.labels
            self._memo.keep(handle, known, known[0].nbytes + known[1].nbytes)
        return known

    def _pairs(self, column: ListColumn | TextColumn) -> Pairs:
        """What holds of each value, from all tables."""
        found = [table.satisfied(column) for table in self._prepared()]
        if not found:
            return Pairs(np.empty(0, np.int64), np.empty(0, np.int32))
        return found[0] if len(found) == 1 else Pairs(*map(np.concatenate, zip(*found, strict=True)))

    def _waiting(self) -> list[int]:
        return self._initial.tolist() if self._pending is None else self._pending

    def _prepared(self) -> list[DerivedTable]:
        """The tables, with what was added since the last evaluation."""
        if self._pending != []:
            with self._lock, giving_up():
                if self._waiting():
                    self._lay_out(self._waiting())
                self._pending = []
        return self._tables

    def _lay_out(self, attributes: list[int]) -> None:
        try:
            self._add_table(attributes)
        except (LookupError, TypeError, ValueError) as error:
            raise CorruptSnapshot(f"a test of {self.name!r} is damaged ({error!r})") from error

    def _add_table(self, attributes: list[int]) -> None:
        tests = [read_key(self._register.key(number)) for number in attributes]
        tables = list(self._tables)
        while tables and 4 * len(attributes) >= len(tables[-1].attributes):
            older = tables.pop()
            attributes, tests = [*older.attributes.tolist(), *attributes], [*older.tests, *tests]
        made: DerivedTable = (PatternTable if self.kind == "string" else ListTable)(attributes, tests)
        self._tables = [*tables, made]

    def _kept_pairs(self, texts: pa.Array) -> Pairs:
        """As `_pairs`, but only of texts that were not seen lately."""
        self._prepared()
        given = texts.to_pylist()
        found: list[Any] = [self._kept.get(text) for text in given]
        missing = [place for place, held in enumerate(found) if held is None]
        if missing:
            fresh = self._pairs(TextColumn(texts if len(missing) == len(given) else texts.take(pa.array(missing))))
            for place, held in zip(missing, _by_value(fresh, len(missing)), strict=True):
                found[place] = held
                self._kept.keep(given[place], held, held.nbytes)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        attributes = np.concatenate([np.empty(0, np.int32), *found])
        return Pairs(np.repeat(np.arange(len(found)), sizes), attributes)

    def _verdicts(self, pairs: Pairs, count: int) -> Verdicts:
        register, negatives = self._register, self._needed_negatives()
        coded = np.sort(pairs.values << 32 | pairs.attributes)
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(pairs.values, minlength=count), out=offsets[1:])
        found = (coded & 0xFFFFFFFF).astype(np.int32)
        needs = register.needs_true.view(), register.needs_false.view()
        return Verdicts(*kernels.emit(frozen(offsets), frozen(found), negatives, *needs, TRUE_LABEL))

    def _needed_negatives(self) -> NDArray[np.int32]:
        """The attributes whose FALSE some rule needs, increasing."""
        negatives = self._negatives
        if negatives is None:
            known = np.sort(np.fromiter(self._known, np.int32, len(self._known)))
            negatives = self._negatives = frozen(known[self._register.needs_false.view()[known] > 0])
        return negatives


def _by_value(pairs: Pairs, count: int) -> list[NDArray[np.int32]]:
    """The attributes of each value; equal ones share an array, since most values satisfy the same few."""
    order = np.argsort(pairs.values, kind="stable")
    attributes = pairs.attributes[order]
    places, starts = np.unique(pairs.values[order], return_index=True)
    held = [np.empty(0, np.int32)] * count
    shared: dict[bytes, NDArray[np.int32]] = {}
    for place, part in zip(places.tolist(), np.split(attributes, starts[1:]), strict=False):
        handle = part.tobytes()
        held[place] = shared[handle] = shared.get(handle, part)
    return held
