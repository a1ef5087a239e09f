"""Events through all shards: each piece of the events is matched by every shard, and their answers are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.encoder import AskingEncoder
from matchwood.encoding.event_plan import Pace
from matchwood.encoding.event_sources import Chunk, chunks
from matchwood.encoding.events import EventChunk
from matchwood.indexing.compiled_events import CompiledEvents
from matchwood.sharding.merging import Found, ids_in_order, without_dead
from matchwood.sharding.shard import Shard


class Answered(NamedTuple):
    """The rules of the next events: the i-th has ids[offsets[i] : offsets[i + 1]], in rule order.

    `errors`  with on_error="report": position within these events, and message, of each value that does not fit
    """

    offsets: NDArray[np.int64]
    ids: pa.Array
    errors: list[tuple[int, str]]


def answers_of_one(shard: Shard, events: Any, missing: str, on_error: str) -> Iterator[Answered]:
    """The answers of a single shard, whose own order of rules is kept."""
    for chunk in shard.matcher.encoder.event_chunks(events, missing, on_error):
        asked = CompiledEvents(shard.matcher, chunk)
        first = 0
        if not chunk.size:
            chunk.check()
        while first < chunk.size:
            rows = asked.rows(first)
            found = without_dead(Found(shard, rows.offsets, rows.rows))
            told = _told(asked.errors, chunk.first_row + first, rows.count)
            yield Answered(found.offsets, shard.table.ids(found.rows), told)
            first += rows.count


class Walk:
    """Events through several shards. `shards()` walks through them, opening each or not as it likes.

    What is missing or does not fit is found once for all shards, by an encoder that asks for everything.
    """

    def __init__(
        self, shards: Callable[[], Iterable[Shard]], attributes: Mapping[str, str], timezone: str, keep: bool
    ) -> None:
        self._shards, self._keep = shards, keep
        self._attributes, self._timezone = attributes, timezone

    def answers(self, events: Any, missing: str, on_error: str) -> Iterator[Answered]:
        asking = AskingEncoder(self._attributes, self._timezone)
        checks = missing == "error" or on_error != "null"
        pace = Pace(next(iter(self._shards())).matcher.encoder)
        for chunk in chunks(events, pace, presence=missing == "error"):
            told = EventChunk(asking, chunk, Pace(asking), missing, on_error).encode().errors if checks else []
            yield from self._of_chunk(chunk, pace, told)

    def _of_chunk(self, chunk: Chunk, pace: Pace, told: list[tuple[int, str]]) -> Iterator[Answered]:
        first, asked = 0, dict[str, CompiledEvents]()
        while first < chunk.size:
            found: list[Found] = []
            for shard in self._shards():
                events = asked.get(shard.name) or _asked(shard, chunk, pace)
                if self._keep:
                    asked[shard.name] = events
                # As far as the first shard's output reaches; the others follow.
                reach = len(found[0].offsets) - 1 if found else None
                found.append(_found(shard, events, first, reach))
            count = len(found[0].offsets) - 1
            offsets, ids = ids_in_order([without_dead(part) for part in found])
            yield Answered(offsets, ids, _told(told, chunk.first_row + first, count))
            first += count


def _asked(shard: Shard, chunk: Chunk, pace: Pace) -> CompiledEvents:
    return CompiledEvents(shard.matcher, EventChunk(shard.matcher.encoder, chunk, pace, "null", "null"))


def _found(shard: Shard, events: CompiledEvents, first: int, reach: int | None) -> Found:
    """The rows of a number of events, which may take several turns; without `reach`, those of one turn."""
    pieces = [events.rows(first)]
    count = pieces[0].count
    while reach is not None and count < reach:
        pieces.append(events.rows(first + count))
        count += pieces[-1].count
    counts = np.concatenate([np.diff(piece.offsets) for piece in pieces])[:reach]
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Found(shard, offsets, np.concatenate([piece.rows for piece in pieces])[: offsets[-1]])


def _told(errors: list[tuple[int, str]], start: int, count: int) -> list[tuple[int, str]]:
    return [(row - start, message) for row, message in errors if start <= row < start + count]
