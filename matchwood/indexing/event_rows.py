"""Events as dicts, one a row: what the oracle looks at. Everything else encodes columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from matchwood.encoding import near_misses
from matchwood.errors import EventError, InvalidArgument
from matchwood.language.names import split_path

ROWS_AT_ONCE = 256
MISSING = ("null", "error")


def event_rows(events: Any, names: Iterable[str], missing: str) -> Iterator[list[Mapping[str, Any]]]:
    """Chunks of events as mappings; with missing="error" each must have every one of `names`."""
    if missing not in MISSING:
        raise InvalidArgument(f"missing must be one of {', '.join(map(repr, MISSING))} (got {missing!r:.80})")
    named = sorted(names)
    wanted = named if missing == "error" else []
    rows = iter(_rows(events, named))
    first = 0
    while chunk := list(itertools.islice(rows, ROWS_AT_ONCE)):
        for position, event in enumerate(chunk, first):
            _check(event, position, wanted)
        yield chunk
        first += len(chunk)


def _check(event: Any, position: int, wanted: list[str]) -> None:
    where = f"event {position}"
    if not isinstance(event, Mapping):
        raise EventError("event", where=where, got=f"{event!r:.80}, a {type(event).__name__}", expected="a dict or another mapping")
    absent = [name for name in wanted if not _has(event, name)]
    if absent:
        near = [f"no {name!r}" + "".join(f", but {other!r}" for other in near_misses(name, map(str, event))[:1]) for name in absent]
        raise EventError(", ".join(absent), where=where, got=", ".join(near), expected="given, because rules name it")


def _has(event: Mapping[str, Any], name: str) -> bool:
    path = split_path(name)
    if ".".join(path) in event:
        return True
    at: Any = event
    for key in path:
        if not isinstance(at, Mapping) or key not in at:
            return False
        at = at[key]
    return True


def _rows(events: Any, names: list[str]) -> Iterable[Any]:
    if isinstance(events, Mapping):
        return [events]
    if type(events).__module__.split(".")[0] == "pandas":
        # A column of objects that Arrow cannot hold only matters if a rule names it.
        tops = {top for name in names for top in (split_path(name)[0], ".".join(split_path(name)))}
        columns = [name for name in events.columns if name in tops]
        return _plain(pa.Table.from_pandas(events[columns], preserve_index=False)) if columns else [{} for _ in range(len(events))]
    if isinstance(events, pa.RecordBatch):
        return _plain(pa.Table.from_batches([events]))
    if isinstance(events, pa.ChunkedArray | pa.StructArray):
        return _plain(pa.table({"event": events})["event"])
    if hasattr(events, "__arrow_c_stream__"):
        return _plain(pa.RecordBatchReader.from_stream(events).read_all())
    if isinstance(events, Iterable) and not isinstance(events, str | bytes):
        return events
    raise InvalidArgument(f"events must be a dict, dicts, an Arrow table or stream, or a DataFrame (got {events!r:.80})")


def _plain(table: Any) -> Iterator[Any]:
    """Rows of Arrow data; maps, which Arrow hands out as lists of pairs, as dicts. A NULL struct is an empty event."""
    maps = {field.name for field in getattr(table, "schema", []) if pa.types.is_map(field.type)}
    for start in range(0, max(1, len(table)), ROWS_AT_ONCE):
        for row in table.slice(start, ROWS_AT_ONCE).to_pylist():
            yield {name: dict(value) if name in maps and value is not None else value for name, value in (row or {}).items()}
