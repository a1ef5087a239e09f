"""Events to codes: the entry points that the Encoder delegates to.

    input ─► chunks (event_sources) ─► where attributes stand (event_pieces) ─► values read (columns,
    column_objects) ─► looked up and put together (event_assembly) ─► EncodedBatch

One event alone, and dicts with few of many attributes, take the short way of `event_single.py`, and get exactly the
same codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.event_encoding import EncodedBatch, encode_chunk, encode_mapping
from matchwood.encoding.event_plan import Pace, event_plan
from matchwood.encoding.event_single import encode_plain
from matchwood.encoding.event_sources import Chunk, chunks
from matchwood.encoding.event_values import describe
from matchwood.errors import EventError, InvalidArgument

if TYPE_CHECKING:
    from matchwood.encoding.encoder import Encoder

__all__ = ["EncodedBatch", "columns_needed", "encode_event", "event_batches"]

MISSING = ("null", "error")
ON_ERROR = ("raise", "null", "report")


def event_batches(
    encoder: Encoder, events: Any, missing: str = "null", on_error: str = "raise"
) -> Iterator[EncodedBatch]:
    """The events' codes, in batches of bounded size.

    `missing="error"` refuses events without an attribute that live rules name. A value that does not fit is
    an EventError with on_error="raise"; it counts as missing with "null", and is told beside that with
    "report". The rules may change between two batches.
    """
    _check_choice("missing", missing, MISSING)
    _check_choice("on_error", on_error, ON_ERROR)
    pace = Pace(encoder)
    return _batches(encoder, chunks(events, pace, presence=missing == "error"), pace, missing, on_error)


def _check_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise InvalidArgument(f"{name} must be one of {', '.join(map(repr, choices))} (got {given!r:.80})")


def _batches(
    encoder: Encoder, parts: Iterator[Chunk], pace: Pace, missing: str, on_error: str
) -> Iterator[EncodedBatch]:
    for chunk in parts:
        batch, labels = encode_chunk(event_plan(encoder), chunk, missing, on_error)
        pace.note(chunk.size, labels)
        if chunk.size:
            yield batch


def encode_event(encoder: Encoder, event: Mapping[str, Any]) -> EncodedEvents:
    """One event's codes; an EventError if a value does not fit."""
    plan = event_plan(encoder)
    if not isinstance(event, Mapping):
        raise EventError("event", where="event 0", got=describe(event), expected="a dict or another mapping")
    events = encode_plain(plan, event)
    return encode_mapping(plan, event).events if events is None else events


def columns_needed(encoder: Encoder) -> list[str]:
    """The names that live rules ask events for, as rules spell them, sorted."""
    return sorted(source.name for source in event_plan(encoder).sources)
