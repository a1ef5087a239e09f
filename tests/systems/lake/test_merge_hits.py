"""Hits that are merged into a table: whatever is written again, each is there once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matchwood.errors import InvalidArgument


@pytest.fixture
def index(lake: Any, tmp_path: Path) -> str:
    from matchwood import spark as mws

    rules = [("small", "x < 3"), ("all", "true")]
    mws.build(lake.createDataFrame(rules, "id string, expression string"), tmp_path / "index")
    return str(tmp_path / "index")


def _rows(lake: Any, table: str) -> list[tuple[Any, ...]]:
    rows = lake.table(table).select("day", "event", "rule", "rules_version").collect()
    return sorted((tuple(row) for row in rows), key=str)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_batch_that_is_written_again_adds_nothing(lake: Any, index: str, tmp_path: Path, format: str) -> None:
    from matchwood import spark as mws

    table = f"delta.`{tmp_path / 'hits'}`" if format == "delta" else "ice.shop.hits"
    write = mws.merge_hits(table, key=["day", "event"], format=format)
    events = lake.createDataFrame([("mon", 1, 1), ("mon", None, 9), ("mon", 1, 1)], "day string, event int, x int")
    hits = mws.match(events, index, keep=["day", "event"])
    for batch_id in (0, 0, 1):
        write(hits, batch_id, 1)
    expected = [("mon", 1, "all", 1), ("mon", 1, "small", 1), ("mon", None, "all", 1)]
    assert _rows(lake, table) == sorted(expected, key=str)
    write(hits, 2, 2)
    assert len(_rows(lake, table)) == 6
    if format == "iceberg":
        lake.sql(f"DROP TABLE {table}")


def test_hits_that_cannot_be_merged(lake: Any, index: str) -> None:
    from matchwood import spark as mws

    events = lake.createDataFrame([(1, 1)], "event int, x int")
    with pytest.raises(InvalidArgument, match=r"hits have no column 'event'.*keep= must include"):
        mws.merge_hits("unmade", key="event")(mws.match(events, index, keep=[]), 0, 1)
    with pytest.raises(InvalidArgument, match=r"hits have no column 'rule'.*output must be 'rows'"):
        mws.merge_hits("unmade", key="event")(mws.match(events, index, output="array"), 0, 1)
    with pytest.raises(InvalidArgument, match="key must be the column"):
        mws.merge_hits("unmade", key=[])
    assert not lake.catalog.tableExists("unmade")
