"""Tables on disk: CSV, JSON lines and Parquet, read in batches and written as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from matchwood.errors import InvalidArgument

CSV, JSON_LINES, PARQUET = "csv", "jsonl", "parquet"
_ENDINGS = {".csv": CSV, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".json": JSON_LINES, ".parquet": PARQUET, ".pq": PARQUET}
BATCH_ROWS = 16_384


def format_of(path: Path) -> str:
    """The format of a file by its ending."""
    try:
        return _ENDINGS[path.suffix.lower()]
    except KeyError:
        raise InvalidArgument(f"{path}: cannot tell the format from the ending (use {', '.join(sorted(_ENDINGS))})") from None


def read_batches(path: Path, types: Mapping[str, pa.DataType] | None = None) -> Iterator[Any]:
    """Batches of rows: Arrow record batches, or lists of dicts for JSON lines, whose rows need not be alike.

    `types` tells a CSV reader what it would otherwise guess from the digits.
    """
    if not path.is_file():
        raise InvalidArgument(f"{path}: there is no such file")
    reader = {CSV: _read_csv, JSON_LINES: _read_json_lines, PARQUET: _read_parquet}[format_of(path)]
    return reader(path, types or {})


def _read_csv(path: Path, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    options = pa_csv.ConvertOptions(column_types=dict(types), strings_can_be_null=True, quoted_strings_can_be_null=False)
    parsing = pa_csv.ParseOptions(newlines_in_values=True)
    try:
        with pa_csv.open_csv(path, convert_options=options, parse_options=parsing) as reader:
            yield from reader
    except pa.ArrowInvalid as error:
        raise InvalidArgument(f"{path}: not a readable CSV file: {error}") from None


def _read_parquet(path: Path, types: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    try:
        with pa_parquet.ParquetFile(path) as file:
            yield from file.iter_batches(BATCH_ROWS)
    except pa.ArrowInvalid as error:
        raise InvalidArgument(f"{path}: not a readable Parquet file: {error}") from None


def _read_json_lines(path: Path, types: Mapping[str, pa.DataType]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                batch.append(_json_line(path, number, line))
            if len(batch) == BATCH_ROWS:
                yield batch
                batch = []
    if batch:
        yield batch


def _json_line(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path}, line {number}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise InvalidArgument(f"{path}, line {number}: must be a JSON object (got {line.strip()[:60]})")
    return value


class TableWriter:
    """Writes record batches of one schema to a file in the format of its ending; complete or absent.

    The file is written under a temporary name and takes its own when all is there.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._part = path, path.with_name(path.name + ".part")
        self._format = format_of(path)
        self._open(schema)

    def _open(self, schema: pa.Schema) -> None:
        if self._format == PARQUET:
            self._writer: Any = pa_parquet.ParquetWriter(self._part, schema)
        elif self._format == CSV:
            self._writer = pa_csv.CSVWriter(self._part, schema)
        else:
            self._writer = self._part.open("w", encoding="utf-8")

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Append one batch."""
        if self._format == JSON_LINES:
            self._writer.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist())
        else:
            self._writer.write(batch)

    def close(self) -> None:
        """Give the file its name."""
        self._writer.close()
        self._part.replace(self._path)

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._writer.close()
        self._part.unlink(missing_ok=True)


def write_table(path: Path, table: pa.Table) -> None:
    """One whole table as a file."""
    writer = TableWriter(path, table.schema)
    try:
        writer.write(table)
    except BaseException:
        writer.abandon()
        raise
    writer.close()
