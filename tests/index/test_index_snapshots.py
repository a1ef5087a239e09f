"""Snapshots of a whole index: every engine, other processes, damage, and savers that are killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchwood as mw
from matchwood import storage
from matchwood.matching.saving import INDEX_KIND
from tests.conftest import SOAK
from tests.index.conftest import ENGINES
from tests.index.index_samples import RULES, answers, sample_events, sample_index

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EVENTS = sample_events(1000 if SOAK else 300)


def run_script(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / name), *map(str, arguments)]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=1800)


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


@pytest.mark.few
@pytest.mark.parametrize("text_ids", [True, False], ids=["str ids", "int ids"])
def test_what_is_opened_answers_as_what_was_saved(text_ids: bool, engine: str, tmp_path: Path) -> None:
    index = sample_index(engine, text_ids)
    expected = answers(index, EVENTS)
    assert len(expected["rule"]) > 3 * len(EVENTS)
    assert index.save(tmp_path / "index") == 1
    for verify in ("auto", "full"):
        opened = mw.open(tmp_path / "index", verify=verify)
        assert answers(opened, EVENTS) == expected
        assert [opened.match(event) for event in EVENTS[:50]] == [index.match(event) for event in EVENTS[:50]]
        assert list(opened.items()) == list(index.items())
        assert (opened.engine, opened.types(), opened.id_kind) == (index.engine, index.types(), index.id_kind)
        assert opened.audit() == []
        first = next(iter(index))
        assert str(opened.explain(EVENTS[0], first)) == str(index.explain(EVENTS[0], first))
        assert opened.lint().equals(index.lint())
    assert opened.save(tmp_path / "index") == 2
    assert answers(mw.open(tmp_path / "index"), EVENTS) == expected


def test_settings_are_kept(engine: str, tmp_path: Path) -> None:
    index = mw.Index(engine=engine, schema={"d": "date"}, dnf_limit=3, timezone="Asia/Tokyo", strict_schema=True)
    index["a"] = "d = date '2026-01-01'"
    index.save(tmp_path)
    opened = mw.open(tmp_path)
    assert opened._dnf_limit == 3
    assert opened._encoder.timezone == "Asia/Tokyo"
    with pytest.raises(mw.TypeConflict, match="strict_schema"):
        opened["b"] = "other = 1"
    with pytest.raises(mw.TypeConflict, match="declared"):
        opened["b"] = "d = 5"


def test_weights_are_kept(engine: str, tmp_path: Path) -> None:
    index = sample_index(engine)
    index.save(tmp_path)
    opened = mw.open(tmp_path)
    row = opened._table.row_of("adult")
    assert (opened._table.weight(row), opened._table.weights_json(row)) == (2.5, '{"country": {"US": 3.0}}')


def test_a_conflict_after_opening_names_both_rules(engine: str, tmp_path: Path) -> None:
    sample_index(engine).save(tmp_path)
    opened = mw.open(tmp_path)
    with pytest.raises(mw.TypeConflict, match=r"rule 'new'.*as in rule 'double'"):
        opened["new"] = "score = 'high'"


@pytest.mark.long(2)
def test_changes_stay_in_memory(engine: str, tmp_path: Path) -> None:
    sample_index(engine).save(tmp_path)
    before = files(tmp_path)
    index = mw.open(tmp_path)
    twin = sample_index(engine)
    for each in (index, twin):
        each["adult"] = "age >= 33"
        del each["minor"]
        each.insert_many({"new": "age = 5 or name = 'New'", "text": "tags one of ('sport')"}, on_duplicate="replace")
        each["form"] = " and ".join(f"(a{number} = 1 or k{number} = 2)" for number in range(9))
    assert answers(index, EVENTS) == answers(twin, EVENTS)
    index.compact()
    twin.compact()
    assert answers(index, EVENTS) == answers(twin, EVENTS)
    assert index.audit() == []
    index.clear()
    assert files(tmp_path) == before
    assert answers(mw.open(tmp_path), EVENTS) == answers(sample_index(engine), EVENTS)


def test_read_only(engine: str, tmp_path: Path) -> None:
    sample_index(engine).save(tmp_path)
    index = mw.open(tmp_path, read_only=True)
    for change in (
        lambda: index.__setitem__("a", "x = 1"),
        lambda: index.__delitem__("adult"),
        lambda: index.insert_many({"a": "x = 1"}),
        lambda: index.update({"a": "x = 1"}),
        lambda: index.pop("adult"),
        index.popitem,
        index.clear,
        index.compact,
    ):
        with pytest.raises(mw.MatchwoodError, match="read_only"):
            change()
    assert len(index) == len(RULES)
    assert index.save(tmp_path) == 2
    with pytest.raises(mw.InvalidArgument, match="read_only must be"):
        mw.open(tmp_path, read_only="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", ["0", "1", "4242"] if SOAK else ["4242"])
def test_another_process_with_another_hash_seed(seed: str, tmp_path: Path) -> None:
    saved = {engine: sample_index(engine) for engine in ENGINES}
    for engine, index in saved.items():
        index.save(tmp_path / engine)
    done = run_script("asking_script.py", len(EVENTS), *(tmp_path / engine for engine in saved), PYTHONHASHSEED=seed)
    assert done.returncode == 0, done.stderr
    expected = [{"ids": list(index), "hits": answers(index, EVENTS)} for index in saved.values()]
    assert json.loads(done.stdout) == expected


@pytest.mark.long
def test_saving_is_the_same_whatever_the_hash_seed(tmp_path: Path) -> None:
    script = "import sys; from tests.index.index_samples import sample_index; sample_index().save(sys.argv[1])"
    saved = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        path = tmp_path / seed
        subprocess.run([sys.executable, "-c", script, path], cwd=ROOT, env=environment, check=True, timeout=600)
        saved.append({Path(name).name: data for name, data in files(path).items() if name.endswith(".bin")})
    assert saved[0] == saved[1]


def test_nothing_is_read_before_it_is_needed(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays stay maps of files; none is copied, and beyond the checksums none is walked through."""
    sample_index(engine).save(tmp_path)
    mapped: list[str] = []
    real = storage.snapshot.map_array

    def watched(path: str, entry: Any) -> Any:
        mapped.append(path)
        return real(path, entry)

    monkeypatch.setattr(storage.snapshot, "map_array", watched)
    index = mw.open(tmp_path)
    assert len(mapped) == len(list(tmp_path.rglob("*.bin")))
    large = {f"rules/{name}": array for name, array in index._table.arrays().items()}
    large |= {f"matcher/{name}": array for name, array in index._matcher.arrays().items()}
    large |= {
        f"encoder/{name}": array for name, array in index._encoder.arrays().items() if name.startswith("attributes")
    }
    assert len(large) > 15
    copied = [name for name, array in large.items() if len(array) and not _is_map(array)]
    assert copied == []


