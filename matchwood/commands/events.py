"""`matchwood match` and `matchwood explain`: a saved index and a file of events, or one event."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.commands.files import TableWriter, read_batches
from matchwood.errors import InvalidArgument
from matchwood.index import Index, open_index
from matchwood.progress import Progress


def add_arguments(commands: Any) -> None:
    match = commands.add_parser("match", help="the rules that are true of each event of a file")
    match.add_argument("index", help="a saved index")
    match.add_argument("events", type=Path, help="CSV, JSON lines or Parquet; columns are attributes")
    match.add_argument("-o", "--output", type=Path, help="CSV, JSON lines or Parquet (default: CSV on standard output)")
    match.add_argument("--key", help="a column of the events to write instead of the row position")
    match.add_argument("--missing", choices=("null", "error"), default="null", help="what a column that rules name means when absent")
    match.set_defaults(run=run_match)
    explain = commands.add_parser("explain", help="why a rule is true, false or unknown for an event")
    explain.add_argument("index", help="a saved index")
    explain.add_argument("rule", help="the rule's id")
    explain.add_argument("event", help="the event as JSON, or @file with JSON in it")
    explain.add_argument("--json", action="store_true", help="as data instead of a drawing")
    explain.set_defaults(run=run_explain)


def run_match(arguments: argparse.Namespace) -> int:
    index = open_index(arguments.index, read_only=True)
    types = index.arrow_types()
    sink = _sink(arguments.output)
    hits = 0
    with Progress(f"matching {arguments.events}") as progress:
        try:
            for batch, count in _hits(index, read_batches(arguments.events, types), arguments):
                hits += batch.num_rows
                sink.write(batch)
                progress.advance(count)
        except BaseException:
            sink.abandon()
            raise
    sink.close()
    where = arguments.output or "standard output"
    print(f"{progress.done:,} events, {hits:,} hits in {progress.seconds:.1f} s, written to {where}", file=sys.stderr)
    return 0


def _hits(index: Index, batches: Iterator[Any], arguments: argparse.Namespace) -> Iterator[tuple[pa.Table, int]]:
    """The hits of each batch of events, and how many events it had; positions count over the whole file."""
    first = 0
    for batch in batches:
        count = len(batch)
        hits = index.match_many(batch, missing=arguments.missing)
        positions = hits.column("event")
        named = _keys(batch, arguments.key).take(positions) if arguments.key else pa.compute.add(positions, first)
        yield pa.table({arguments.key or "event": named, "rule": hits.column("rule")}), count
        first += count


def _keys(batch: Any, key: str) -> pa.Array:
    if isinstance(batch, pa.RecordBatch):
        if key not in batch.schema.names:
            raise InvalidArgument(f"the events have no column {key!r} (there are: {', '.join(batch.schema.names)})")
        return batch.column(key)
    return pa.array([row.get(key) for row in batch])


class _StandardOutput:
    """CSV on standard output, with one header line."""

    def __init__(self) -> None:
        self._headed = False

    def write(self, batch: pa.Table) -> None:
        options = pa.csv.WriteOptions(include_header=not self._headed)
        self._headed = True
        with pa.PythonFile(sys.stdout.buffer, mode="w") as out:
            pa.csv.write_csv(batch, _KeepOpen(out), options)

    def close(self) -> None:
        sys.stdout.flush()

    abandon = close


def _sink(path: Path | None) -> Any:
    return _StandardOutput() if path is None else _LazyWriter(path)


class _LazyWriter:
    """A TableWriter that opens with the first batch, whose schema it takes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: TableWriter | None = None

    def write(self, batch: pa.Table) -> None:
        if self._writer is None:
            self._writer = TableWriter(self._path, batch.schema)
        self._writer.write(batch)

    def close(self) -> None:
        if self._writer is None:
            self._writer = TableWriter(self._path, pa.schema([("event", pa.int64()), ("rule", pa.string())]))
        self._writer.close()

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()


def run_explain(arguments: argparse.Namespace) -> int:
    index = open_index(arguments.index, read_only=True)
    explanation = index.explain(_event(arguments.event), rule_id(index, arguments.rule))
    print(json.dumps(explanation.to_dict(), ensure_ascii=False, default=str) if arguments.json else explanation)
    return 0


def _event(text: str) -> dict[str, Any]:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except OSError as error:
            raise InvalidArgument(f"cannot read the event: {error}") from None
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"the event must be JSON like '{{\"age\": 20}}' ({error})") from None
    if not isinstance(event, dict):
        raise InvalidArgument("the event must be a JSON object")
    return event


def rule_id(index: Index, text: str) -> Any:
    """An id from the command line, as the kind of id that the index has."""
    if index.id_kind is int:
        try:
            return int(text)
        except ValueError:
            raise InvalidArgument(f"the ids of this index are integers (got {text!r})") from None
    return text
