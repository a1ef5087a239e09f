"""What rules that differ do with events: hits gained and lost, rule by rule, with some of the events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.commands.diffs.rule_changes import MATCHED, RuleChange
from matchwood.commands.files.events import EventBatch, EventFile, column_kinds
from matchwood.commands.files.reading import row_count
from matchwood.index import Index
from matchwood.insight import reading_settings
from matchwood.progress import Progress


class Sample(NamedTuple):
    """An event for which a rule's answer differs: its key or position, and its values as each side reads them."""

    key: Any
    old: dict[str, Any]
    new: dict[str, Any]


class HitChange:
    """What became of one rule's hits."""

    def __init__(self) -> None:
        self.before = self.after = self.gained = self.lost = 0
        self.gained_samples: list[Sample] = []
        self.lost_samples: list[Sample] = []


class Asked(NamedTuple):
    """How events are read and matched."""

    events: Path
    key: str | None
    separator: str | None
    on_error: str
    samples: int


class HitComparison:
    """The rules that differ, as two small indexes: whatever did not change is not matched at all."""

    def __init__(self, old: Index, new: Index, changes: list[RuleChange]) -> None:
        matched = [change for change in changes if change.kind in MATCHED]
        self.rules = [change.rule for change in matched]
        self.old = _part_of(old, {each.rule: each.old for each in matched if each.old is not None})
        self.new = _part_of(new, {each.rule: each.new for each in matched if each.new is not None})
        self._old_kinds, self._new_kinds = _kinds(self.old, old), _kinds(self.new, new)
        self.found = {rule: HitChange() for rule in self.rules}
        self.events = 0
        self._ids = pa.array(self.rules, self.new._table.id_type if len(self.new) else self.old._table.id_type)

    def run(self, asked: Asked) -> None:
        """Match all events of a file with both."""
        was, now = (
            EventFile(asked.events, index, asked.key, asked.separator, narrow=True, kinds=kinds)
            for index, kinds in ((self.old, self._old_kinds), (self.new, self._new_kinds))
        )
        with Progress(f"matching {asked.events}", "events", row_count(asked.events)) as progress:
            for before, after in zip(was.batches(), now.batches(), strict=True):
                pairs = [
                    self._pairs(file, index, batch, asked)
                    for file, index, batch in ((was, self.old, before), (now, self.new, after))
                ]
                self._note(pairs, before, after, asked.samples)
                progress.advance(len(before.events))
        self.events = progress.done

    def _pairs(self, file: EventFile, index: Index, batch: EventBatch, asked: Asked) -> NDArray[np.int64]:
        """The hits of a batch, each as one number: event × rules + rule."""
        if not len(index):
            return np.empty(0, np.int64)
        with file.located(batch.first):
            hits = index.match_many(batch.events, on_error=asked.on_error)
        rules = pc.index_in(hits["rule"], value_set=self._ids.cast(hits["rule"].type))
        pairs: NDArray[np.int64] = np.asarray(hits["event"]) * len(self.rules) + np.asarray(rules)
        return pairs

    def _note(self, pairs: list[NDArray[np.int64]], before: EventBatch, after: EventBatch, samples: int) -> None:
        was, now = pairs
        gained, lost = np.setdiff1d(now, was, assume_unique=True), np.setdiff1d(was, now, assume_unique=True)
        for name, some in {"before": was, "after": now, "gained": gained, "lost": lost}.items():
            for rule, count in self._counts(some):
                change = self.found[self.rules[rule]]
                setattr(change, name, getattr(change, name) + count)
        for name, some in {"gained_samples": gained, "lost_samples": lost}.items():
            for event, rule in self._first_of_each(some, samples):
                kept = getattr(self.found[self.rules[rule]], name)
                if len(kept) < samples:
                    kept.append(_sample(before, after, event))

    def _counts(self, pairs: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        counts = np.bincount(pairs % max(len(self.rules), 1), minlength=1)
        return ((rule, int(counts[rule])) for rule in np.flatnonzero(counts).tolist())

    def _first_of_each(self, pairs: NDArray[np.int64], samples: int) -> Iterator[tuple[int, int]]:
        """The first few events of each rule."""
        if not len(pairs):
            return iter(())
        events, rules = np.divmod(pairs, len(self.rules))
        order = np.lexsort((events, rules))
        starts = np.flatnonzero(np.diff(rules[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        chosen = order[rank < samples]
        return zip(events[chosen].tolist(), rules[chosen].tolist(), strict=True)


def _part_of(index: Index, rules: dict[Any, str]) -> Index:
    """Some rules of an index, which mean there what they mean in it."""
    encoder = index._encoder
    made = Index(**reading_settings(index.types(), encoder.timezone, encoder.event_settings))
    made.insert_many(rules, on_error="raise")
    return made


def _kinds(part: Index, whole: Index) -> dict[str, str]:
    """The types of the columns that some rules name, as all of them have it."""
    return {name: kind for name, kind in column_kinds(whole).items() if name in column_kinds(part)}


def _sample(before: EventBatch, after: EventBatch, event: int) -> Sample:
    key = before.first + event if before.keys is None else before.keys[event].as_py()
    return Sample(key, _row(before, event), _row(after, event))


def _row(batch: EventBatch, event: int) -> dict[str, Any]:
    if isinstance(batch.events, list):
        return batch.events[event]
    row: dict[str, Any] = batch.events.slice(event, 1).to_pylist(maps_as_pydicts="lossy")[0]
    return row
