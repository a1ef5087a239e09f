"""An index that follows a Delta table: whatever happens to the table, the index has its rules, and says which."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood import storage
from matchwood.errors import InvalidArgument, LimitExceeded
from tests.systems.lake.conftest import make_table

Rules = Callable[[Any], dict[Any, str]]


def _rows(lake: Any, table: str) -> dict[Any, str]:
    return {row["id"]: row["expression"] for row in lake.table(table).collect()}


def _followed(path: Any) -> list[int | None]:
    return [info.follows["version"] if info.follows else None for info in storage.versions(path)]


def test_changes_become_versions(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    first = mws.follow(lake, table, path, engine="counting")
    assert [(step.how, step.reason, step.rules, step.table_version) for step in first.steps] == [("build", None, 3, 1)]
    assert rules_of(path) == _rows(lake, table)
    assert not mws.follow(lake, table, path).steps
    lake.sql(f"UPDATE {table} SET expression = 'x = 10' WHERE id = 'a'")
    lake.sql(f"UPDATE {table} SET expression = 'x = 11' WHERE id = 'a'")
    lake.sql(f"DELETE FROM {table} WHERE id = 'b'")
    lake.sql(f"ALTER TABLE {table} ADD COLUMNS (note string)")
    lake.sql(f"INSERT INTO {table} VALUES ('d', 'y = 4', 'new'), ('gone', 'y = 5', 'soon')")
    lake.sql(f"DELETE FROM {table} WHERE id = 'gone'")
    (step,) = mws.follow(lake, table, path).steps
    assert (step.how, step.table_version, step.inserted, step.replaced, step.deleted) == ("feed", 7, 1, 1, 1)
    assert rules_of(path) == _rows(lake, table) == {"a": "x = 11", "c": "x = 3", "d": "y = 4"}
    assert _followed(path) == [1, 7, 7]  # the last with all shards built anew
    assert mw.open(path).engine == "counting"
    assert mw.open(path, version=1).match({"x": 1}) == ["a"]


def test_a_merge_that_changes_little_costs_little(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    mws.follow(lake, table, path)
    same = f"MERGE INTO {table} t USING (SELECT * FROM {table}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    lake.sql(same)
    unchanged = mws.follow(lake, table, path)
    assert (unchanged.versions, unchanged.changed) == ([(2, 2)], 0)
    files = [set((path / f"v{number:06d}").rglob("*.bin")) for number in (1, 2)]
    assert {file.stat().st_ino for file in files[0]} == {file.stat().st_ino for file in files[1]}
    assert rules_of(path) == _rows(lake, table)


def test_rejected_rules_are_kept_as_a_table(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    mws.follow(lake, table, path)
    lake.sql(f"INSERT INTO {table} VALUES ('bad', 'x =='), ('good', 'x = 7'), (NULL, 'x = 8')")
    with pytest.raises(LimitExceeded):
        mws.follow(lake, table, path, max_rejected=1)
    assert _followed(path) == [1]
    followed = mws.follow(lake, table, path)
    assert (followed.inserted, followed.rejected) == (1, 2)
    version = followed.steps[0].version
    assert {row["id"] for row in mws.rejects(lake, path, version).collect()} == {"bad", None}
    assert rules_of(path) == {"a": "x = 1", "b": "x = 2", "c": "x = 3", "good": "x = 7"}
    lake.sql(f"UPDATE {table} SET expression = NULL WHERE id = 'good'")
    lake.sql(f"DELETE FROM {table} WHERE id IS NULL")
    assert mws.follow(lake, table, path).deleted == 1


def test_ids_must_tell_rules_apart(lake: Any, table: str, tmp_path: Path) -> None:
    from matchwood import spark as mws

    mws.follow(lake, table, tmp_path / "index")
    lake.sql(f"INSERT INTO {table} VALUES ('d', 'x = 7'), ('d', 'x = 8')")
    with pytest.raises(InvalidArgument, match=r"ids occur more than once .*'d'"):
        mws.follow(lake, table, tmp_path / "index")


def test_without_a_feed_versions_are_compared(lake: Any, tmp_path: Path, rules_of: Rules) -> None:
    """By path, with a feed that is turned on later and does not reach back."""
    from matchwood import spark as mws

    place, path = tmp_path / "table", tmp_path / "index"
    rows = lake.createDataFrame([(1, "x = 1"), (2, "x = 2"), (3, "x = 3")], "id int, expression string")
    rows.write.format("delta").save(str(place))
    mws.follow(lake, place, path)
    lake.sql(f"UPDATE delta.`{place}` SET expression = 'x = 10' WHERE id = 1")
    lake.sql(f"DELETE FROM delta.`{place}` WHERE id = 2")
    (step,) = mws.follow(lake, str(place), path).steps
    assert (step.how, step.inserted, step.replaced, step.deleted) == ("compare", 0, 1, 1)
    assert step.reason is not None
    assert "SET TBLPROPERTIES (delta.enableChangeDataFeed = true)" in step.reason
    lake.sql(f"INSERT INTO delta.`{place}` VALUES (4, 'x = 4')")
    lake.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    assert [step.how for step in mws.follow(lake, f"delta.`{place}`", path).steps] == ["compare"]
    lake.sql(f"DELETE FROM delta.`{place}` WHERE id = 4")
    assert [step.how for step in mws.follow(lake, place, path).steps] == ["feed"]
    assert rules_of(path) == {1: "x = 10", 3: "x = 3"}
    assert not mws.follow(lake, f"delta.`file:{place}`", path).steps  # another name of the same table


def test_a_reset_is_a_new_version(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    mws.follow(lake, table, path, engine="counting", schema="x int")
    reader = mw.open(path)
    lake.sql(f"UPDATE {table} SET expression = 'x = 10' WHERE id = 'a'")
    lake.sql(f"VACUUM {table} RETAIN 0 HOURS")
    lake.sql(f"DELETE FROM {table} WHERE id = 'b'")
    lake.sql(f"VACUUM {table} RETAIN 0 HOURS")
    (step,) = mws.follow(lake, table, path).steps
    assert (step.how, step.rules) == ("build", 2)
    assert str(step.reason).startswith("version 1 of the table cannot be read")
    assert rules_of(path) == _rows(lake, table)
    lake.sql(f"DROP TABLE {table}")
    make_table(lake, table)
    (step,) = mws.follow(lake, table, path).steps
    assert (step.how, step.reason, step.rules) == ("build", "the table was created again", 3)
    (step,) = mws.follow(lake, table, path, reset=True).steps
    assert (step.how, step.reason) == ("build", "reset=True")
    assert mw.open(path).engine == "counting"
    assert reader.match({"x": 1}) == ["a"]
    assert reader.reload()
    assert len(reader) == 3


def test_columns_that_went(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    mws.follow(lake, table, path)
    mapping = "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'"
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({mapping})")
    lake.sql(f"ALTER TABLE {table} RENAME COLUMN expression TO condition")
    with pytest.raises(InvalidArgument, match=r"version 3: expression: .*no column 'expression'.*Name the columns"):
        mws.follow(lake, table, path)
    assert _followed(path) == [1]
    (step,) = mws.follow(lake, table, path, expression="condition").steps
    assert (step.how, step.reason) == ("build", "other columns were named")
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    numbers = lake.createDataFrame([(1, "x = 1")], "id long, condition string")
    numbers.write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(table)
    with pytest.raises(InvalidArgument, match=r"ids are int64 now, those of the index at .* string.*reset=True"):
        mws.follow(lake, table, path, expression="condition")
    mws.follow(lake, table, path, expression="condition", reset=True)
    assert rules_of(path) == {1: "x = 1"}


def test_what_others_publish(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    """Updates by hand leave the place in the table; a rollback goes back there too."""
    from matchwood import spark as mws

    path = tmp_path / "index"
    mws.follow(lake, table, path)
    more = lake.createDataFrame([("own", "x = 99")], "id string, expression string")
    assert mws.update(more, path).compacted
    assert _followed(path) == [1, 1, 1]
    lake.sql(f"INSERT INTO {table} VALUES ('d', 'x = 4')")
    mws.follow(lake, table, path)
    assert rules_of(path).keys() == {"a", "b", "c", "d", "own"}
    mws.rollback(path, 1)
    assert _followed(path)[-1] == 1
    assert mws.follow(lake, table, path).inserted == 1
    assert rules_of(path) == _rows(lake, table)
    mws.build(more, path)
    with pytest.raises(InvalidArgument, match=r"follows no table: reset=True builds it again"):
        mws.follow(lake, table, path)


def test_of_two_that_follow_each_change_counts_once(
    lake: Any, table: str, tmp_path: Path, rules_of: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matchwood import spark as mws
    from matchwood.spark.build.update import UpdateJob

    path = tmp_path / "index"
    mws.follow(lake, table, path)
    lake.sql(f"INSERT INTO {table} VALUES ('d', 'x = 4')")
    real, others = UpdateJob.publish, list[Any]()

    def overtaken(job: UpdateJob) -> Any:
        monkeypatch.setattr(UpdateJob, "publish", real)
        others.append(mws.follow(lake, table, path))
        return real(job)

    monkeypatch.setattr(UpdateJob, "publish", overtaken)
    assert not mws.follow(lake, table, path).steps
    assert others[0].inserted == 1
    assert rules_of(path) == _rows(lake, table)


def test_following_goes_on(lake: Any, table: str, tmp_path: Path, rules_of: Rules) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    followed = mws.follow(lake, table, path, trigger={"processingTime": "0.1 seconds"})
    assert followed.isActive
    lake.sql(f"INSERT INTO {table} VALUES ('d', 'x = 4')")
    while followed.isActive and len(followed.steps) < 2:
        time.sleep(0.1)
    followed.stop()
    assert followed.awaitTermination()
    assert followed.exception() is None
    assert rules_of(path) == _rows(lake, table)
    assert followed.inserted == 4
    failing = mws.follow(lake, table, path, trigger={"processingTime": "0.1 seconds"})
    lake.sql(f"DROP TABLE {table}")
    with pytest.raises(Exception, match=table):
        failing.awaitTermination()
    assert failing.exception() is not None
    assert not any(thread.name.startswith("matchwood follows") for thread in threading.enumerate())


def test_what_cannot_be_followed(lake: Any, table: str, tmp_path: Path) -> None:
    from matchwood import spark as mws

    path = tmp_path / "index"
    with pytest.raises(InvalidArgument, match="no table that this session can read"):
        mws.follow(lake, "nowhere", path)
    lake.sql(f"CREATE TABLE plain_{table} (id string, expression string) USING parquet")
    with pytest.raises(InvalidArgument, match=r"only Delta and Iceberg tables .*parquet.*use build and update"):
        mws.follow(lake, f"plain_{table}", path)
    for wrong in ({"once": True}, {"processingTime": "often"}):
        with pytest.raises(InvalidArgument, match="trigger"):
            mws.follow(lake, table, path, trigger=wrong)
    with pytest.raises(InvalidArgument, match="no argument 'order'"):
        mws.follow(lake, table, path, order="id")
    mws.follow(lake, table, path)
    make_table(lake, f"other_{table}")
    with pytest.raises(InvalidArgument, match=f"follows another table, {table}: reset=True"):
        mws.follow(lake, f"other_{table}", path)


def test_the_command(lake: Any, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from matchwood.commands.cli import main

    index = str(tmp_path / "index")
    assert main(["spark", "follow", table, index, "--engine", "counting"]) == 0
    assert "version 1 = table version 1: 3 rules, 3 inserted" in capsys.readouterr().out
    lake.sql(f"INSERT INTO {table} VALUES ('bad', 'x ==')")
    assert main(["spark", "follow", table, index]) == 1
    assert "1 rejected" in capsys.readouterr().out
    assert main(["spark", "follow", table, index]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert main(["versions", index]) == 0
    assert f"{table} version 2" in capsys.readouterr().out
