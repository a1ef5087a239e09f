"""Files of tables that cannot be finished leave nothing behind: no file, no open handle, no complaint later."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pyarrow as pa
import pytest

from matchwood.commands import cli
from matchwood.commands.files.writing import TableFile

LISTS = pa.schema({"it": pa.list_(pa.int64())})
UNION = pa.schema([pa.field("it", pa.dense_union([pa.field("x", pa.int64())]))])


@pytest.mark.parametrize("name", ["hits.parquet", "hits.csv", "hits.jsonl"])
def test_an_abandoned_file_is_gone_for_good(tmp_path: Path, name: str) -> None:
    sink = TableFile(tmp_path / name, pa.schema({"it": pa.int64()}))
    sink.write(pa.table({"it": [1, 2]}))
    sink.abandon()
    assert not list(tmp_path.iterdir())
    del sink
    gc.collect()  # a writer that is still open fails here, and that fails the test


@pytest.mark.parametrize(("name", "schema"), [("hits.csv", LISTS), ("hits.parquet", UNION)])
def test_a_type_that_the_format_lacks(tmp_path: Path, name: str, schema: pa.Schema) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowNotImplementedError), match=r"[Tt]ype"):
        TableFile(tmp_path / name, schema)
    assert not list(tmp_path.iterdir())
    gc.collect()  # a file left open warns here, and warnings fail the test


def test_output_that_nobody_reads_goes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as left, open(writing, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        handles = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        cli._stop_printing()
        stream.write("lost")
        stream.flush()
        assert not handles or len(os.listdir("/proc/self/fd")) == handles
        monkeypatch.undo()
        assert left.read() == b""
