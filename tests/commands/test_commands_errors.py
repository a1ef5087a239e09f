"""What goes wrong is told in one line on standard error, and by the exit status; never by a traceback."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import matchwood
from matchwood.commands import cli

ROOT = Path(matchwood.__file__).parent.parent


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command line in a shell of its own, where `matchwood` is this very package."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    defined = f'matchwood() {{ {sys.executable} -m matchwood "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", defined + command], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("match rules.matchwood nowhere.csv", "nowhere.csv: there is no such file"),
        ("match rules.matchwood broken.csv", "broken.csv: not a readable CSV file"),
        ("match rules.matchwood empty.csv", "empty.csv: not a readable CSV file"),
        ("match rules.matchwood broken.parquet", "broken.parquet: not a readable Parquet file"),
        ("match rules.matchwood broken.jsonl", "broken.jsonl, line 2: not JSON"),
        ("match rules.matchwood array.jsonl", "array.jsonl, line 1: must be a JSON object (got [1, 2])"),
        ("match rules.matchwood latin.jsonl", "latin.jsonl: not a readable JSON lines file"),
        ("match rules.matchwood latin.csv", "latin.csv: not a readable CSV file"),
        ("match rules.matchwood deep.jsonl", "deep.jsonl, line 1: not JSON"),
        (
            "match rules.matchwood events.csv --key nobody",
            "events.csv: there is no column 'nobody' (the columns: who, age",
        ),
        ("match rules.matchwood twice.csv --key age", "twice.csv: there is more than one column 'age'"),
        ("match rules.matchwood events.csv -o nowhere/hits.csv", "nowhere/hits.csv: cannot be written: No such file"),
        ("match nowhere events.csv", "no snapshot is there"),
        ("match . events.csv", "not a snapshot"),
        ("match damaged events.csv", "damaged"),
        ("stats damaged", "damaged"),
        ("stats nowhere", "no snapshot is there"),
        ("explain rules.matchwood nobody {}", "no rule has the id 'nobody'"),
        ("explain rules.matchwood adults @nowhere", "nowhere: No such file or directory"),
        ("""explain rules.matchwood adults {"age":"x"}""", "'age' must be number (got 'x', a str)"),
        ("build events.csv index", "events.csv: there is no column 'id'"),
        ("build events.jsonl index", "events.jsonl: there is no column 'id'"),
        ("build rules.csv index --id nobody", "rules.csv: there is no column 'nobody'"),
        ("build rules.csv rules.parquet/index", "rules.parquet"),
        ("check rules.csv --rejects nowhere/no.csv", "nowhere/no.csv: cannot be written: No such file"),
        ("bench report", "bench-results holds no results yet"),
    ],
)
def test_a_failure_is_one_line_and_status_1(built: Path, run: Any, arguments: str, reason: str) -> None:
    _damage(built)
    done = run(*arguments.split())
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert done.err.startswith("matchwood")
    assert reason in done.err


def _damage(folder: Path) -> None:
    shutil.copytree("rules.matchwood", "damaged")
    part = next(Path("damaged").rglob("*texts*data*"))
    part.write_bytes(b"?" + part.read_bytes()[1:])
    for name, contents in {
        "broken.csv": b"age,country\n1,US\n2,US,more\n",
        "empty.csv": b"",
        "broken.parquet": b"PAR1 but not really",
        "broken.jsonl": b'{"age": 1}\n{"age": \n',
        "array.jsonl": b"[1, 2]\n",
        "latin.jsonl": b'{"country": "\xe9"}\n',
        "latin.csv": b"country\n\xe9\n",
        "deep.jsonl": b"[" * 200_000 + b"\n",
        "twice.csv": b"age,age\n1,2\n",
    }.items():
        Path(name).write_bytes(contents)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "the following arguments are required: command"),
        ("frobnicate", "invalid choice: 'frobnicate'"),
        ("match", "the following arguments are required: index, events"),
        ("match a b.csv c", "unrecognized arguments: c"),
        ("match a b.csv --outp c.csv", "unrecognized arguments: --outp"),
        ("match a .", "the ending does not show the format"),
        ("match a b.txt", "b.txt: the ending does not show the format"),
        ("match a b.csv -o c.xlsx", "c.xlsx: the ending does not show the format"),
        ("match a b.csv -o b.csv", "-o b.csv would replace the events"),
        ("match a b.csv -o ../FOLDER/b.csv", "would replace the events"),
        ("match a b.csv --key rule", "the hits already have a column of that name"),
        ("match a b.csv --missing maybe", "invalid choice: 'maybe'"),
        ("match a b.parquet --list-separator |", "--list-separator"),
        ("build a.csv b --engine fast", "invalid choice: 'fast'"),
        ("build a.csv b --schema age:fast", "schema"),
        ("build a.csv b --timezone Mars", "timezone 'Mars' is not known"),
        ("build a.csv b --rejects a.csv", "--rejects a.csv would replace the rules"),
        ("check a.csv --rejects a.csv", "--rejects a.csv would replace the rules"),
        ("check a.csv --rejects a", "the ending does not show the format"),
        ("explain a b {", "the event must be a JSON object"),
        ("explain a b [1]", "the event must be a JSON object"),
        ("demo --rules none", "must be a whole number of at least 1"),
        ("demo --events 0", "must be a whole number of at least 1"),
        ("bench", "the following arguments are required: action"),
        ("bench run", "the following arguments are required: NAME"),
        ("bench run nothing", "invalid choice: 'nothing'"),
        ("bench core --scale smoke", "invalid choice: 'smoke'"),
        ("bench run all --json x.json", "--json names the file of one experiment"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(folder: Path, run: Any, arguments: str, reason: str) -> None:
    done = run(*arguments.replace("FOLDER", folder.name).split())
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("matchwood")
    assert reason in done.err


def test_help_and_version_succeed(run: Any) -> None:
    assert run("--version").out == f"matchwood {matchwood.__version__}\n"
    for command in ("demo", "check", "build", "match", "explain", "stats", "bench"):
        assert command in run("--help").out
        assert run(command, "--help").status == 0


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [
        (KeyboardInterrupt(), 130, "matchwood: interrupted\n"),
        (MemoryError(), 1, "matchwood: out of memory\n"),
        (PermissionError(13, "Permission denied", "x.csv"), 1, "matchwood: x.csv: Permission denied\n"),
        (BrokenPipeError(), 1, ""),
    ],
)
def test_what_a_command_raises(
    run: Any, monkeypatch: pytest.MonkeyPatch, raised: BaseException, status: int, told: str
) -> None:
    def fail(arguments: object) -> int:
        raise raised

    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.setattr(cli, "_stop_printing", lambda: None)
    done = run("stats", "x")
    assert (done.status, done.err) == (status, told)


def test_errors_in_matchwood_itself_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_run", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["stats", "x"])


def _without_progress(said: str) -> str:
    """What was said, without the lines that tell how far a long job is: compiling makes it one."""
    return "".join(line for line in said.splitlines(keepends=True) if not re.search(r", \d+ s$", line.rstrip()))


@pytest.mark.long
def test_a_reader_that_stops_reading(built: Path) -> None:
    lines = "".join(f"{number},US,,,,\n" for number in range(50_000))
    Path("many.csv").write_text("age,country,tags,plan,seen,who\n" + lines)
    done = _shell("matchwood match rules.matchwood many.csv | head -1; echo ${PIPESTATUS[0]}", built)
    assert done.stdout == '"event","rule"\n1\n'
    assert _without_progress(done.stderr) == ""


@pytest.mark.long
def test_standard_output_may_be_closed(built: Path) -> None:
    done = _shell("matchwood match rules.matchwood events.csv >&-", built)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert _without_progress(done.stderr).count("\n") == 1
    assert _shell("matchwood match rules.matchwood events.csv -o h.csv >&- 2>&-", built).returncode == 0


def test_any_text_can_be_printed(folder: Path) -> None:
    Path("r.csv").write_text("id,expression\nключ,x =\nok,x = 1\n", encoding="utf-8")
    done = _shell("PYTHONUTF8=0 PYTHONIOENCODING=ascii matchwood check r.csv", folder)
    assert done.returncode == 1
    assert "\\u043a\\u043b\\u044e\\u0447: " in done.stdout
    assert _without_progress(done.stderr) == ""
