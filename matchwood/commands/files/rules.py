"""Rules from files: the columns id and expression under any names, and weights where there are any."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from matchwood.commands.calls import output_file, rules_source, schema_text, timezone_name
from matchwood.commands.files.documents import read_rules
from matchwood.commands.files.folders import files_of, total_rows
from matchwood.commands.files.formats import CSV, YAML, format_of
from matchwood.commands.files.reading import Batch, column_names, read_batches
from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.matching import Report
from matchwood.progress import Progress

_CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]{0,18})$"
_WEIGHTS = ("weight", "weights")

IdReader = Callable[[Any], Any]


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """What names the rules, and where those go that cannot be used."""
    add_source_arguments(parser)
    parser.add_argument(
        "--rejects",
        type=output_file,
        metavar="FILE",
        help="where to write rejected rules (default: beside RULES, .rejects.csv)",
    )


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rules",
        type=rules_source,
        help="CSV, TSV, JSON lines, YAML (or .gz of these) or Parquet, or a folder of such files",
    )
    add_reading_arguments(parser)


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """How rules are read."""
    parser.add_argument("--id", default="id", metavar="COLUMN", help="the column of ids (default: id)")
    parser.add_argument(
        "--id-type",
        choices=("auto", "int", "string"),
        default="auto",
        help="the type of ids (default: as in the file; in CSV, integers if all of them are)",
    )
    parser.add_argument(
        "--expression", default="expression", metavar="COLUMN", help="the column of rules (default: expression)"
    )
    parser.add_argument("--schema", type=schema_text, help="types of attributes, like 'age int, tags array<string>'")
    parser.add_argument("--strict", action="store_true", help="refuse attributes that the schema does not declare")
    parser.add_argument(
        "--timezone",
        type=timezone_name,
        default="UTC",
        help="the time zone of dates, and of timestamps without a zone (default: UTC)",
    )


def load_rules(
    arguments: argparse.Namespace,
    engine: str,
    on_duplicate: str,
    options: dict[str, Any] | None = None,
    source: Path | None = None,
    places: dict[Any, Path] | None = None,
) -> tuple[Index, Report]:
    """An index of the rules that the arguments name, and what became of each.

    `source`  where they are, if not at `arguments.rules`
    `places`  takes down the file of each rule; of an id in several files the last one
    """
    path: Path = source or arguments.rules
    files = files_of(path)
    settings = {"timezone": arguments.timezone, "strict_schema": arguments.strict, "options": options}
    index = Index(engine, arguments.schema, **settings)
    with Progress(f"reading {path}", "rules", total_rows(files)) as progress:
        # All that were refused are written to a file, however many; what that means is for the command to say.
        report = index.insert_many(
            _rules(arguments, files, places), on_duplicate=on_duplicate, max_rejected=1.0, progress=progress.follow
        )
    return index, report


def _rules(
    arguments: argparse.Namespace, files: list[Path], places: dict[Any, Path] | None
) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    wanted = (arguments.id, arguments.expression)
    for path in files:
        _require_columns(path, wanted)
    read_id = _id_reader(files, arguments.id, arguments.id_type)
    for path in files:
        for batch in _batches(path, wanted):
            for given_id, expression, weight, weights in _rows(path, batch, wanted):
                rule_id = read_id(given_id)
                if places is not None and isinstance(rule_id, int | str):
                    places[rule_id] = path
                yield rule_id, expression, _options(weight, weights)


def _batches(path: Path, wanted: tuple[str, str]) -> Iterator[Batch]:
    if format_of(path) == YAML:
        return iter([read_rules(path, *wanted)])
    columns = column_names(path)
    chosen = None if columns is None else [name for name in dict.fromkeys((*wanted, *_WEIGHTS)) if name in columns]
    return read_batches(path, chosen)


def _require_columns(path: Path, wanted: tuple[str, str]) -> None:
    columns = column_names(path)
    if columns is not None:
        _require(path, wanted, columns)


def _require(path: Path, wanted: tuple[str, ...], columns: list[str]) -> None:
    for name in wanted:
        if columns.count(name) != 1:
            number = "no column" if name not in columns else "more than one column"
            raise InvalidArgument(f"{path}: there is {number} {name!r} (the columns: {', '.join(columns)})")


def _rows(path: Path, batch: Batch, wanted: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(batch, pa.RecordBatch):
        columns = [_values(batch, name) for name in (*wanted, *_WEIGHTS)]
        return zip(*columns, strict=False)
    return (_row(path, row, wanted) for row in batch)


def _values(batch: pa.RecordBatch, name: str) -> Any:
    return batch.column(name).to_pylist() if name in batch.schema.names else itertools.repeat(None)


def _row(path: Path, row: dict[str, Any], wanted: tuple[str, ...]) -> tuple[Any, ...]:
    _require(path, wanted, list(row))
    return (*(row[name] for name in wanted), *(row.get(name) for name in _WEIGHTS))


def _options(weight: Any, weights: Any) -> dict[str, Any]:
    """A weight in CSV is text; what is no number is left for the index to refuse, with the rule's id."""
    if isinstance(weight, str):
        with contextlib.suppress(ValueError):
            weight = float(weight)
    return {name: value for name, value in zip(_WEIGHTS, (weight, weights), strict=True) if value is not None}


def _id_reader(files: list[Path], column: str, kind: str) -> IdReader:
    """In CSV, which has no types, ids are integers if all of all files are."""
    if kind == "string":
        return lambda rule_id: rule_id if rule_id is None else str(rule_id)
    texts = [path for path in files if format_of(path) == CSV]
    if kind == "int" or (texts and all(_all_integers(path, column) for path in texts)):
        return _as_integer
    return lambda rule_id: rule_id


def _as_integer(rule_id: Any) -> Any:
    """What is no integer stays as it is, for the index to refuse."""
    try:
        return int(rule_id) if isinstance(rule_id, str) else rule_id
    except ValueError:
        return rule_id


def _all_integers(path: Path, column: str) -> bool:
    """Whether all ids of a CSV file are integers as they would be printed: 007 is a name."""
    for batch in read_batches(path, [column]):
        ids = batch.column(column)  # type: ignore[union-attr]
        if not pc.all(pc.match_substring_regex(ids, _CANONICAL_INTEGER), min_count=0).as_py():
            return False
        try:
            ids.cast(pa.int64())
        except pa.ArrowInvalid:
            return False
    return True
