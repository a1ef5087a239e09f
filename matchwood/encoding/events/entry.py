"""Events to codes: the entry points that the Encoder delegates to.

    input ─► chunks (event_sources) ─► where attributes stand (event_pieces) ─► values read (columns,
    column_objects) ─► looked up and put together (event_assembly) ─► EncodedBatch

One event alone, and dicts with few of many attributes, take the short way of `single.py`, and get exactly the
same codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.events.chunk import EncodedBatch, encode_chunk, encode_mapping
from matchwood.encoding.events.plan import Pace, event_plan
from matchwood.encoding.events.single import encode_flat
from matchwood.encoding.events.sources import Chunk, chunks, row_count
from matchwood.encoding.events.strictness import STRICT, Strictness
from matchwood.encoding.events.unwrapping import describe
from matchwood.errors import EventError

if TYPE_CHECKING:
    from matchwood.encoding.encoder import Encoder

__all__ = ["EncodedBatch", "EventChunk", "chunks_of", "columns_needed", "encode_event", "event_batches", "event_chunks"]


def event_batches(
    encoder: Encoder, events: Any, missing: str = "null", on_error: str = "raise"
) -> Iterator[EncodedBatch]:
    """The events' codes, in batches of bounded size.

    `missing="error"` refuses events without an attribute that live rules name. A value that does not fit is
    an EventError with on_error="raise"; it counts as missing with "null", and is told beside that with
    "report". The rules may change between two batches.
    """
    parts = event_chunks(encoder, events, missing, on_error)
    return (part.encode() for part in parts if part.size or part.check())


def event_chunks(
    encoder: Encoder, events: Any, missing: str = "null", on_error: str = "raise", threads: int = 1
) -> Iterator[EventChunk]:
    """The events in chunks of bounded size, none of them encoded yet; the options are those of `event_batches`.

    `threads` says how many threads there should be chunks for.

    Taking the next chunk may wait for the events' source, and reads nothing of the encoder.
    """
    return chunks_of(encoder, events, Strictness.of(missing, on_error), threads)


def chunks_of(encoder: Encoder, events: Any, strictness: Strictness, threads: int = 1) -> Iterator[EventChunk]:
    """The same, as strict as that."""
    pace = Pace(encoder, threads, row_count(events))
    keeps_nan = not encoder.event_settings.nan_is_null(from_pandas=True)
    parts = chunks(events, pace, presence=strictness.missing == "error", keeps_nan=keeps_nan)
    return (EventChunk(encoder, part, pace, strictness) for part in parts)


class EventChunk(NamedTuple):
    """Some events as they were given. Codes hold until the rules change; then the chunk is encoded again."""

    encoder: Encoder
    given: Chunk
    pace: Pace
    strictness: Strictness = STRICT

    @property
    def first_row(self) -> int:
        """The position of its first event in the whole input."""
        return self.given.first_row

    @property
    def size(self) -> int:
        return self.given.size

    def encode(self) -> EncodedBatch:
        """The codes by the rules as they are now."""
        batch, labels = encode_chunk(event_plan(self.encoder), self.given, self.strictness)
        self.pace.note(self.size, labels)
        return batch

    def check(self) -> bool:
        """Look for missing columns where there is no event to encode; False."""
        self.encode()
        return False


def encode_event(encoder: Encoder, event: Mapping[str, Any], strictness: Strictness = STRICT) -> EncodedEvents:
    """One event's codes."""
    plan = event_plan(encoder)
    if not isinstance(event, Mapping):
        raise EventError("event", where="event 0", got=describe(event), expected="a dict or another mapping")
    events = encode_flat(plan, event) if strictness.missing == "null" else None
    return encode_mapping(plan, event, strictness=strictness).events if events is None else events


def columns_needed(encoder: Encoder) -> list[str]:
    """The names that live rules ask events for, as rules spell them, sorted."""
    return sorted(source.name for source in event_plan(encoder).sources)
