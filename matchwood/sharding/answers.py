"""Events through all shards: each piece of the events is matched by every shard, and their answers are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding import AskingEncoder, Chunk, EventChunk, Pace, Strictness, chunks, row_count
from matchwood.matching import ALL_RULES, EventsAsked, Request, in_order
from matchwood.rules import RuleRows
from matchwood.sharding.merging import Found, merged
from matchwood.sharding.shard import Shard

Part = TypeVar("Part")


class Answered(NamedTuple):
    """The rules of the next events: the i-th has ids[offsets[i] : offsets[i + 1]], in rule order, or best first.

    `errors`      with on_error="report": position within these events, and message, of each value that does not fit
    `scores`      of the ids, where the best are wanted
    `candidates`  what engines looked at to find them, where no other thread matches at the same time
    `encoding`    seconds that took to read the events into codes
    """

    offsets: NDArray[np.int64]
    ids: pa.Array
    errors: list[tuple[int, str]]
    scores: NDArray[np.float64] | None = None
    candidates: int = 0
    encoding: float = 0.0


def answers_of_one(
    shard: Shard, events: Any, strictness: Strictness, request: Request = ALL_RULES, threads: int = 1
) -> Iterator[Answered]:
    """The answers of a single shard, whose own order of rules is kept."""
    parts = shard.matcher.ask(events, request.without_rows(), strictness, threads, shard.dead)
    return _flat(parts, lambda asked: _of_one(shard, asked), threads)


def _of_one(shard: Shard, asked: EventsAsked) -> Iterator[Answered]:
    first = 0
    if not asked.size:
        asked.rows(first)  # columns may be missing all the same
    while first < asked.size:
        before, encoding = shard.candidates, asked.encoding
        found = asked.rows(first)
        told = _told(asked.errors, asked.first_row + first, found.count)
        work = shard.candidates - before, asked.encoding - encoding
        yield Answered(found.offsets, shard.table.ids_of(found), told, found.scores, *work)
        first += found.count


def _flat(parts: Iterator[Part], answer: Callable[[Part], Iterator[Answered]], threads: int) -> Iterator[Answered]:
    """The answers to all parts, piece by piece; with several threads, those to a part at once."""
    if threads == 1:
        return chain.from_iterable(map(answer, parts))
    return chain.from_iterable(in_order(parts, lambda part: list(answer(part)), threads))


class Walk:
    """Events through several shards. `shards()` walks through them, opening each or not as it likes.

    What is missing or does not fit is found once for all shards, by an encoder that asks for everything.
    """

    def __init__(
        self, shards: Callable[[], Iterable[Shard]], asking: AskingEncoder, keeps: Callable[[Shard], bool]
    ) -> None:
        self._shards, self._keeps, self._asking = shards, keeps, asking

    def answers(
        self, events: Any, strictness: Strictness, request: Request = ALL_RULES, threads: int = 1
    ) -> Iterator[Answered]:
        check = partial(EventChunk, self._asking, pace=Pace(self._asking), strictness=strictness)
        # Several threads must not open the same shard each for itself.
        shards = iter(list(self._shards()) if threads > 1 else self._shards())
        pace = Pace(next(shards).index._encoder, threads, row_count(events))
        keeps_nan = not self._asking.event_settings.nan_is_null(from_pandas=True)
        parts = chunks(events, pace, presence=strictness.missing == "error", keeps_nan=keeps_nan)
        return _flat(parts, lambda chunk: self._of_chunk(chunk, pace, check, request), threads)

    def _of_chunk(
        self, chunk: Chunk, pace: Pace, check: Callable[[Chunk], EventChunk], request: Request
    ) -> Iterator[Answered]:
        started = perf_counter()
        told = check(chunk).encode().errors
        encoding = perf_counter() - started
        first, asked = 0, dict[str, EventsAsked]()
        while first < chunk.size:
            found: list[Found] = []
            candidates = 0
            for shard in self._shards():
                events = asked.get(shard.name) or shard.matcher.show(chunk, pace, request, shard.dead)
                if self._keeps(shard):
                    asked[shard.name] = events
                before, spent = shard.candidates, events.encoding
                # As far as the first shard's output reaches; the others follow.
                found.append(Found(shard, _found(events, first, found[0].answer.count if found else None)))
                candidates, encoding = candidates + shard.candidates - before, encoding + events.encoding - spent
            count = found[0].answer.count
            told_here = _told(told, chunk.first_row + first, count)
            offsets, ids, scores = merged(found, request)
            yield Answered(offsets, ids, told_here, scores, candidates, encoding)
            first, encoding = first + count, 0.0


def _found(events: EventsAsked, first: int, reach: int | None) -> RuleRows:
    """The rows of a number of events, which may take several turns; without `reach`, those of one turn."""
    pieces = [events.rows(first)]
    count = pieces[0].count
    while reach is not None and count < reach:
        pieces.append(events.rows(first + count))
        count += pieces[-1].count
    return RuleRows.joined(pieces[0].first, pieces, reach)


def _told(errors: list[tuple[int, str]], start: int, count: int) -> list[tuple[int, str]]:
    return [(row - start, message) for row, message in errors if start <= row < start + count]
