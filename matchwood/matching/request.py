"""What is asked of events: all rules that are true of them, or the best of those.

A request is the one difference between matching and ranking. It tells how the engine of a part is asked, how what the
parts found becomes rows, and what users get of those. Encoding, pieces, threads, batches and shards know no other:

    request.question(matcher, …)   for events in codes of one generation
    question.ask(part, …)          what a part's engine found: Hits, or Ranked
    question.rows(found, …)        what all parts found, as RuleRows; the best have scores
    request.listed, .batch         ids, or ids and scores; as a list for one event, in Arrow for many
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding import EncodedEvents
from matchwood.engines import Hits, Ranked, Work, Workspace
from matchwood.matching.event_scoring import EventScoring
from matchwood.ranking import GivenWeights, merged
from matchwood.rules import RuleRows, RuleTable, UnitKind, event_positions

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher
    from matchwood.matching.parts import MatcherPart

Dead: TypeAlias = NDArray[np.bool_] | None
"""By row: whether its rule counts for nothing, if that is so of any."""

Score: TypeAlias = Callable[[int, Mapping[str, float]], float]
"""What the rule of a row scores, given the weights of the event."""


class PartFound(Protocol):
    """What the engine of a part found for some events."""

    @property
    def count(self) -> int: ...

    @property
    def work(self) -> Work: ...

    @property
    def scored(self) -> int: ...

    def owned(self) -> PartFound:
        """The same in arrays of their own; until then it may lie where the engine's next call writes."""


class Question(Protocol):
    """A request, put to a compiled matcher for some events."""

    def ask(self, part: MatcherPart, events: EncodedEvents, first: int, workspace: Workspace) -> PartFound:
        """What a part's engine finds for the events from `first` on, as far as its output reaches."""

    def rows(self, found: Mapping[UnitKind, Any], first: int, workspace: Workspace) -> RuleRows:
        """What all parts found, from event `first` on, as far as that and the output reach."""


class Ordered(NamedTuple):
    """The hits of several shards as one list an event: offsets, and the place and the score of each hit."""

    offsets: NDArray[np.int64]
    places: NDArray[np.int64]
    scores: NDArray[np.float64] | None


class Request(ABC):
    """All rules, or the best."""

    ranks: ClassVar[bool]
    """Whether rules are scored."""

    def without_rows(self) -> Request:
        """The same for one who needs no rows: `RuleRows` may have ids in their place."""
        return self

    @abstractmethod
    def question(
        self, matcher: EngineMatcher, score_codes: Callable[[], EncodedEvents], first: int = 0, dead: Dead = None
    ) -> Question:
        """What the parts of a matcher are asked.

        `score_codes`  the events in the codes by which rules are scored
        `first`        the position of the first of them in all that were given
        """

    @abstractmethod
    def chosen(self, rows: list[int], score: Score, position: int) -> RuleRows:
        """What is wanted of the rules that are true of one event, by definition."""

    @abstractmethod
    def listed(self, table: RuleTable, rows: RuleRows) -> list[Any]:
        """What is told of one event."""

    @abstractmethod
    def schema(self, id_type: pa.DataType) -> pa.Schema:
        """The columns of what is told of many."""

    @abstractmethod
    def batch(
        self, schema: pa.Schema, first: int, offsets: NDArray[np.int64], ids: pa.Array, scores: Any
    ) -> pa.RecordBatch:
        """What is told of the events from `first` on: the i-th has the rules at offsets[i] : offsets[i + 1]."""

    @abstractmethod
    def ordered(self, count: int, events: NDArray[np.int64], places: NDArray[np.int64], scores: Any) -> Ordered:
        """Hits of several shards in order, by the event of each and the place of its id in the order of ids."""

    @abstractmethod
    def check_events(self, count: int) -> None:
        """Refuse the call when there are no more events, if they were not as many as it takes."""


# --------------------------------------------------------------------------- all rules


class AllRules(Request):
    """All rules that are true, in rule order; `as_ids` if nobody needs rows."""

    ranks = False

    def __init__(self, as_ids: bool = False) -> None:
        self._as_ids = as_ids

    def without_rows(self) -> Request:
        return _ALL_IDS

    def question(
        self, matcher: EngineMatcher, score_codes: Callable[[], EncodedEvents], first: int = 0, dead: Dead = None
    ) -> Question:
        return _AllQuestion(matcher.table, dead, self._as_ids and dead is None)

    def chosen(self, rows: list[int], score: Score, position: int) -> RuleRows:
        return RuleRows(position, np.array([0, len(rows)], np.int64), np.array(rows, np.int32))

    def listed(self, table: RuleTable, rows: RuleRows) -> list[Any]:
        return table.id_list(rows.rows)

    def schema(self, id_type: pa.DataType) -> pa.Schema:
        """The event's row position and the rule's id."""
        return _schema(event=pa.int64(), rule=id_type)

    def batch(
        self, schema: pa.Schema, first: int, offsets: NDArray[np.int64], ids: pa.Array, scores: Any
    ) -> pa.RecordBatch:
        return pa.record_batch([pa.array(event_positions(first, offsets)), ids], schema=schema)

    def ordered(self, count: int, events: NDArray[np.int64], places: NDArray[np.int64], scores: Any) -> Ordered:
        """By event and id. One integer for both: sorting by two keys takes three times as long."""
        most = int(places.max(initial=0)) + 1
        keys = np.sort(events * most + places)
        return Ordered(_offsets(np.bincount(events, minlength=count)), keys % most, None)

    def check_events(self, count: int) -> None:
        """Any number of events will do."""


