"""Tables written as they come: to a file that is complete or absent, or as CSV to standard output."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from matchwood.commands.files.formats import CSV, PARQUET, delimiter_of, format_to_write, is_compressed
from matchwood.errors import InvalidArgument


class Sink(Protocol):
    """Where batches of one schema go."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""

    def close(self) -> None:
        """All is written."""

    def abandon(self) -> None:
        """Something failed: leave nothing half done behind, if that can be helped."""


def open_sink(path: Path | None, schema: pa.Schema) -> Sink:
    """A file in the format of its ending, or CSV on standard output."""
    return StandardOutput(schema) if path is None else TableFile(path, schema)


class TableFile:
    """A file that is written under a temporary name, and takes its own when all is there."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._file = _opened(path, self._part)
        self._packed = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0) if is_compressed(path) else None
        try:
            self._writer = _writer(path, self._packed or self._file, schema)
        except BaseException:  # a type that the format does not have
            self._remove()
            raise

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        self._writer.write(batch)

    def close(self) -> None:
        try:
            self._writer.close()
            if self._packed is not None:
                self._packed.close()
            self._file.close()
            self._part.replace(self._path)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """The writer goes first: one of Parquet that is left open writes its end whenever it is collected."""
        with contextlib.suppress(OSError, ValueError):
            self._writer.close()
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):  # a full disk does not take what is still in buffers
            self._file.close()
        self._part.unlink(missing_ok=True)


def _opened(path: Path, part: Path) -> Any:
    try:
        return part.open("wb")
    except OSError as error:  # named after the file that was asked for
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None


def _writer(path: Path, file: Any, schema: pa.Schema) -> Any:
    kind = format_to_write(path)
    if kind == PARQUET:
        return pa_parquet.ParquetWriter(file, schema)
    options = pa_csv.WriteOptions(delimiter=delimiter_of(path))
    return pa_csv.CSVWriter(file, schema, write_options=options) if kind == CSV else _JsonLines(file)


class StandardOutput:
    """CSV with a header line, in UTF-8 whatever the terminal's encoding."""

    def __init__(self, schema: pa.Schema) -> None:
        if sys.stdout is None:
            raise InvalidArgument("standard output is closed: name a file with -o")
        self._write(pa_csv.write_csv, schema.empty_table(), True)

    def write(self, batch: pa.RecordBatch) -> None:
        self._write(pa_csv.write_csv, batch, False)

    def _write(self, write_csv: Any, batch: Any, header: bool) -> None:
        written = pa.BufferOutputStream()
        write_csv(batch, written, pa_csv.WriteOptions(include_header=header))
        data = written.getvalue().to_pybytes()
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data.decode())

    def close(self) -> None:
        sys.stdout.flush()

    abandon = close


class _JsonLines:
    """One object a line."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        if batch.num_rows:
            self._file.write("\n".join([*json_lines(batch).to_pylist(), ""]).encode())

    def close(self) -> None:
        self._file.flush()


def json_lines(batch: pa.RecordBatch | pa.Table) -> pa.ChunkedArray:
    """Each row as a JSON object. Text is quoted once for each distinct value: hits repeat ids by the thousand.

    >>> json_lines(pa.table({"event": [0, 1], "rule": ["a", 'say "b"']})).to_pylist()
    ['{"event": 0, "rule": "a"}', '{"event": 1, "rule": "say \\\\"b\\\\""}']
    """
    parts: list[Any] = []
    for number, name in enumerate(batch.schema.names):
        parts += [
            f"{', ' if number else '{'}{json.dumps(name, ensure_ascii=False)}: ",
            _json_values(batch.column(number)),
        ]
    return pc.binary_join_element_wise(*parts, "}", "")


def _json_values(column: Any) -> Any:
    if pa.types.is_integer(column.type):
        return pc.fill_null(column.cast(pa.string()), "null")
    encoded = pa.chunked_array(column).combine_chunks() if isinstance(column, pa.Array) else column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    texts = [json.dumps(value, ensure_ascii=False, default=str) for value in encoded.dictionary.to_pylist()]
    return pc.fill_null(pa.array(texts, pa.string()).take(encoded.indices), "null")


def write_table(path: Path, table: pa.Table) -> None:
    """One whole table as a file."""
    sink = TableFile(path, table.schema)
    try:
        sink.write(table)
    except BaseException:
        sink.abandon()
        raise
    sink.close()


def write_text(path: Path, text: str) -> None:
    """A text as a file, complete or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None
