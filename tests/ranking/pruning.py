"""An engine that ranks by itself, in plain Python: what the seam for pruning is tested with."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from matchwood.encoding.codes import EncodedEvents
from matchwood.engines.scan import Scan
from matchwood.engines.shared._scoring_kernels import begin_event, end_event, push, score, settle
from matchwood.engines.shared.bounds import SLACK
from matchwood.engines.shared.scoring import Ranked, ScoringContext, TopQuery
from matchwood.engines.shared.workspace import Workspace


class Pruning(Scan):
    """Scores a unit's rules only if their bound is not below the worst of the best so far."""

    name: ClassVar[str] = "pruning"
    ranks: ClassVar[bool] = True
    weighed = 0

    def weigh(self, units: Any) -> None:
        self.weighed += len(units)

    def top(self, events: EncodedEvents, first: int, query: TopQuery, workspace: Workspace) -> Ranked:
        hits = self.match(events, first, workspace)
        offsets, rows, scores, scored = [0], [], [], 0
        with query.scoring_context(workspace) as context:
            for place in range(hits.count):
                units = hits.units[hits.offsets[place] : hits.offsets[place + 1]].tolist()
                begin_event(context, first + place)
                labels = dict(zip(*_pairs(events, first + place), strict=True))
                found, values, size, seen = self._best(context, query.n, units, labels)
                end_event(context, first + place)
                settle(values, found, 0, size)
                offsets.append(offsets[-1] + size)
                rows.append(found[:size])
                scores.append(values[:size])
                scored += seen
        return Ranked(first, np.array(offsets), np.concatenate(rows), np.concatenate(scores), hits.work, scored)

    def _best(self, context: ScoringContext, n: int, units: list[int], labels: dict[int, int]) -> Any:
        room = min(n, len(context.programs.starts)) + 1
        found, values, size, seen = np.empty(room, np.int32), np.empty(room), 0, set()
        bounds = sorted(((self.bound(context, unit, labels), unit) for unit in units), reverse=True)
        for bound, unit in bounds:
            if size == n and bound * SLACK < values[0]:
                break
            for row in _rows(context, unit):
                if row not in seen:
                    seen.add(row)
                    value = score(context.programs, row, context.scratch)
                    assert value >= 0
                    size = push(values, found, 0, size, n, value, row)
        return found, values, size, len(seen)

    def bound(self, context: ScoringContext, unit: int, labels: dict[int, int]) -> float:
        """What the rules of a unit can score for the event, as `engines/shared/bounds.py` says."""
        assert self.bounds is not None
        table, encoded = self.bounds.view(), self.store.encoded(np.array([unit], np.int32))
        weights = context.scratch.weights
        total = table.constants[unit] + table.elsewhere[unit] * weights.max()
        for constraint, attribute in enumerate(encoded.attributes.tolist()):
            for piece in range(encoded.pieces[constraint], encoded.pieces[constraint + 1]):
                if encoded.low[piece] <= labels.get(attribute, -1) < encoded.high[piece]:
                    total += table.pieces[table.offsets[unit] + piece] * weights[context.names[attribute]]
        return float(total)


def _pairs(events: EncodedEvents, event: int) -> tuple[list[int], list[int]]:
    part = slice(events.offsets[event], events.offsets[event + 1])
    return events.attributes[part].tolist(), events.labels[part].tolist()


def _rows(context: ScoringContext, unit: int) -> list[int]:
    head = int(context.heads[unit])
    if head >= -1:
        return [head] if head >= 0 else []
    rows, node = [], -2 - head
    while node >= 0:
        rows.append(int(context.chain[2 * node]))
        node = int(context.chain[2 * node + 1])
    return rows
