"""Several processes at one snapshot: other hash seeds, shared maps, savers at once, parts from elsewhere."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.storage import SavedPart, begin, load, save, versions
from tests.storage.snapshot_samples import HEADER, content, sample_parts, save_sample

ROOT = Path(__file__).parent.parent.parent

READ = """
import json, sys
from matchwood.storage import load
from tests.storage.snapshot_samples import content
print(json.dumps(content(load(sys.argv[1], verify="full"))))
"""

SAVE = """
import sys
import numpy as np
from matchwood.storage import SavedPart, load, save
path, who = sys.argv[1], int(sys.argv[2])
for number in range(15):
    value = who * 100 + number
    save(path, {"0": SavedPart({"value": value}, {"it": np.full(100, value)})}, {"value": value})
    snapshot = load(path, verify="full")
    assert set(snapshot.parts["0"].arrays["it"]) == {snapshot.header["value"]}
"""

WRITE_PART = """
import json, pickle, sys
import numpy as np
from matchwood.storage import SavedPart
staging = pickle.load(sys.stdin.buffer)
number = int(sys.argv[1])
print(json.dumps(staging.write_part(str(number), SavedPart({"number": number}, {"it": np.full(3, number)}))))
"""


def started(code: str, *arguments: object, seed: int = 0) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_another_process_under_another_hash_seed(tmp_path: Path) -> None:
    save_sample(tmp_path)
    out, _ = started(READ, tmp_path, seed=4242).communicate(timeout=120)
    assert json.loads(out) == json.loads(json.dumps(content(load(tmp_path))))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="reads /proc")
def test_maps_are_shared_and_read_only(tmp_path: Path) -> None:
    save(tmp_path, {"0": SavedPart({}, {"it": np.arange(100_000)})}, {})
    kept = load(tmp_path).parts["0"].arrays["it"]
    assert kept[-1] == 99_999
    modes = [line.split()[1] for line in Path("/proc/self/maps").read_text().splitlines() if "-it.bin" in line]
    assert modes == ["r--s"]


def test_looking_at_one_part_opens_no_other(tmp_path: Path) -> None:
    save_sample(tmp_path)
    snapshot = load(tmp_path)
    [file] = tmp_path.rglob("*-flags.bin")
    file.unlink()
    assert snapshot.parts["0"].arrays["offsets"][6] == 6
    with pytest.raises(CorruptSnapshot, match=r"flags\.bin: the file is missing"):
        snapshot.parts["1"]


def test_savers_at_once_lose_no_version(tmp_path: Path) -> None:
    savers = [started(SAVE, tmp_path, who) for who in (1, 2, 3)]
    for saver in savers:
        saver.communicate(timeout=120)
    assert [saver.returncode for saver in savers] == [0, 0, 0]
    infos = versions(tmp_path)
    assert [info.version for info in infos] == list(range(1, 46))
    saved = [load(tmp_path, info.version, verify="full").header["value"] for info in infos]
    assert sorted(saved) == [who * 100 + number for who in (1, 2, 3) for number in range(15)]
    for who in (1, 2, 3):
        mine = [value for value in saved if value // 100 == who]
        assert mine == sorted(mine)


def test_parts_written_by_other_processes(tmp_path: Path) -> None:
    staging = begin(tmp_path)
    writers = [started(WRITE_PART, number) for number in range(2)]
    descriptions = [json.loads(writer.communicate(pickle.dumps(staging), timeout=120)[0]) for writer in writers]
    assert versions(tmp_path) == []
    with pytest.raises(CorruptSnapshot, match="no version was ever published"):
        load(tmp_path)
    assert staging.publish(descriptions, {"parts": 2}) == 1
    parts = load(tmp_path).parts
    assert {name: part.arrays["it"].tolist() for name, part in parts.items()} == {"0": [0] * 3, "1": [1] * 3}


def test_a_retried_part_counts_once_and_leaves_nothing(tmp_path: Path) -> None:
    staging = begin(tmp_path)
    staging.write_part("0", SavedPart({}, {"it": np.array([1])}))
    second = staging.write_part("0", SavedPart({}, {"it": np.array([2])}))
    staging.publish([second], {})
    assert load(tmp_path).parts["0"].arrays["it"].tolist() == [2]
    assert len(list(tmp_path.rglob("*-it.bin"))) == 1


def test_publish_checks_what_it_is_given(tmp_path: Path) -> None:
    staging = begin(tmp_path)
    good = staging.write_part("0", sample_parts()["0"])
    with pytest.raises(InvalidArgument, match="described twice"):
        staging.publish([good, good], {})
    with pytest.raises(InvalidArgument, match="not described as write_part does"):
        staging.publish([{"name": "0"}], {})
    with pytest.raises(CorruptSnapshot, match="not there as described"):
        staging.publish([{**good, "directory": "part-0-elsewhere"}], {})
    assert staging.publish([good], HEADER) == 1
    with pytest.raises(InvalidArgument, match="already been published"):
        staging.publish([good], {})
    staging.abort()
    assert load(tmp_path).header == HEADER


def test_abort_leaves_nothing(tmp_path: Path) -> None:
    save_sample(tmp_path)
    staging = begin(tmp_path)
    staging.write_part("0", sample_parts()["0"])
    assert staging.version == 2
    staging.abort()
    assert not (tmp_path / "v000002").exists()
    assert load(tmp_path).version == 1


def test_permission_errors_say_what_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: object, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    save_sample(tmp_path)
    monkeypatch.setattr(os, "mkdir", refused)
    with pytest.raises(PermissionError, match=f"cannot save a snapshot to {tmp_path}: Permission denied.*another path"):
        save_sample(tmp_path)
    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(PermissionError, match=f"cannot read the snapshot at {tmp_path}: Permission denied"):
        load(tmp_path)


def test_saving_below_a_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match=r"cannot save a snapshot.*must be a directory"):
        save_sample(tmp_path / "file")


def test_too_many_open_files_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    save_sample(tmp_path)
    snapshot = load(tmp_path)
    monkeypatch.setattr("mmap.mmap", exhausted)
    with pytest.raises(OSError, match=r"part '0'.*ulimit -n"):
        snapshot.parts["0"]
