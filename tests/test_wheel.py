"""The build of a wheel that carries machine code, as far as it goes without compiling or installing anything."""

from __future__ import annotations

import importlib.util
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def build() -> Any:
    spec = importlib.util.spec_from_file_location("wheel_build", ROOT / "wheels" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_wheel_is_built_from_has_no_leftovers(build: Any, tmp_path: Path, monkeypatch: Any) -> None:
    home = tmp_path / "home"
    for name in ("matchwood/__pycache__/a.pyc", "matchwood/precompiled/a/b.nbc", "matchwood/index.py", "setup.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    monkeypatch.setattr(build, "HOME", home)
    monkeypatch.setattr(build, "SHIPPED", ("matchwood", "setup.py"))
    staged = build._staged(tmp_path / "staged")
    assert [path.relative_to(staged).as_posix() for path in sorted(staged.rglob("*.*"))] == [
        "matchwood/index.py",
        "setup.py",
    ]


def test_all_that_the_wheel_is_built_from_is_there(build: Any) -> None:
    assert all((ROOT / name).exists() for name in build.SHIPPED)


def test_machine_code_is_data_of_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["matchwood"]
    assert any(fnmatch("precompiled/hashing-0123456789ab/mix64-0123456789ab.nbc", each) for each in patterns)


@pytest.mark.parametrize(
    ("engines", "command"),
    [
        ([], ["warmup", "--processes", "2"]),
        (["auto", "scan"], ["warmup", "--processes", "2", "--engines", "auto", "scan"]),
        (["none"], []),
    ],
)
def test_which_engines_are_warmed_up(build: Any, engines: list[str], command: list[str]) -> None:
    assert build._warmup(engines, 2) == command
