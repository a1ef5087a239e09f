"""Events through all shards: each piece of the events is matched by every shard, and their answers are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding import QUIET, AskingEncoder, Chunk, EventChunk, Pace, Strictness, chunks, row_count
from matchwood.matching import EngineEvents, RankedEvents, in_order
from matchwood.ranking import Wanted
from matchwood.sharding.merging import Found, best_in_order, ids_in_order
from matchwood.sharding.shard import Shard

Part = TypeVar("Part")


class Answered(NamedTuple):
    """The rules of the next events: the i-th has ids[offsets[i] : offsets[i + 1]], in rule order, or best first.

    `errors`  with on_error="report": position within these events, and message, of each value that does not fit
    `scores`  of the ids, where the best are wanted
    """

    offsets: NDArray[np.int64]
    ids: pa.Array
    errors: list[tuple[int, str]]
    scores: NDArray[np.float64] | None = None


def answers_of_one(
    shard: Shard, events: Any, strictness: Strictness, wanted: Wanted | None = None, threads: int = 1
) -> Iterator[Answered]:
    """The answers of a single shard, whose own order of rules is kept."""
    parts = shard.matcher.encoder.chunks_of(events, strictness, threads)
    return _flat(parts, lambda chunk: _of_one(shard, chunk, wanted), threads)


def _of_one(shard: Shard, chunk: EventChunk, wanted: Wanted | None) -> Iterator[Answered]:
    asked = _asked(shard, chunk, wanted)
    first = 0
    if not chunk.size:
        chunk.check()
    while first < chunk.size:
        found = _piece(shard, asked, first)
        count = len(found.offsets) - 1
        told = _told(asked.errors, chunk.first_row + first, count)
        yield Answered(found.offsets, shard.table.ids(found.rows), told, found.scores)
        first += count


def _flat(parts: Iterator[Part], answer: Callable[[Part], Iterator[Answered]], threads: int) -> Iterator[Answered]:
    """The answers to all parts, piece by piece; with several threads, those to a part at once."""
    if threads == 1:
        return chain.from_iterable(map(answer, parts))
    return chain.from_iterable(in_order(parts, lambda part: list(answer(part)), threads))


class Walk:
    """Events through several shards. `shards()` walks through them, opening each or not as it likes.

    What is missing or does not fit is found once for all shards, by an encoder that asks for everything.
    """

    def __init__(self, shards: Callable[[], Iterable[Shard]], asking: AskingEncoder, keep: bool) -> None:
        self._shards, self._keep, self._asking = shards, keep, asking

    def answers(
        self, events: Any, strictness: Strictness, wanted: Wanted | None = None, threads: int = 1
    ) -> Iterator[Answered]:
        check = partial(EventChunk, self._asking, pace=Pace(self._asking), strictness=strictness)
        # Several threads must not open the same shard each for itself.
        opened = iter(list(self._shards()) if threads > 1 else self._shards())
        pace = Pace(next(opened).matcher.encoder, threads, row_count(events))
        keeps_nan = not self._asking.event_settings.nan_is_null(from_pandas=True)
        parts = chunks(events, pace, presence=strictness.missing == "error", keeps_nan=keeps_nan)
        return _flat(parts, lambda chunk: self._of_chunk(chunk, pace, check, wanted), threads)

    def _of_chunk(
        self, chunk: Chunk, pace: Pace, check: Callable[[Chunk], EventChunk], wanted: Wanted | None
    ) -> Iterator[Answered]:
        told = check(chunk).encode().errors
        first, asked = 0, dict[str, EngineEvents]()
        while first < chunk.size:
            found: list[Found] = []
            for shard in self._shards():
                events = asked.get(shard.name)
                if events is None:
                    part = EventChunk(shard.matcher.encoder, chunk, pace, QUIET)
                    events = _asked(shard, part, wanted)
                if self._keep:
                    asked[shard.name] = events
                # As far as the first shard's output reaches; the others follow.
                reach = len(found[0].offsets) - 1 if found else None
                found.append(_found(shard, events, first, reach))
            count = len(found[0].offsets) - 1
            errors = _told(told, chunk.first_row + first, count)
            yield _merged(found, errors, wanted)
            first += count


def _merged(found: list[Found], errors: list[tuple[int, str]], wanted: Wanted | None) -> Answered:
    if wanted is None:
        return Answered(*ids_in_order(found), errors)
    offsets, ids, scores = best_in_order(found, wanted.n)
    return Answered(offsets, ids, errors, scores)


def _asked(shard: Shard, chunk: EventChunk, wanted: Wanted | None) -> EngineEvents:
    if wanted is None:
        return EngineEvents(shard.matcher, chunk)
    return RankedEvents(shard.matcher, chunk, wanted, shard.dead)


def _piece(shard: Shard, events: EngineEvents, first: int) -> Found:
    """What a shard finds for events from `first` on, in one turn."""
    if isinstance(events, RankedEvents):
        ranked = events.ranked(first)
        return Found(shard, ranked.offsets, ranked.rows, ranked.scores)
    rows = events.rows(first)
    rows = rows if shard.dead is None else rows.without(shard.dead)
    return Found(shard, rows.offsets, rows.rows)


def _found(shard: Shard, events: EngineEvents, first: int, reach: int | None) -> Found:
    """The rows of a number of events, which may take several turns; without `reach`, those of one turn."""
    pieces = [_piece(shard, events, first)]
    count = len(pieces[0].offsets) - 1
    while reach is not None and count < reach:
        pieces.append(_piece(shard, events, first + count))
        count += len(pieces[-1].offsets) - 1
    counts = np.concatenate([np.diff(piece.offsets) for piece in pieces])[:reach]
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    scores = [piece.scores for piece in pieces if piece.scores is not None]
    return Found(
        shard,
        offsets,
        np.concatenate([piece.rows for piece in pieces])[: offsets[-1]],
        np.concatenate(scores)[: offsets[-1]] if scores else None,
    )


def _told(errors: list[tuple[int, str]], start: int, count: int) -> list[tuple[int, str]]:
    return [(row - start, message) for row, message in errors if start <= row < start + count]
