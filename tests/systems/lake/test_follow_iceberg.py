"""An index that follows an Iceberg table: appends, rewritten files, deletes beside files, other tables of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Rules = Callable[[Any], dict[Any, str]]
TABLE = "ice.shop.rules"


@pytest.fixture
def iceberg(lake: Any) -> Iterator[str]:
    lake.sql(f"CREATE TABLE {TABLE} (id string, expression string) USING iceberg")
    yield TABLE
    lake.sql(f"DROP TABLE IF EXISTS {TABLE}")


def _rows(lake: Any) -> dict[Any, str]:
    return {row["id"]: row["expression"] for row in lake.table(TABLE).collect()}


def test_snapshots_become_versions(lake: Any, iceberg: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    assert mws.follow(lake, iceberg, path).versions == [(1, None)]
    lake.sql(f"INSERT INTO {iceberg} VALUES ('a', 'x = 1'), ('b', 'x = 2')")
    lake.sql(f"INSERT INTO {iceberg} VALUES ('c', 'x = 3')")
    (step,) = mws.follow(lake, iceberg, path).steps
    assert (step.how, step.inserted) == ("feed", 3)
    lake.sql(f"ALTER TABLE {iceberg} ADD COLUMNS (note string)")
    lake.sql(f"UPDATE {iceberg} SET expression = 'x = 10' WHERE id = 'a'")
    lake.sql(f"DELETE FROM {iceberg} WHERE id = 'b'")
    (step,) = mws.follow(lake, iceberg, path).steps
    assert (step.how, step.inserted, step.replaced, step.deleted) == ("feed", 0, 1, 1)
    assert rules_of(path) == _rows(lake) == {"a": "x = 10", "c": "x = 3"}
    assert not mws.follow(lake, iceberg, path).steps
    newest = next(info.follows for info in mws.versions(path) if info.current)
    assert newest is not None
    assert (newest["format"], newest["version"]) == ("iceberg", step.table_version)


def test_what_the_feed_cannot_tell(lake: Any, iceberg: str, tmp_path: Path, rules_of: Rules) -> None:
    """Deletes that lie beside files, a rollback of the table, and a table that was made anew."""
    from matchwood import spark as mws

    path = tmp_path / "index"
    beside = ", ".join(f"'write.{what}.mode' = 'merge-on-read'" for what in ("delete", "update", "merge"))
    lake.sql(f"ALTER TABLE {iceberg} SET TBLPROPERTIES ({beside})")
    lake.sql(f"INSERT INTO {iceberg} SELECT concat('r', id), concat('x = ', id) FROM range(9)")
    first = mws.follow(lake, iceberg, path).steps[0].table_version
    lake.sql(f"UPDATE {iceberg} SET expression = 'y = 1' WHERE id = 'r3'")
    (step,) = mws.follow(lake, iceberg, path).steps
    assert (step.how, step.replaced, step.inserted + step.deleted) == ("compare", 1, 0)
    assert rules_of(path) == _rows(lake)
    lake.sql(f"CALL ice.system.rollback_to_snapshot('shop.rules', {first})")
    (step,) = mws.follow(lake, iceberg, path).steps
    assert (step.how, step.table_version) == ("build", first)
    lake.sql(f"DROP TABLE {iceberg} PURGE")
    lake.sql(f"CREATE TABLE {iceberg} (id string, expression string) USING iceberg")
    lake.sql(f"INSERT INTO {iceberg} VALUES ('new', 'x = 1')")
    (step,) = mws.follow(lake, iceberg, path).steps
    assert (step.how, step.rules) == ("build", 1)
    assert rules_of(path) == _rows(lake)