ALL_RULES: AllRules = AllRules()
_ALL_IDS = AllRules(as_ids=True)


class _AllQuestion:
    __slots__ = ("_as_ids", "_dead", "_table")

    def __init__(self, table: RuleTable, dead: Dead, as_ids: bool) -> None:
        self._table, self._dead, self._as_ids = table, dead, as_ids

    def ask(self, part: MatcherPart, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        hits: Hits = part.engine.match(events, first, workspace)
        return hits

    def rows(self, found: Mapping[UnitKind, Hits], first: int, workspace: Workspace) -> RuleRows:
        rows = self._table.rows(found, first, workspace, as_ids=self._as_ids)
        return rows if self._dead is None else rows.without(self._dead)


# --------------------------------------------------------------------------- the best rules


class BestRules(Request):
    """The best `n` of the rules that are true, best first, ties in rule order; `weights` are those of the events."""

    ranks = True

    def __init__(self, n: int, weights: GivenWeights) -> None:
        self.n, self.weights = n, weights

    def question(
        self, matcher: EngineMatcher, score_codes: Callable[[], EncodedEvents], first: int = 0, dead: Dead = None
    ) -> Question:
        return _BestQuestion(EventScoring(matcher, self, score_codes, first, dead))

    def chosen(self, rows: list[int], score: Score, position: int) -> RuleRows:
        weights = self.weights.of(position)
        best = sorted((-score(row, weights), row) for row in rows)[: self.n]
        scores = np.array([-negative + 0.0 for negative, _ in best], np.float64)
        ends = np.array([0, len(best)], np.int64)
        return RuleRows(position, ends, np.array([row for _, row in best], np.int32), scores)

    def listed(self, table: RuleTable, rows: RuleRows) -> list[Any]:
        assert rows.scores is not None
        return list(zip(table.id_list(rows.rows), rows.scores.tolist(), strict=True))

    def schema(self, id_type: pa.DataType) -> pa.Schema:
        """The event's row position, the rank from 1, the rule's id and its score."""
        return _schema(event=pa.int64(), rank=pa.int64(), rule=id_type, score=pa.float64())

    def batch(
        self, schema: pa.Schema, first: int, offsets: NDArray[np.int64], ids: pa.Array, scores: Any
    ) -> pa.RecordBatch:
        columns = [pa.array(event_positions(first, offsets)), pa.array(ranks_of(offsets)), ids, pa.array(scores)]
        return pa.record_batch(columns, schema=schema)

    def ordered(self, count: int, events: NDArray[np.int64], places: NDArray[np.int64], scores: Any) -> Ordered:
        """The best `n` by event, score and id, from the best `n` of each shard."""
        order = np.lexsort((places, -scores, events))
        found = np.bincount(events, minlength=count)
        within = np.arange(len(order)) - np.repeat(np.cumsum(found) - found, found)
        kept = order[within < self.n]
        return Ordered(_offsets(np.minimum(found, self.n)), places[kept], scores[kept])

    def check_events(self, count: int) -> None:
        self.weights.check_all_used(count)


class _BestQuestion:
    def __init__(self, scoring: EventScoring) -> None:
        self._scoring = scoring

    def ask(self, part: MatcherPart, events: EncodedEvents, first: int, workspace: Workspace) -> Ranked:
        ranked: Ranked = part.engine.top(events, first, self._scoring.of(part.kind), workspace)
        return ranked

    def rows(self, found: Mapping[UnitKind, Ranked], first: int, workspace: Workspace) -> RuleRows:
        """All parts' best rules, merged. A rule belongs to one of them, so that none can come twice."""
        best = reduce(lambda left, right: merged(left, right, self._scoring.n), found.values())
        return RuleRows(best.first, best.offsets, best.rows, best.scores)


def ranks_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rank of each rule among those of its event, from 1 on."""
    return np.arange(1, offsets[-1] + 1, dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, False) for name, kind in columns.items()])


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
