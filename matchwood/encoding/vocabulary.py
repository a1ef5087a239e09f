"""Numbers for attributes, labels for their values, and the counts of what live constraints refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import grouped, places_in, runs
from matchwood.encoding.attribute_table import DERIVED, AttributeTable
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL, EncodedConjunctions
from matchwood.encoding.derived.attributes import TRUE_LABEL, DerivedSource
from matchwood.encoding.derived.keys import is_derived, read_key
from matchwood.encoding.events.statistics import EventStatistics
from matchwood.encoding.schema.types import KINDS
from matchwood.encoding.spaces.base import Spaces
from matchwood.encoding.spaces.key_columns import KeyColumn
from matchwood.encoding.spaces.table import SpaceTable

FEW = 64
"""Up to that many constraints are counted one by one."""

_CODES = {kind: code for code, kind in enumerate(KINDS)}


class Vocabulary:
    """Attributes, their spaces, and their derived attributes by source."""

    def __init__(self, spaces: str) -> None:
        self.table = AttributeTable()
        self.spaces = SpaceTable(spaces, self.table.kind)
        self.derived: list[DerivedSource] = []
        self._derived_of: dict[tuple[str, str], int] = {}
        self.relabelled: list[tuple[int, NDArray[np.int32], NDArray[np.int32]]] = []
        self.event_statistics = EventStatistics(self)
        self.tells_false = False
        """Whether FALSE of a derived attribute is always told from NULL: an engine of three truth values needs it."""
        self.version = 0
        """Grows whenever the list of what events are asked for may have changed."""

    # ---------------------------------------------------------------- numbers

    def number(self, key: str, kind: str) -> int:
        """The attribute number for a key whose values are of a kind; `any` if only NULL matters.

        An attribute without live boundaries takes another kind. One that still has some of another kind, as when its
        last rule is being replaced, keeps them, and the key gets a new number.
        """
        number = self._known(key, kind)
        return number if number >= 0 else self.table.add(key, *self._entry(key, kind))

    def numbers(self, keys: Sequence[str], kinds: Sequence[str]) -> NDArray[np.int32]:
        """The same for many keys, all distinct."""
        found = np.array(list(map(self._known, keys, kinds)), np.int32)
        fresh = np.flatnonzero(found < 0).tolist()
        entries = [self._entry(keys[place], kinds[place]) for place in fresh]
        codes, sources = [code for code, _ in entries], [source for _, source in entries]
        found[fresh] = self.table.add_many([keys[place] for place in fresh], codes, sources)
        return found

    def _known(self, key: str, kind: str) -> int:
        """The number that a key has already and that will do; -1 if there is none."""
        number = self.table.number(key)
        if number < 0 or is_derived(key):
            return number
        spaces = self.spaces.get(number)
        if kind == "any" or kind == (self.table.kind(number) if spaces is None else spaces.kind):
            return number
        if spaces is not None and len(spaces):
            return -1
        self.event_statistics.begin(number)
        self.spaces.drop(number)
        self.table.kinds.writable()[number] = _CODES[kind]
        self.version += 1
        return number

    def _entry(self, key: str, kind: str) -> tuple[int, int]:
        """The kind and the source of a new attribute, as the table has them."""
        if not is_derived(key):
            return _CODES[kind], -1
        test = read_key(key)
        return DERIVED, self.derived_source(test.source, test.kind)

    def derived_source(self, name: str, kind: str) -> int:
        """The position in `derived` of a source."""
        place = self._derived_of.setdefault((name, kind), len(self.derived))
        if place == len(self.derived):
            self.derived.append(DerivedSource(name, kind, self.table))
        return place

    # ----------------------------------------------------------------- labels

    def add_values(
        self, number: int, elements: Sequence[Any], counts: NDArray[np.int64] | None = None
    ) -> NDArray[np.int32]:
        """The labels of boundaries before these elements, each referred to once more, or so many times more."""
        if self.table.kinds.view()[number] == DERIVED:
            return np.full(len(elements), TRUE_LABEL, np.int32)
        spaces = self._opened(number)
        labels = spaces.add_many(elements, counts)
        self._note_relabellings(number, spaces)
        return labels

    def add_keys(self, number: int, keys: KeyColumn, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """The same for distinct boundaries by their keys, which increase."""
        spaces = self._opened(number)
        labels = spaces.add_keys(keys, counts)
        self._note_relabellings(number, spaces)
        return labels

    def _opened(self, number: int) -> Spaces:
        """The spaces of an attribute, which are about to get boundaries."""
        spaces = self.spaces.get(number)
        if spaces is None:
            self.event_statistics.begin(number)
            spaces = self.spaces.made(number)
            self.version += 1
        self.event_statistics.before_new_boundaries()
        return spaces

    def _note_relabellings(self, number: int, spaces: Spaces) -> None:
        if spaces.relabellings:
            self.relabelled.extend((number, old, new) for old, new in spaces.relabellings)
            for old, new in spaces.relabellings:
                self.event_statistics.relabel(number, old, new)
            spaces.relabellings.clear()

    def release_values(self, number: int, labels: NDArray[np.int32]) -> None:
        """Count one reference less for each label."""
        spaces = self.spaces.get(number)
        if spaces is not None:
            spaces.release_many(labels)

    def release_boundaries(self, numbers: NDArray[np.int32], labels: NDArray[np.int32]) -> None:
        """The same for those of many attributes."""
        ends, counts = np.unique(numbers.astype(np.int64) << 32 | labels, return_counts=True)
        owners, labels, counts = ends >> 32, ends.astype(np.int32), counts.astype(np.int32)
        for number, part in runs(owners):
            spaces = self.spaces.get(number)
            if spaces is not None:
                spaces.release_many(labels[part], counts[part])

    def values_between(
        self, attributes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """How many values each label interval of an attribute holds; infinite where nobody counts them.

        Derived attributes have two; one that is only asked for its NULL may have any.
        """
        derived = self.table.kinds.view()[attributes] == DERIVED
        found = np.where(derived, 2.0 - ((low == TRUE_LABEL) | (high == TRUE_LABEL)), np.inf)
        for number, places in grouped(attributes):
            spaces = self.spaces.get(number)
            if spaces is not None:
                found[places] = spaces.values_between(low[places], high[places])
        return found

    # ----------------------------------------------------------------- counts

    def count(self, encoded: EncodedConjunctions, step: int, uses: NDArray[np.int64] | None = None) -> None:
        """Count the constraints of conjunctions that come (1) or go (-1), each once, or as often as it is used."""
        if uses is None and len(encoded.attributes) <= FEW:
            self._count_few(encoded, step)
            return
        every = np.bincount(encoded.attributes, uses).astype(np.int64)
        numbers, references = np.flatnonzero(every), self.table.references.writable()
        before = references[numbers] > 0
        references[numbers] += step * every[numbers]
        crossed = (references[numbers] > 0) != before
        self.version += bool(crossed.any())
        derived = self.table.kinds.view()[numbers] == DERIVED
        if derived.any():
            self._count_needs(encoded, step, uses)
            self._tell_sources(numbers[derived], crossed[derived], step)

    def _count_few(self, encoded: EncodedConjunctions, step: int) -> None:
        references, kinds = self.table.references.writable(), self.table.kinds.view()
        derived, crossed = set(), set()
        for number in encoded.attributes.tolist():
            before = references.item(number)
            references[number] = before + step
            if min(before, before + step) == 0:
                crossed.add(number)
            if kinds.item(number) == DERIVED:
                derived.add(number)
        self.version += bool(crossed)
        if derived:
            self._count_needs(encoded, step)
            numbers = np.array(sorted(derived), np.int32)
            self._tell_sources(numbers, np.array([number in crossed for number in numbers.tolist()]), step)

    def _count_needs(self, encoded: EncodedConjunctions, step: int, uses: NDArray[np.int64] | None = None) -> None:
        """A verdict is needed where a constraint treats it otherwise than NULL."""
        places = np.flatnonzero(self.table.kinds.view()[encoded.attributes] == DERIVED)
        first, end = encoded.pieces[places], encoded.pieces[places + 1]
        filled = first < end
        accepts_false, accepts_true = filled.copy(), filled.copy()
        accepts_false[filled] = encoded.low[first[filled]] == BOTTOM_LABEL
        accepts_true[filled] = encoded.high[end[filled] - 1] == TOP_LABEL
        numbers, null = encoded.attributes[places], encoded.accepts_null[places]
        steps = np.full(len(places), step) if uses is None else step * uses[places]
        tells = (accepts_true != null) | self.tells_false, (accepts_false != null) | self.tells_false
        np.add.at(self.table.needs_true.writable(), numbers[tells[0]], steps[tells[0]])
        np.add.at(self.table.needs_false.writable(), numbers[tells[1]], steps[tells[1]])

    def _tell_sources(self, numbers: NDArray[np.int32], crossed: NDArray[np.bool_], step: int) -> None:
        owners = self.table.sources.view()[numbers]
        for owner, places in grouped(owners):
            source, own = self.derived[owner], numbers[places[crossed[places]]].tolist()
            source.changed()
            if own:
                source.add(own) if step > 0 else source.remove(own)

    # ---------------------------------------------------------------- reading

    def live_direct(self) -> Iterator[tuple[int, str]]:
        """Numbers and names of attributes that live constraints test and that are not derived."""
        direct = (self.table.references.view() > 0) & (self.table.kinds.view() != DERIVED)
        for number in np.flatnonzero(direct).tolist():
            yield number, self.table.key(number)

    def compact(self) -> NDArray[np.int32]:
        """Drop attributes that nothing refers to; returns each old number's new one, or -1."""
        self.event_statistics.settle()
        live = np.flatnonzero(self.table.references.view() > 0)
        numbers = np.full(len(self.table), -1, np.int32)
        numbers[live] = np.arange(len(live))
        old, self.table = self.table, AttributeTable()
        self.spaces.renumber(numbers, self.table.kind)
        self.event_statistics.renumber(numbers)
        self.derived, self._derived_of = [], {}
        for number in live.tolist():
            self._copy(old, number)
        self.attach_sources()
        self.version += 1
        return numbers

    def _copy(self, old: AttributeTable, number: int) -> None:
        key, kind = old.key(number), int(old.kinds.view()[number])
        source = self.derived_source(read_key(key).source, read_key(key).kind) if kind == DERIVED else -1
        new = self.table.add(key, kind, source)
        for name in ("references", "needs_true", "needs_false"):
            getattr(self.table, name).writable()[new] = getattr(old, name).view()[number]

    def restore(
        self, table: AttributeTable, spaces: Mapping[str, NDArray[Any]], sources: Sequence[tuple[str, str]]
    ) -> None:
        """Take over a saved state; ValueError where its parts do not fit each other."""
        self.table, self.spaces = table, SpaceTable(self.spaces.name, table.kind)
        self.spaces.restore(spaces, len(table))
        for name, kind in sources:
            self.derived_source(name, kind)
        owners = table.sources.view()[table.kinds.view() == DERIVED]
        if len(owners) and not 0 <= owners.min() <= owners.max() < len(self.derived):
            raise ValueError("a derived attribute has no source")
        self.attach_sources()

    def attach_sources(self) -> None:
        """Give every derived source its live attributes, as the table has them."""
        table = self.table
        live = np.flatnonzero((table.references.view() > 0) & (table.kinds.view() == DERIVED))
        owners = table.sources.view()[live]
        order = np.argsort(owners, kind="stable")
        bounds = places_in(owners[order], np.arange(len(self.derived) + 1, dtype=owners.dtype)).tolist()
        for place, source in enumerate(self.derived):
            numbers = live[order[bounds[place] : bounds[place + 1]]]
            self.derived[place] = DerivedSource(source.name, source.kind, table, numbers.astype(np.int32))
