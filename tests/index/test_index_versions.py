"""Versions of a saved index: opened by number, followed while others publish, brought back and removed."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import matchwood as mw
from matchwood import storage
from matchwood.matching import following, index_part, index_settings
from matchwood.sharding import layout_of, summary_of
from tests.conftest import SOAK
from tests.index.index_samples import answers, sample_events, sample_index

EVENTS = sample_events(200)


def published(path: Path, *texts: str) -> mw.Index:
    index = mw.Index()
    for number, text in enumerate(texts):
        index[f"r{number}"] = text
        index.save(path)
    return index


def publish_shards(path: Path, *texts: str) -> int:
    """A version of one shard a rule, as a build on Spark writes it."""
    shards = {}
    for number, text in enumerate(texts):
        shards[f"s{number}"] = mw.Index()
        shards[f"s{number}"][f"r{number}"] = text
    layout = layout_of(list(shards), [summary_of(shard) for shard in shards.values()])
    settings = index_settings(shards["s0"])
    parts = {name: index_part(shard) for name, shard in shards.items()}
    return storage.save(path, parts, layout.header(settings))


def test_a_version_is_known(tmp_path: Path) -> None:
    index = mw.Index()
    assert index.version is None
    index["a"] = "x = 1"
    assert index.save(tmp_path) == index.version == 1
    index["b"] = "x = 1"
    assert index.version == 1
    assert index.save(tmp_path) == index.version == 2
    assert mw.open(tmp_path).version == 2
    assert list(mw.open(tmp_path, version=1)) == ["a"]
    with pytest.raises(mw.InvalidArgument, match=r"has no version 7 \(it has 1, 2\)"):
        mw.open(tmp_path, version=7)


def test_reload_follows_what_others_publish(tmp_path: Path) -> None:
    writer = published(tmp_path, "x > 1")
    reader = mw.open(tmp_path, read_only=True)
    assert reader.reload() is False
    writer["late"] = "x > 2 and y = 'a'"
    del writer["r0"]
    writer.save(tmp_path)
    assert reader.match({"x": 5, "y": "a"}) == ["r0"]
    assert reader.reload() is True
    assert reader.match({"x": 5, "y": "a"}) == ["late"]
    assert (reader.version, reader.types()) == (2, {"x": "number", "y": "string"})
    assert reader.reload() is False
    with pytest.raises(mw.MatchwoodError, match="read_only"):
        reader["a"] = "x = 1"


def test_reload_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "index"
    published(path, "x > 1")
    reader = mw.open(path)
    script = "import sys, matchwood as mw; i = mw.open(sys.argv[1]); i['new'] = 'x > 2'; i.save(sys.argv[1])"
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=600)
    assert reader.reload()
    assert reader.match({"x": 5}) == ["r0", "new"]


def test_reload_reads_one_small_file_when_nothing_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = published(tmp_path, "x > 1")
    read: list[str] = []
    real = storage.local.LocalLocation.read
    monkeypatch.setattr(
        storage.local.LocalLocation, "read", lambda place, name, limit: read.append(name) or real(place, name, limit)
    )
    assert reader.reload() is False
    assert read == ["CURRENT"]


def test_a_path_that_was_built_anew_is_another_version(tmp_path: Path) -> None:
    published(tmp_path / "a", "x > 1")
    reader = mw.open(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "gone")
    published(tmp_path / "a", "x > 2")
    assert reader.reload() is True
    assert (reader["r0"], reader.version) == ("x > 2", 1)


def test_unsaved_changes_are_not_lost_in_silence(tmp_path: Path) -> None:
    other = published(tmp_path, "x > 1")
    index = mw.open(tmp_path)
    with pytest.raises(mw.ParseError):
        index["bad"] = "x >"
    index["mine"] = "x > 3"
    assert index.reload() is False
    other["theirs"] = "x > 4"
    other.save(tmp_path)
    with pytest.raises(mw.MatchwoodError, match=r"changes that are not saved.*reload\(discard=True\)"):
        index.reload()
    assert list(index) == ["r0", "mine"]
    assert index.reload(discard=True) is True
    assert list(index) == ["r0", "theirs"]
    index["mine"] = "x > 3"
    assert index.reload(discard=True) is True
    assert list(index) == ["r0", "theirs"]


def test_an_index_without_a_path(tmp_path: Path) -> None:
    index = mw.Index()
    with pytest.raises(mw.MatchwoodError, match="neither opened nor saved"):
        index.reload()
    published(tmp_path / "a", "x > 1")
    gone = mw.open(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    with pytest.raises(mw.SnapshotNotFound, match="no snapshot is there"):
        gone.reload()
    assert gone.match({"x": 2}) == ["r0"]


def test_a_damaged_version_leaves_the_old_one_at_work(tmp_path: Path) -> None:
    index = published(tmp_path, "x > 1", "x > 2")
    reader = mw.open(tmp_path, version=1)
    next((tmp_path / "v000002").rglob("*.bin")).unlink()
    with pytest.raises(mw.CorruptSnapshot):
        reader.reload()
    assert reader.match({"x": 5}) == ["r0"]
    assert reader.version == 1
    index.save(tmp_path)
    assert reader.reload() is True
    assert reader.match({"x": 5}) == ["r0", "r1"]


def test_an_index_of_shards_follows_and_is_followed(tmp_path: Path) -> None:
    """A path may change between one index and several shards; whoever follows it changes with it."""
    published(tmp_path, "x > 1")
    reader = mw.open(tmp_path, read_only=True)
    assert publish_shards(tmp_path, "x > 1", "x > 2") == 2
    assert reader.reload() is True
    assert reader.match({"x": 5}) == ["r0", "r1"]
    assert (len(reader), reader.stats()["shards"], reader.version) == (2, 2, 2)
    assert publish_shards(tmp_path, "x > 1", "x > 2", "x > 3") == 3
    assert reader.reload() is True
    assert [rule for rule, _ in reader.top({"x": 5})] == ["r0", "r1", "r2"]
    assert mw.rollback(tmp_path, 1) == 4
    assert reader.reload() is True
    assert (reader.match({"x": 5}), len(reader), dict(reader)) == (["r0"], 1, {"r0": "x > 1"})
    assert reader.audit() == []


def test_matching_goes_on_while_a_version_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = published(tmp_path, "x > 1")
    reader = mw.open(tmp_path, read_only=True)
    writer["late"] = "x > 2"
    writer.save(tmp_path)
    opening, go_on, real = threading.Event(), threading.Event(), following.open_version

    def slow(*arguments: object) -> mw.Index:
        opening.set()
        assert go_on.wait(600)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(following, "open_version", slow)
    thread = threading.Thread(target=reader.reload)
    thread.start()
    assert opening.wait(600)
    assert reader.match({"x": 5}) == ["r0"]
    assert len(reader.match_many([{"x": 5}])) == 1
    go_on.set()
    thread.join()
    assert reader.match({"x": 5}) == ["r0", "late"]


def test_batches_go_on_with_the_rules_that_they_began_with(tmp_path: Path) -> None:
    events = [{"x": number} for number in range(40_000)]
    for publish in (published, publish_shards):
        path = tmp_path / publish.__name__
        publish(path, "x >= 0")
        reader = mw.open(path)
        batches = reader.match_batches(events)
        first = batches.read_next_batch()
        publish(path, "x < 0", "x >= 1")
        assert reader.reload()
        assert len(first) + len(batches.read_all()) == len(events)
        assert len(reader.match_many(events)) == len(events) - 1


@pytest.mark.long(1)
@pytest.mark.parametrize("sharded", [False, True])
def test_readers_see_one_version_while_others_publish(sharded: bool, tmp_path: Path) -> None:
    """Version k holds rules that all name k: an answer with rules of two versions would show."""
    rounds, problems, done = (60 if SOAK else 6), [], threading.Event()

    def texts(number: int) -> list[str]:
        return [f"x >= 0 or k = {number * 10 + place}" for place in range(3)]

    def publish(number: int) -> None:
        if sharded and number % 3:
            publish_shards(tmp_path, *texts(number))
            return
        index = mw.Index()
        index.insert_many({f"r{place}": text for place, text in enumerate(texts(number))})
        index.save(tmp_path)

    publish(0)
    index = mw.open(tmp_path, read_only=True)

    def read() -> None:
        while not done.is_set():
            seen = {text.split()[-1][:-1] for _, text in index.items()}
            hits = (
                index.match({"x": 1}),
                [rule for rule, _ in index.top({"x": 1})],
                len(index.match_many([{"x": 1}] * 5)),
            )
            if len(seen) != 1 or hits != (["r0", "r1", "r2"], ["r0", "r1", "r2"], 15):
                problems.append((seen, hits))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1, rounds):
        publish(number)
        assert index.reload() is True
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []
    assert index["r0"] == texts(rounds - 1)[0]


def test_small_changes_write_little(tmp_path: Path) -> None:
    """A rule more, a rule less and a rule replaced, of thousands: most files are those of the version before."""
    index = mw.Index()
    index.insert_many({f"r{n}": f"age >= {n % 90} and country = 'C{n % 400}' and score < {n}" for n in range(4000)})
    index.save(tmp_path)
    twin = mw.open(tmp_path)
    for each in (index, twin):
        each["r7"] = "age >= 30 and country = 'C7' and score < 11"
        each["new"] = "age >= 31 and country = 'C8' and score < 12"
        del each["r9"]
    assert index.save(tmp_path) == 2
    files = [file.stat() for file in (tmp_path / "v000002").rglob("*") if file.is_file()]
    own = sum(status.st_size for status in files if status.st_nlink == 1)
    assert own < 0.5 * sum(status.st_size for status in files)
    opened = mw.open(tmp_path, verify="full")
    events = [{"age": n % 100, "country": f"C{n % 20}", "score": n * 7 % 4000} for n in range(300)]
    assert answers(opened, events) == answers(twin, events)
    assert opened.audit() == []


def test_save_and_open_again_and_again(tmp_path: Path) -> None:
    """Patches against the same files, version after version; each one answers as what was saved."""
    index = sample_index("auto")
    choice = np.random.default_rng(5)
    for number in range(3):
        index.insert_many({f"n{number}-{n}": f"age > {n} and name = 'N{n}'" for n in choice.integers(0, 9**6, 150)})
        index.save(tmp_path)
        opened = mw.open(tmp_path, verify="full")
        assert answers(opened, EVENTS) == answers(index, EVENTS)
        assert dict(opened) == dict(index)


def test_versions_rollback_and_vacuum(tmp_path: Path) -> None:
    published(tmp_path, "x > 1", "x > 2", "x > 3")
    assert [(info.version, info.current) for info in mw.versions(tmp_path)] == [(1, False), (2, False), (3, True)]
    assert mw.rollback(tmp_path, 2) == 4
    assert list(mw.open(tmp_path)) == ["r0", "r1"]
    assert mw.vacuum(tmp_path, keep=2) == []
    assert mw.vacuum(tmp_path, keep=2, grace="0 seconds") == [1, 2]
    assert list(mw.open(tmp_path, version=3)) == ["r0", "r1", "r2"]


def test_a_directory_of_other_things_is_not_saved_into(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("id,expression\n")
    index = mw.Index()
    with pytest.raises(mw.InvalidArgument, match=r"the directory holds something else \(rules\.csv\); give a path"):
        index.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["rules.csv"]
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".keep").touch()
    assert index.save(tmp_path / "empty") == 1
    with pytest.raises(OSError, match="must be a directory, or not exist yet"):
        index.save(tmp_path / "rules.csv")


@pytest.mark.parametrize("opening", [mw.open, mw.versions, lambda path: mw.rollback(path, 1), mw.vacuum])
def test_a_path_that_does_not_exist(opening: object, tmp_path: Path) -> None:
    with pytest.raises(mw.SnapshotNotFound, match=r"nowhere: no snapshot is there \(check the path"):
        opening(tmp_path / "nowhere")  # type: ignore[operator]
    with pytest.raises(FileNotFoundError):
        opening(tmp_path / "nowhere")  # type: ignore[operator]


def test_an_index_is_not_pickled(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"an index cannot be pickled: save\(path\) it, and call mw\.open\(path\)"):
        pickle.dumps(mw.Index())
    publish_shards(tmp_path, "x = 1", "x = 2")
    with pytest.raises(TypeError, match="an index cannot be pickled"):
        pickle.dumps(mw.open(tmp_path))
