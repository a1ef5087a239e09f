"""`matchwood match`: the rules that are true of each event of a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.commands.calls import count, output_file, table_file, thread_count
from matchwood.commands.files.events import EventBatch, EventFile
from matchwood.commands.files.formats import CSV, format_of
from matchwood.commands.files.reading import row_count
from matchwood.commands.files.writing import Sink, open_sink
from matchwood.commands.names import HELP, WrongCall
from matchwood.errors import counted
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.ranking import WEIGHT
from matchwood.sharding import open_index

SHOWN = 5
_COLUMNS = {False: ("rule",), True: ("rank", "rule", "score")}
"""The columns of hits beside the event's, without and with --top."""


def add_arguments(commands: Any) -> None:
    match = commands.add_parser("match", help=HELP["match"])
    match.add_argument("index", help="a saved index")
    match.add_argument("events", type=table_file, help="CSV, TSV, JSON lines, YAML (or .gz of these) or Parquet")
    match.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="CSV, TSV, JSON lines (also .gz) or Parquet (default: CSV on standard output)",
    )
    match.add_argument("--top", type=count, metavar="N", help="only the best N rules of an event, with rank and score")
    match.add_argument(
        "--weights",
        metavar="JSON",
        help="with --top, the weights of events by attribute: '{\"age\": 0.5}' (default: 1)",
    )
    match.add_argument(
        "--weight",
        choices=WEIGHT,
        default=WEIGHT[0],
        help="with --top, a rule's constant weight is added to its score (default), or is the score",
    )
    match.add_argument("--key", metavar="COLUMN", help="write this column of the events instead of their positions")
    match.add_argument(
        "--missing",
        choices=("null", "error"),
        default="null",
        help="an attribute that an event does not have is NULL (default), or an error",
    )
    match.add_argument(
        "--on-error",
        choices=("raise", "null"),
        default="raise",
        help="a value that does not fit its attribute ends the command (default), or counts as missing and is counted",
    )
    match.add_argument(
        "--list-separator", metavar="TEXT", help="what separates the elements of a list in CSV (default: JSON arrays)"
    )
    match.add_argument(
        "--threads",
        type=thread_count,
        default=1,
        metavar="N",
        help="number of threads (default: 1), or `all` for one per core",
    )
    match.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    index = open_index(arguments.index, read_only=True)
    narrow = arguments.missing == "null"
    key, separator = arguments.key, arguments.list_separator
    file = EventFile(arguments.events, index, key, separator, narrow, on_error=arguments.on_error)
    with Progress(f"matching {arguments.events}", "events", row_count(arguments.events)) as progress:
        hits = _write_hits(index, file, arguments, progress)
    where = arguments.output or "standard output"
    print(
        f"{counted(progress.done, 'event')}, {counted(hits, 'hit')} in {progress.seconds:.1f} s, written to {where}",
        file=sys.stderr,
    )
    _warn(file.absences(index) if progress.done else [])
    _tell_misfits(index.stats()["misfits"])
    if index.stats()["matching"]["unknown_weights"]:
        print("note: --weights has attributes that no rule names; they have no effect", file=sys.stderr)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.key in _COLUMNS[arguments.top is not None]:
        raise WrongCall(
            f"--key {arguments.key}: the hits already have a column of that name; rename the events' column"
        )
    if arguments.weights is not None:
        if arguments.top is None:
            raise WrongCall("--weights are for ranking: give --top as well")
        arguments.weights = _read_weights(arguments.weights)
    if arguments.weight == "only" and (arguments.top is None or arguments.weights is not None):
        raise WrongCall("--weight only is for ranking by the rules' constant weights: give --top, and no --weights")
    if arguments.list_separator is not None and (not arguments.list_separator or format_of(arguments.events) != CSV):
        raise WrongCall("--list-separator is a text of at least one character, for events in CSV")
    if arguments.output is not None and arguments.output.resolve() == arguments.events.resolve():
        raise WrongCall(f"-o {arguments.output} would replace the events")


def _read_weights(text: str) -> dict[str, Any]:
    try:
        weights = json.loads(text)
    except ValueError as error:
        raise WrongCall(f"--weights must be JSON such as '{{\"age\": 0.5}}' ({error})") from None
    if not isinstance(weights, dict):
        raise WrongCall(f"--weights must be a JSON object of attributes and numbers (got {text:.80})")
    return weights


def _write_hits(index: Index, file: EventFile, arguments: argparse.Namespace, progress: Progress) -> int:
    """Match batch by batch; the output opens with the first, which tells the type of its keys."""
    sink: Sink | None = None
    hits = 0
    try:
        for batch in file.batches():
            schema = _schema(index, arguments, batch.keys)
            sink = sink or open_sink(arguments.output, schema)
            for found in _hits(index, file, batch, schema, arguments):
                hits += found.num_rows
                sink.write(found)
            progress.advance(len(batch.events))
        sink = sink or open_sink(arguments.output, _schema(index, arguments, None))
    except BaseException:
        if sink is not None:
            sink.abandon()
        raise
    sink.close()
    return hits


def _schema(index: Index, arguments: argparse.Namespace, keys: pa.Array | None) -> pa.Schema:
    key = arguments.key
    key_type = pa.int64() if key is None else pa.string() if keys is None else keys.type
    types = {"rank": pa.int64(), "rule": index._table.id_type, "score": pa.float64()}
    columns = _COLUMNS[arguments.top is not None]
    return pa.schema([(key or "event", key_type), *((name, types[name]) for name in columns)])


def _hits(
    index: Index, file: EventFile, batch: EventBatch, schema: pa.Schema, arguments: argparse.Namespace
) -> Iterator[pa.RecordBatch]:
    with file.located(batch.first):
        for found in _found(index, batch.events, arguments):
            positions = found.column("event")
            named = pc.add(positions, batch.first) if batch.keys is None else batch.keys.take(positions)
            yield pa.record_batch([named, *found.columns[1:]], schema=schema)


def _found(index: Index, events: Any, arguments: argparse.Namespace) -> Iterator[pa.RecordBatch]:
    if arguments.top is None:
        yield from index.match_batches(events, arguments.missing, arguments.threads, arguments.on_error)
    else:
        names = ("missing", "threads", "weight", "on_error")
        given = {name: getattr(arguments, name) for name in names}
        best = index.top_many(events, arguments.top, arguments.weights, **given)
        yield from best.to_batches()


def _tell_misfits(misfits: dict[str, int]) -> None:
    if misfits:
        each = ", ".join(f"{name!r} {count:,}" for name, count in misfits.items())
        did = "did not fit and counts" if sum(misfits.values()) == 1 else "did not fit and count"
        print(f"note: {counted(sum(misfits.values()), 'value')} {did} as missing: {each}", file=sys.stderr)


def _warn(absences: list[str]) -> None:
    if absences:
        more = f" and {len(absences) - SHOWN:,} more" if len(absences) > SHOWN else ""
        print(f"note: rules name attributes that no event has: {', '.join(absences[:SHOWN])}{more}", file=sys.stderr)
