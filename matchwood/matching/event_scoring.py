"""What scores rules for the engines, in one call of `top`: programs, and events and weights in their terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines import (
    AHEAD,
    EventWeights,
    Hits,
    Ranked,
    ScoreScratch,
    ScoringContext,
    Workspace,
    read_only,
    read_only_events,
)
from matchwood.engines.shared._scoring_kernels import UNSCORABLE, rank
from matchwood.errors import CorruptSnapshot
from matchwood.ranking import NO_WORK, ScorePrograms, joined
from matchwood.rules import RuleRows, UnitKind

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher
    from matchwood.matching.request import BestRules

_NO_NAMES = np.empty(0, np.int32)


class EventScoring:
    """What scores rules in one call of `top` for some events; `of` a part, what its engine is asked.

    `encode`  the events in the codes that programs test
    `first`   the position of the first of them in all that were given, which weights are given by
    `dead`    by row: whether its rule counts for nothing, if that is so of any
    """

    def __init__(
        self,
        matcher: EngineMatcher,
        request: BestRules,
        encode: Callable[[], EncodedEvents],
        first: int = 0,
        dead: NDArray[np.bool_] | None = None,
    ) -> None:
        self._matcher, self._request, self._encode, self._first = matcher, request, encode, first
        self.dead = dead
        self._version = self._names = -1
        self._codes: EncodedEvents
        self._weights: EventWeights

    @property
    def n(self) -> int:
        return self._request.n

    def of(self, kind: UnitKind) -> PartQuery:
        """The query for the engine whose units are of this kind."""
        return PartQuery(self, kind)

    def rows(self, kind: UnitKind, hits: Hits, first: int, workspace: Workspace) -> RuleRows:
        """The rules of hits that count."""
        rows = self._matcher.table.rows({kind: hits}, first, workspace)
        return rows if self.dead is None else rows.without(self.dead)

    def best(self, context: ScoringContext, rows: RuleRows) -> Ranked:
        """The best of some rules, all of them scored."""
        counts = np.minimum(np.diff(rows.offsets), self.n)
        room, offsets = int(counts.sum()), np.zeros(rows.count + 1, np.int64)
        best, scores = np.empty(room, np.int32), np.empty(room, np.float64)
        given = read_only(rows.offsets, np.int64), read_only(rows.rows, np.int32)
        scored = rank(context, rows.first, *given, self.n, offsets[1:], best, scores)
        if scored == UNSCORABLE:
            raise CorruptSnapshot("a rule matched that is not true by its text: the snapshot is damaged")
        return Ranked(rows.first, offsets, best, scores, NO_WORK, scored)

    @contextmanager
    def scoring_context(
        self, kind: UnitKind, workspace: Workspace, rows: NDArray[np.int32] | None = None
    ) -> Iterator[ScoringContext]:
        """What scoring reads, of these rows or of all rules; units of this kind lead to them."""
        programs = self._matcher.score_programs
        with programs.reading(rows) as compiled:
            self._follow(programs)
            if rows is None and self.dead is not None:
                compiled = compiled._replace(constants=programs.constants_without(self.dead))
            names = programs.attribute_names() if rows is None else _NO_NAMES
            links = self._matcher.table.reading(kind)
            scratch = _scratch(workspace, programs.attributes, self._weights.shared, programs.depth, programs.slots)
            yield ScoringContext(compiled, self._codes, self._weights, scratch, read_only(names, np.int32), *links)

    def _follow(self, programs: ScorePrograms) -> None:
        """Codes and weights as the programs have them now: they may have been written to since the last look."""
        if self._version != programs.version:
            self._codes, self._version = read_only_events(self._encode()), programs.version
        if self._names != len(programs.names):
            given = self._request.weights.arrays(self._first, self._codes.count, programs.names)
            self._weights, self._names = _read_only_weights(given), len(programs.names)


class PartQuery:
    """One call of `top` of one part's engine, as `engines/shared/scoring.py` describes it."""

    def __init__(self, scoring: EventScoring, kind: UnitKind) -> None:
        self._scoring, self._kind = scoring, kind

    @property
    def n(self) -> int:
        return self._scoring.n

    def rank_hits(self, hits: Hits, workspace: Workspace) -> Ranked:
        """The best of the rules that these units belong to, all of them scored."""
        pieces, first = [], hits.first
        while first < hits.first + hits.count:
            rows = self._scoring.rows(self._kind, hits, first, workspace)
            with self.scoring_context(workspace, rows.rows) as context:
                pieces.append(self._scoring.best(context, rows))
            first += rows.count
        return joined(pieces)._replace(work=hits.work)

    def scoring_context(
        self, workspace: Workspace, rows: NDArray[np.int32] | None = None
    ) -> AbstractContextManager[ScoringContext]:
        """What scoring reads, of these rows or of all rules."""
        return self._scoring.scoring_context(self._kind, workspace, rows)


def _read_only_weights(given: EventWeights) -> EventWeights:
    return EventWeights(
        read_only(given.shared, np.float64),
        read_only(given.offsets, np.int64),
        read_only(given.names, np.int32),
        read_only(given.values, np.float64),
    )


def _scratch(
    workspace: Workspace, attributes: int, shared: NDArray[np.float64], depth: int, slots: int
) -> ScoreScratch:
    weights = workspace.array("score.weights", len(shared), np.float64, None)[: len(shared)]
    weights[:] = shared
    return ScoreScratch(
        workspace.array("score.labels", attributes, np.int32, NULL_LABEL)[:attributes],
        weights,
        workspace.array("score.stack", depth, np.float64),
        workspace.array("score.slots", slots, np.float64),
        workspace.array("score.row", 1, np.int32),
        workspace.array("score.found", AHEAD, np.float64),
    )