def _is_map(array: np.ndarray[Any, Any]) -> bool:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return not array.flags.owndata and not array.flags.writeable


def test_many_opened_at_once(tmp_path: Path) -> None:
    sample_index().save(tmp_path)
    indexes = [mw.open(tmp_path) for _ in range(5)]
    for number, index in enumerate(indexes):
        index[f"own {number}"] = "age = 5"
    for number, index in enumerate(indexes):
        assert [rule_id for rule_id in index.match({"age": 5}) if rule_id.startswith("own")] == [f"own {number}"]


def test_a_version_saved_while_another_is_open(tmp_path: Path) -> None:
    index = mw.Index()
    index["a"] = "x = 1"
    index.save(tmp_path)
    opened = mw.open(tmp_path)
    index["b"] = "x = 1"
    assert index.save(tmp_path) == 2
    assert opened.match({"x": 1}) == ["a"]
    assert mw.open(tmp_path).match({"x": 1}) == ["a", "b"]


@pytest.mark.parametrize("what", ["nothing", "another kind", "no part", "other format"])
def test_what_is_no_index(what: str, tmp_path: Path) -> None:
    if what == "another kind":
        storage.save(tmp_path, {"0": storage.SavedPart({}, {"a": np.arange(3)})}, {"kind": "other"})
    if what == "no part":
        storage.save(tmp_path, {"1": storage.SavedPart()}, {"kind": INDEX_KIND})
    if what == "other format":
        storage.save(
            tmp_path,
            {"0": storage.SavedPart({"rules": [], "encoder": 5})},
            {"kind": INDEX_KIND, "options": {}, "dnf_limit": 1},
        )
    with pytest.raises(mw.SnapshotNotFound if what == "nothing" else mw.CorruptSnapshot):
        mw.open(tmp_path)
    with pytest.raises(OSError, match=str(tmp_path)):
        mw.open(tmp_path)


