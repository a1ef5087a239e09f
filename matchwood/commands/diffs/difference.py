"""All that two sets of rules differ in, ready to be told: as text, as a table, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.commands.diffs.hit_changes import HitChange, HitComparison, Sample
from matchwood.commands.diffs.rule_changes import KINDS, RuleChange
from matchwood.insight import Explanation

COUNTS = ("before", "after", "gained", "lost")


class Reason(NamedTuple):
    """Why one event was gained or lost: the predicates, with the event's values, on the side that does not match."""

    key: Any
    text: str
    event: dict[str, Any]


class Difference(NamedTuple):
    """The rules that differ, and what that does to events if some were matched."""

    old: str
    new: str
    same: int
    changes: list[RuleChange]
    hits: HitComparison | None

    def kinds(self) -> dict[str, int]:
        """How many rules differ in which way."""
        counts = Counter(change.kind for change in self.changes)
        return {kind: counts[kind] for kind in KINDS}

    def total(self, name: str) -> int:
        return sum(getattr(change, name) for change in self.hits.found.values()) if self.hits else 0

    def by_effect(self) -> list[RuleChange]:
        """Those that change most hits first; the others as they stand."""
        return sorted(self.changes, key=lambda change: -self._effect(change))

    def _effect(self, change: RuleChange) -> int:
        found = self.hit_change(change)
        return found.gained + found.lost if found else -1

    def hit_change(self, change: RuleChange) -> HitChange | None:
        return self.hits.found.get(change.rule) if self.hits else None

    def gained(self, change: RuleChange) -> Iterator[Reason]:
        """Sampled events that only the new rule is true of, and what kept the old one from it."""
        found = self.hit_change(change)
        for sample in found.gained_samples if found else ():
            yield self._reason(change, sample, is_new=True)

    def lost(self, change: RuleChange) -> Iterator[Reason]:
        """Sampled events that only the old rule is true of, and what keeps the new one from it."""
        found = self.hit_change(change)
        for sample in found.lost_samples if found else ():
            yield self._reason(change, sample, is_new=False)

    def _reason(self, change: RuleChange, sample: Sample, is_new: bool) -> Reason:
        assert self.hits is not None
        event = sample.new if is_new else sample.old
        other, read = (self.hits.old, sample.old) if is_new else (self.hits.new, sample.new)
        if change.rule not in other:
            return Reason(sample.key, "there was no such rule" if is_new else "the rule was removed", event)
        return Reason(sample.key, reason_text(other.explain(read, change.rule), "was" if is_new else "is"), event)

    def table(self) -> pa.Table:
        """A row for each rule that differs; counts are NULL where nothing was matched."""
        rows = []
        for change in self.changes:
            found = self.hit_change(change)
            rows.append({**change._asdict(), **{name: getattr(found, name, None) for name in COUNTS}})
        ids = pa.array([row["rule"] for row in rows]) if rows else pa.array([], pa.string())
        columns = {"rule": ids} | {name: pa.array([r[name] for r in rows], pa.string()) for name in _TEXTS}
        return pa.table(columns | {name: pa.array([r[name] for r in rows], pa.int64()) for name in COUNTS})


_TEXTS = ("kind", "old", "new")


def reason_text(explanation: Explanation, tense: str = "is") -> str:
    """The predicates that keep a rule from being TRUE, each with the value that it met."""
    told = []
    for line in explanation.lines:
        if line.fails:
            verdict = "unknown" if line.verdict is None else str(line.verdict).lower()
            told.append(f"{line.text} {tense} {verdict} ({line.value_text()})")
    return "; ".join(told) or "for every event"
