"""Snapshots in the life of an index: what is opened answers as what was saved, and lives on."""

from __future__ import annotations

from pathlib import Path

import pytest

import matchwood
from tests.cases import workloads
from tests.conftest import SOAK
from tests.contract.twin import SCHEMA, Twin

pytestmark = pytest.mark.few


@pytest.mark.long(5)
@pytest.mark.parametrize("types", [SCHEMA, None], ids=["declared", "inferred"])
def test_saved_opened_changed_saved(engine: str, types: dict[str, str] | None, tmp_path: Path) -> None:
    size = 60 if SOAK else 30
    work, more = workloads(seed=21, count=2, rules=size, events=size // 3)
    twin = Twin(engine, types)
    twin.put_many(list(enumerate(work.rules)))
    seen = twin.check(work.events)
    twin.reopen(tmp_path / "index")
    assert twin.check(work.events) == seen
    for number in range(0, size, 3):
        twin.remove(number)
    twin.put_many([(number + size * 2 // 3, rule) for number, rule in enumerate(more.rules)])
    twin.check([*work.events, *more.events])
    twin.reopen(tmp_path / "index")
    twin.check([*work.events, *more.events])
    assert twin.index.audit() == []


def test_an_empty_index(engine: str, tmp_path: Path) -> None:
    twin = Twin(engine)
    twin.reopen(tmp_path / "index")
    assert twin.check([{}, {"x": 1}]) == 0
    twin.put("a", "x = 1")
    assert twin.check([{}, {"x": 1}]) == 1


def test_changes_stay_in_memory(engine: str, tmp_path: Path) -> None:
    index = matchwood.Index(engine=engine)
    index["a"] = "x = 1"
    index.save(tmp_path / "index")
    index["a"] = "x = 2"
    opened = matchwood.open(tmp_path / "index")
    assert opened.match({"x": 1}) == ["a"]
    opened["b"] = "x = 1"
    del opened["a"]
    assert matchwood.open(tmp_path / "index").match({"x": 1}) == ["a"]


def test_read_only(engine: str, tmp_path: Path) -> None:
    index = matchwood.Index(engine=engine)
    index["a"] = "x = 1"
    index.save(tmp_path / "index")
    opened = matchwood.open(tmp_path / "index", read_only=True)
    assert opened.match({"x": 1}) == ["a"]
    with pytest.raises(matchwood.MatchwoodError):
        opened["b"] = "x = 1"
    with pytest.raises(matchwood.MatchwoodError):
        del opened["a"]
    assert opened.match({"x": 1}) == ["a"]
