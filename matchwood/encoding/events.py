"""Events to codes: the entry points that the Encoder delegates to.

    input ─► chunks (event_sources) ─► where attributes stand (event_pieces) ─► values read (columns,
    column_objects) ─► looked up and put together (event_assembly) ─► EncodedBatch

One event alone takes the short way of `event_single.py`, and gets exactly the same codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.event_assembly import Assembly
from matchwood.encoding.event_containers import MappingContainer
from matchwood.encoding.event_errors import Faults
from matchwood.encoding.event_missing import check_present
from matchwood.encoding.event_pieces import Pieces
from matchwood.encoding.event_plan import EventPlan, Pace, event_plan
from matchwood.encoding.event_single import encode_mapping
from matchwood.encoding.event_sources import Chunk, chunks
from matchwood.encoding.event_values import describe
from matchwood.errors import EventError, InvalidArgument

if TYPE_CHECKING:
    from matchwood.encoding.encoder import Encoder

MISSING = ("null", "error")
ON_ERROR = ("raise", "null", "report")


class EncodedBatch(NamedTuple):
    """Some rows of the input, encoded.

    `first_row`  the position of its first event in the whole input
    `events`     the codes
    `errors`     with on_error="report": row and message of each value that does not fit, ordered by row
    `misfits`    how many values did not fit, and count as missing
    """

    first_row: int
    events: EncodedEvents
    errors: list[tuple[int, str]]
    misfits: int


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
        batch = _encoded(event_plan(encoder), chunk, missing, on_error)
        pace.note(chunk.size, len(batch.events.attributes))
        if chunk.size:
            yield batch


def encode_event(encoder: Encoder, event: Mapping[str, Any]) -> EncodedEvents:
    """One event's codes; an EventError if a value does not fit."""
    plan = event_plan(encoder)
    if not isinstance(event, Mapping):
        raise EventError("event", where="event 0", got=describe(event), expected="a dict or another mapping")
    events = encode_mapping(plan, event)
    if events is not None:
        return events
    return _encoded(plan, Chunk(0, 1, MappingContainer([event]), columnar=False), "null", "raise").events


def columns_needed(encoder: Encoder) -> list[str]:
    """The names that live rules ask events for, as rules spell them, sorted."""
    return sorted(source.name for source in event_plan(encoder).sources)


def _encoded(plan: EventPlan, chunk: Chunk, missing: str, on_error: str) -> EncodedBatch:
    pieces = Pieces(chunk.rows, plan.trie)
    if missing == "error":
        check_present([source.name for source in plan.sources], pieces, chunk)
    reading = plan.reading._replace(nan_is_null=chunk.nan_is_null)
    assembly, faults = Assembly(chunk.size), Faults(chunk.first_row, [])
    for position in sorted(pieces.found):
        source = plan.sources[position]
        for column in pieces.columns(position, source.kind, reading, chunk.size):
            faults.misfits.extend((source, misfits) for misfits in column.misfits)
            for part in column.parts:
                assembly.add(source, part)
    if on_error == "raise" and (error := faults.first()) is not None:
        raise error
    errors = faults.report() if on_error == "report" else []
    return EncodedBatch(chunk.first_row, assembly.finish(), errors, faults.total)
