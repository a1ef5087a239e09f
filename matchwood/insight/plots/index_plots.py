"""`index.plot`: charts of an index and of events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from matchwood.encoding import is_frame
from matchwood.engines import engine_names
from matchwood.errors import InvalidArgument
from matchwood.insight.alike import reading_settings
from matchwood.insight.explain.blame_counts import BlameCounts
from matchwood.insight.plots import charts
from matchwood.insight.plots.overlap import overlap_of
from matchwood.insight.plots.tables import counts_of_hits, events_by_hits, rules_by_hits

if TYPE_CHECKING:
    from matchwood.index import Index

_ROUNDS = 3


class IndexPlots:
    """Charts that Altair draws: show one in a notebook, `save` it as HTML, PNG or SVG, or style it further.

    `events` can be what `match_many` takes, except a generator: a list of dicts, an Arrow table, pandas, Polars.
    """

    def __init__(self, index: Index, make: Callable[..., Index]) -> None:
        self._index, self._make = index, make

    def why_not(self, events: Any, rules: Sequence[Any]) -> Any:
        """Why rules do not match: for each of their predicates, the events in which it is the reason.

        `rules`  ids; give a few, because each has its own chart
        """
        if isinstance(rules, str) or not isinstance(rules, Sequence) or not rules:
            raise InvalidArgument(f"rules must be a list of ids (got {rules!r:.80})")
        texts = {rule: self._index[rule] for rule in rules}
        counts = BlameCounts(texts, self._index._table.id_type, self._alike)
        for some in _batches(events):
            counts.add(some)
        return charts.why_not(counts.table().to_pylist())

    def hits_per_event(self, events: Any) -> Any:
        """How many events have how many hits."""
        batches = list(_batches(events))
        counts: dict[int, int] = {}
        for some in batches:
            for hits, number in counts_of_hits(self._index.match_many(some), len(some)).items():
                counts[hits] = counts.get(hits, 0) + number
        return charts.hits_per_event(events_by_hits(counts))

    def hits_per_rule(self, events: Any, n: int = 30) -> Any:
        """The `n` rules with the most hits."""
        return charts.hits_per_rule(*rules_by_hits(self._index.match_many(events), n), known=len(self._index))

    def overlap(self, events: Any, n: int = 30, least: float = 0.05) -> Any:
        """A graph of the `n` rules with the most hits: lines join rules that match the same events.

        `least`  the smallest share of common events (those of both among those of either) for a line
        """
        return charts.overlap(overlap_of(self._index.match_many(events), n, least))

    def regret(self, events: Any, engines: Sequence[str] | None = None, rules: int = 20_000) -> Any:
        """How much longer each engine takes for these events than the fastest: builds each, and measures it.

        `engines`  which engines; all by default
        `rules`    how many of the rules, from the first; building all engines over millions takes long
        """
        some = dict(islice(self._index.items(), rules))
        taken = {name: self._measured(name, some, events) for name in engines or engine_names()}
        best = min(taken.values())
        rows = [
            {"engine": name, "microseconds": us, "regret": us / best, "chosen": name == self._index.engine}
            for name, us in sorted(taken.items(), key=lambda item: item[1])
        ]
        return charts.regret(rows)

    def _measured(self, engine: str, rules: Mapping[Any, str], events: Any) -> float:
        """Microseconds an event, the best of some rounds after one that compiles."""
        index = self._make(engine, **self._settings())
        index.insert_many(rules, on_error="raise")
        count = max(sum(len(some) for some in _batches(events)), 1)
        seconds = []
        for _ in range(_ROUNDS + 1):
            started = time.perf_counter()
            index.match_many(events)
            seconds.append(time.perf_counter() - started)
        return min(seconds[1:]) / count * 1e6

    def _alike(self) -> Index:
        return self._make(**self._settings())

    def _settings(self) -> dict[str, Any]:
        encoder = self._index._encoder
        return reading_settings(self._index.types(), encoder.timezone, encoder.event_settings)


def _batches(events: Any) -> Iterator[pa.RecordBatch | Sequence[Mapping[str, Any]]]:
    """Events in pieces that have a length and can be sliced."""
    if isinstance(events, Sequence | pa.RecordBatch):
        yield events
    else:
        pandas = is_frame(events, "pandas")
        table = pa.Table.from_pandas(events, preserve_index=False) if pandas else pa.table(events)
        yield from table.to_batches()
