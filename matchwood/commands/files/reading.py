"""Tables on disk, read in batches: CSV as columns of text, Parquet as it is, JSON and YAML as dicts."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from matchwood.commands.files.documents import read_rows
from matchwood.commands.files.formats import CSV, PARQUET, YAML, delimiter_of, format_of, is_compressed, plain_path
from matchwood.encoding import fraction_of
from matchwood.errors import InvalidArgument

Batch: TypeAlias = pa.RecordBatch | list[dict[str, Any]]
"""Some rows: JSON lines need not be alike, so they stay dicts."""

BATCH_ROWS = 8_192
_BLOCK_BYTES = 16 * 2**20
"""A row of a CSV file must fit into a block; a rule may have 4 MiB."""


def column_names(path: Path) -> list[str] | None:
    """The columns of a CSV or Parquet file; None for JSON and YAML, where each row has its own."""
    with _readable(path):
        if format_of(path) == PARQUET:
            names: list[str] = pa_parquet.read_schema(path).names
            return names
        if format_of(path) == CSV:
            with pa_csv.open_csv(path, read_options=_READ, parse_options=_parsing(path)) as reader:
                return list(reader.schema.names)
    return None


def row_count(path: Path) -> int | None:
    """How many rows a file has, if it says so."""
    if format_of(path) != PARQUET:
        return None
    with _readable(path):
        count: int = pa_parquet.read_metadata(path).num_rows
        return count


def read_batches(path: Path, columns: list[str] | None = None) -> Iterator[Batch]:
    """The rows of a file. `columns` are those to read of a CSV or Parquet file, in any order; None reads all."""
    with _readable(path):
        if format_of(path) == PARQUET:
            yield from _parquet(path, columns)
        elif format_of(path) == CSV:
            yield from _csv(path, columns)
        elif format_of(path) == YAML:
            yield from _in_batches(read_rows(path))
        else:
            yield from _json_lines(path)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say which file it is that cannot be read, and what is wrong with it."""
    if not path.is_file():
        raise InvalidArgument(f"{path}: there is no such file")
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"{path}: not a readable {format_of(path)} file ({error}){_advice(path, error)}"
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InvalidArgument(f"{path}: not a readable {format_of(path)} file ({error})") from None


def _advice(path: Path, error: Exception) -> str:
    """A rule such as `x in (1, 2)` that nobody quoted falls into more cells than there are columns."""
    if format_of(path) != CSV or _TOO_MANY_CELLS.search(str(error)) is None:
        return ""
    what = "tabs" if delimiter_of(path) == "\t" else "commas"
    return f'; put a cell that contains {what}, such as an expression, in double quotes: 7,"x in (1, 2)"'


_TOO_MANY_CELLS = re.compile(r"Expected \d+ columns, got \d+")
_READ = pa_csv.ReadOptions(block_size=_BLOCK_BYTES)


def _parsing(path: Path) -> pa_csv.ParseOptions:
    return pa_csv.ParseOptions(newlines_in_values=True, delimiter=delimiter_of(path))


def _csv(path: Path, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    """Every column as text: digits may be a number or a name. Only a cell that is empty and not quoted is NULL."""
    names = column_names(path) or []
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=columns,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with pa_csv.open_csv(path, read_options=_READ, parse_options=_parsing(path), convert_options=convert) as reader:
        for batch in reader:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)


def _parquet(path: Path, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    with pa_parquet.ParquetFile(path) as file:
        yield from file.iter_batches(BATCH_ROWS, columns=columns)


def _in_batches(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), BATCH_ROWS):
        yield rows[start : start + BATCH_ROWS]


def _json_lines(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Objects, one a line; or one array of objects, over as many lines as it likes."""
    batch: list[dict[str, Any]] = []
    opener = gzip.open if is_compressed(path) else open
    with opener(path, "rt", encoding="utf-8-sig") as lines:
        if _is_array(path, lines):
            yield from _in_batches(_json_array(path, lines.read()))
            return
        for number, line in enumerate(lines, 1):
            if not line.isspace():
                batch.append(_json_object(path, number, line))
            if len(batch) == BATCH_ROWS:
                yield batch
                batch = []
    if batch:
        yield batch


def _is_array(path: Path, lines: TextIO) -> bool:
    """Whether a `.json` file begins with a bracket; whatever else `.jsonl` holds is wrong in its own line."""
    if plain_path(path).suffix.lower() != ".json":
        return False
    first = next((line for line in lines if not line.isspace()), "")
    lines.seek(0)
    return first.lstrip().startswith("[")


def _json_array(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(text, parse_float=fraction_of)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path}: not JSON ({error})") from None
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InvalidArgument(f"{path}, entry {number}: must be a JSON object (got {row!r:.60})")
    return list(rows)


def _json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_float=fraction_of)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path}, line {number}: not JSON ({error}); each line holds one object") from None
    if not isinstance(value, dict):
        raise InvalidArgument(f"{path}, line {number}: must be a JSON object (got {line.strip():.60})")
    return value
