"""The action for GitHub and the hooks for pre-commit: their commands, run as those would, in a repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import SOAK

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
OLD_RULES = "adults: age >= 18\n"
CASES = "- {event: {age: 30}, match: [adults]}\n"


def sh(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=True, **options)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose rules differ from those of `main` where it came from."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (origin / "rules").mkdir(parents=True)
    (origin / "rules/a.yaml").write_text(OLD_RULES)
    (origin / "cases.yaml").write_text(CASES)
    (origin / "events.csv").write_text("age\n20\n30\n")
    sh("git", *identity, "init", "--quiet", cwd=origin)
    sh("git", *identity, "add", ".", cwd=origin)
    sh("git", *identity, "commit", "--quiet", "-m", "rules", cwd=origin)
    sh("git", "clone", "--quiet", str(origin), str(clone))
    (clone / "rules/a.yaml").write_text("adults: age >= 21\n")
    _install(tmp_path / "bin", monkeypatch)
    monkeypatch.chdir(clone)
    return clone


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `matchwood` on the path that is this one."""
    folder.mkdir()
    script = folder / "matchwood"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m matchwood "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    if not SOAK:
        monkeypatch.setenv("MATCHWOOD_INTERPRET", "always")  # loading machine code takes longer than a rule does


def run_step(name: str, temp: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step of the action as a runner would execute it, with its inputs put into its environment."""
    given = {key: str(value["default"]) for key, value in ACTION["inputs"].items()} | {
        key.replace("_", "-"): value for key, value in inputs.items()
    }
    known = {f"inputs.{key}": value for key, value in given.items()} | {"runner.temp": str(temp)}
    step = STEPS[name]
    assert "${{" not in step["run"], "inputs go through the environment, so that nobody writes commands into them"
    fill = {key: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: known[m[1]], text) for key, text in step["env"].items()}
    environment = {**os.environ, **fill, "GITHUB_STEP_SUMMARY": str(temp / "summary.md")}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def test_the_action_names_inputs_that_exist() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])
    assert all(step.get("shell") == "bash" or "uses" in step for step in ACTION["runs"]["steps"])


@pytest.mark.long
def test_the_action_tests_rules(repository: Path, tmp_path: Path) -> None:
    done = run_step("Test rules", tmp_path, cases="cases.yaml", junit="out.xml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1 rule in 1 file, 1 case in 1 file: 1 passed, 0 failed, 0 errors\n")
    assert Path("out.xml").is_file()
    Path("cases.yaml").write_text("- {event: {age: 20}, match: [adults]}\n")
    assert run_step("Test rules", tmp_path, cases="cases.yaml").returncode == 1
    Path("rules/b.yaml").write_text("kids: age < 3\n")
    Path("cases.yaml").write_text(CASES)
    assert run_step("Test rules", tmp_path, cases="cases.yaml").returncode == 0
    assert run_step("Test rules", tmp_path, cases="cases.yaml", require_cases="true").returncode == 1
    assert run_step("Test rules", tmp_path, cases="").stdout == "2 rules in 2 files can be used, 0 cannot\n"


@pytest.mark.long
def test_the_action_compares_rules(repository: Path, tmp_path: Path) -> None:
    done = run_step("Compare rules", tmp_path, base="main", events="events.csv")
    assert done.returncode == 0, done.stderr
    assert "2 events: 0 hits gained, 1 lost" in done.stdout
    assert "  lost event 0: age >= 21 is false (age = 20)" in (tmp_path / "summary.md").read_text()
    assert Path("matchwood-diff.html").is_file()
    assert run_step("Compare rules", tmp_path, base="main", events="events.csv", fail_if="lost").returncode == 1
    assert run_step("Compare rules", tmp_path, base="main").returncode == 0
    assert run_step("Compare rules", tmp_path, base="nowhere").returncode != 0


def test_the_action_compares_with_a_branch_that_has_no_rules(repository: Path, tmp_path: Path) -> None:
    Path("new").mkdir()
    Path("new/a.yaml").write_text(OLD_RULES)
    done = run_step("Compare rules", tmp_path, base="main", rules="new")
    assert (done.returncode, done.stdout) == (
        0,
        "main has no new: all rules are new, and there is nothing to compare\n",
    )


@pytest.mark.long(1)
@pytest.mark.parametrize("hook", list(HOOKS))
def test_a_hook_runs_its_command(hook: str, repository: Path) -> None:
    told = HOOKS[hook]
    Path("cases").mkdir()
    Path("cases.yaml").rename("cases/a.yaml")
    words = [*told["entry"].split(), *told["args"]]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    Path("rules/b.yaml").write_text("typo: age => 5\n")
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1
    assert told["pass_filenames"] is False
    assert re.match(told["files"], "rules/b.yaml")
    assert set(told) <= {
        "id", "name", "description", "entry", "args", "language", "additional_dependencies", "files", "pass_filenames",
    }  # fmt: skip


def test_hooks_install_what_the_extra_has() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert all(hook["additional_dependencies"] == extras["yaml"] for hook in HOOKS.values())
