"""A process killed at any moment of a save leaves the old version or the new one; so does a power cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matchwood.storage import SavedPart, save
from tests.conftest import SOAK
from tests.storage.snapshot_samples import sample_parts, save_sample

SCRIPT = Path(__file__).parent / "saver_script.py"
ROOT = Path(__file__).parent.parent.parent


def run_script(*arguments: object) -> dict[str, int]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.long
def test_killed_before_every_system_call(tmp_path: Path) -> None:
    counts = run_script("points", tmp_path)
    assert counts["points"] > 50
    assert counts["old"] > 50
    assert counts["new"] >= 2


def test_killed_at_random_moments(tmp_path: Path) -> None:
    counts = run_script("random", tmp_path / "snapshot", 100 if SOAK else 10, 7)
    assert counts["generations"] >= 3


def test_everything_is_on_disk_before_current_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a power cut may lose is what was not synchronised: at the moment CURRENT changes, nothing."""
    clock, synced, named = iter(range(10**6)), {}, {}
    real_fsync, real_replace, real_open, real_mkdir, real_link = os.fsync, os.replace, os.open, os.mkdir, os.link

    def fsync(descriptor: int) -> None:
        real_fsync(descriptor)
        synced[os.fstat(descriptor).st_ino] = next(clock)

    def opened(path: Any, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            named[os.path.dirname(path)] = next(clock)
        return real_open(path, flags, *mode)

    def mkdir(path: Any, *mode: int) -> None:
        real_mkdir(path, *mode)
        named[os.path.dirname(path)] = next(clock)

    def link(source: Any, target: Any, **how: bool) -> None:
        real_link(source, target, **how)
        named[os.path.dirname(target)] = next(clock)
        linked.append(target)

    def replace(source: Any, target: Any) -> None:
        if os.path.basename(target) == "CURRENT" and (tmp_path / "v000002").exists():
            check()
        named[os.path.dirname(target)] = next(clock)
        real_replace(source, target)

    def check() -> None:
        version = tmp_path / "v000002"
        files = [file for file in version.rglob("*") if file.is_file()]
        assert len(files) == 7
        assert len(linked) == 4
        assert all(file.stat().st_ino in synced for file in files)
        for directory in [tmp_path, version, *[entry for entry in version.iterdir() if entry.is_dir()]]:
            changes = [moment for name, moment in named.items() if name == str(directory)]
            # the temporary file that becomes CURRENT is the one name that need not be safe yet
            assert synced[directory.stat().st_ino] > max(changes) or directory == tmp_path
        assert synced[tmp_path.stat().st_ino] > synced[(version / "manifest.json").stat().st_ino]
        checked.append(True)

    checked: list[bool] = []
    linked: list[str] = []
    for name, wrapper in {"fsync": fsync, "open": opened, "mkdir": mkdir, "link": link, "replace": replace}.items():
        monkeypatch.setattr(os, name, wrapper)
    for flag in (True, False):
        large = np.arange(8192)
        large[0] = flag
        parts = sample_parts()
        save(tmp_path, {**parts, "1": SavedPart({}, {"flags": np.array([flag]), "large": large})}, {})
    assert checked == [True]
    assert synced[tmp_path.stat().st_ino] > named[str(tmp_path)]


def test_an_interrupt_after_publication_keeps_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matchwood.storage import load

    save_sample(tmp_path)
    real = os.replace

    def replace_then_interrupt(source: Any, target: Any) -> None:
        real(source, target)
        if os.path.basename(target) == "CURRENT":
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace_then_interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_sample(tmp_path)
    assert load(tmp_path).version == 2


def test_a_failed_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_sample(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    real, writes = os.write, iter(range(100))

    def full_disk(descriptor: int, data: Any) -> int:
        if next(writes) == 2:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full_disk)
    parts = {str(part): SavedPart({}, {"a": np.arange(3), "b": np.arange(4)}) for part in range(2)}
    with pytest.raises(OSError, match=r"cannot save part '1'.*No space left on device.*nothing was published"):
        save(tmp_path, parts, {})
    assert sorted(tmp_path.rglob("*")) == before