# ---------------------------------------------------------------------- damage


@pytest.mark.long(2)
def test_every_flipped_byte_is_detected_or_harmless(engine: str, tmp_path: Path) -> None:
    """With the checksums in place: all bytes of the snapshot with MATCHWOOD_SOAK=1, a sample of each file otherwise."""
    index = mw.Index(engine=engine)
    index.insert_many(dict(list(RULES.items())[:6]))
    index.save(tmp_path)
    events = EVENTS if SOAK else EVENTS[:100]
    expected = answers(index, events)
    rng = random.Random(f"flips {engine}")
    detected = 0
    for name, data in files(tmp_path).items():
        places = range(len(data)) if SOAK else sorted(rng.sample(range(len(data)), min(len(data), 3)))
        for place in places:
            flipped = bytearray(data)
            flipped[place] ^= 1 << rng.randrange(8)
            (tmp_path / name).write_bytes(flipped)
            try:
                opened = mw.open(tmp_path)
            except mw.CorruptSnapshot:
                detected += 1
                continue
            assert answers(opened, events) == expected, (name, place)
        (tmp_path / name).write_bytes(data)
    assert detected > (50 if engine != "oracle" else 25)
    assert answers(mw.open(tmp_path), events) == expected


def test_some_damage_that_no_checksum_shows() -> None:
    """A few places of what the long test damages all over, in one process of plain Python."""
    done = run_script("damage_script.py", "counting", 1, 40, 11, MATCHWOOD_INTERPRET="always")
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert result["failures"] == []
    assert result["counts"]["refused"] >= 2
    assert result["counts"]["harmless"] >= 2


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES if SOAK else ["counting"])
def test_damage_that_no_checksum_shows(engine: str, pytestconfig: pytest.Config) -> None:
    """A forged snapshot is refused, now or later, or gives answers; it never leads a kernel out of its arrays.

    The long form has machine code that checks each index, which takes minutes to compile; the short form has Python.
    """
    if SOAK:
        assert pytestconfig.cache is not None
        cache = pytestconfig.cache.mkdir("boundscheck")
        done = run_script("damage_script.py", engine, 40, 1, 11, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(cache))
    else:
        done = run_script("damage_script.py", engine, 1, 7, 11, MATCHWOOD_INTERPRET="always")
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert result["failures"] == []
    assert result["counts"]["refused"] > (30 if SOAK else 10)
    assert result["counts"]["harmless"] > (10 if SOAK else 4)


# ---------------------------------------------------------------------- killed savers


@pytest.mark.long
def test_savers_that_are_killed(tmp_path: Path) -> None:
    """kill -9 at random moments: what opens is a whole generation, and never an older one than before."""
    done = run_script("saving_script.py", tmp_path / "index", 100 if SOAK else 10, 3)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["generations"] >= 5


# ---------------------------------------------------------------------- changes that fail half-way


@pytest.mark.parametrize("opened", [False, True], ids=["made", "opened"])
@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt])
def test_a_change_that_fails_half_way_is_never_seen(
    error: type[BaseException], opened: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any) -> None:
        raise error("half-way")

    sample_index().save(tmp_path)
    index = mw.open(tmp_path) if opened else sample_index()
    reader = index.match_batches(EVENTS)
    monkeypatch.setattr(type(index._matcher.engine), "insert", failing)
    expected = mw.CorruptSnapshot if opened and error is ValueError else error
    with pytest.raises(expected, match="half-way"):
        index["new"] = "age = 77 or score = 3"
    monkeypatch.undo()
    for ask in (
        lambda: index.match({"age": 77}),
        lambda: index.match_many(EVENTS),
        reader.read_all,
        lambda: index["new"],
        lambda: list(index),
        lambda: index.save(tmp_path),
        index.lint,
        index.stats,
        index.clear,
        lambda: index.__setitem__("new", "age = 1"),
    ):
        with pytest.raises(mw.MatchwoodError, match="failed half-way"):
            ask()
    assert answers(mw.open(tmp_path), EVENTS[:50]) == answers(sample_index(), EVENTS[:50])
