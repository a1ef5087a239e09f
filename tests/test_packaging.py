"""What a package needs that nobody notices until it is installed elsewhere; `make dist` proves the rest."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tarfile
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import matchwood

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAPERS = ("A-Tree", "Indexing Boolean Expressions", "hybrid methods", "Boolean Expression Indexing", "PS-Tree")


@pytest.fixture
def dist() -> Any:
    spec = importlib.util.spec_from_file_location("dist", ROOT / "wheels" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_file_of_data_is_in_the_package() -> None:
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]["matchwood"]
    package = ROOT / "matchwood"
    files = [path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()]
    data = [name for name in files if not name.endswith((".py", ".pyc", ".md"))]
    assert [name for name in data if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    assert "py.typed" in data


def test_the_version_is_that_of_the_tag() -> None:
    assert "version" in SETTINGS["project"]["dynamic"]
    tag = re.compile(SETTINGS["tool"]["setuptools_scm"]["tag_regex"])
    assert (found := tag.match("v0.2.0"))
    assert found["version"] == "0.2.0"
    assert not tag.match("0.2")


def test_a_package_that_nobody_installed_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "matchwood").symlink_to(ROOT / "matchwood")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import matchwood; print(matchwood.__version__)"
    done = subprocess.run([sys.executable, "-S", "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0+unknown"
    assert matchwood.__version__


def test_the_version_is_no_name_of_its_own() -> None:
    with pytest.raises(AttributeError, match="no attribute 'versio'"):
        matchwood.versio  # noqa: B018


def test_an_sdist_that_lacks_something_is_noticed(dist: Any, tmp_path: Path) -> None:
    archive = tmp_path / "matchwood-1.tar.gz"
    with tarfile.open(archive, "w:gz") as written:
        written.add(ROOT / "README.md", "matchwood-1/README.md")
    with pytest.raises(SystemExit, match=r"lacks pyproject\.toml"):
        dist.check_sdist(archive)


def test_a_step_that_fails_is_told(dist: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="that failed: a slip"):
        dist._step("a slip", [sys.executable, "-c", "raise SystemExit(3)"], tmp_path)


def test_the_papers_are_cited() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    titles = re.findall(r"^    title: (.+)$", citation, re.MULTILINE)
    assert len(titles) == len(PAPERS)
    assert all(any(paper in title for title in titles) for paper in PAPERS)


@pytest.mark.parametrize("name", ["Dockerfile", "docker/service.Dockerfile", "docker/spark.Dockerfile"])
def test_an_image_is_told_its_version_and_warmed_up(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MATCHWOOD=$VERSION" in text
    assert "matchwood warmup --engines auto" in text
