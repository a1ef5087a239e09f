"""The jobs of `make test`: that every test is in one, that kernels come first, and that a failure is told."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

from tests import forms, side_by_side
from tests.forms import Form
from tests.side_by_side import CLUSTERS, ELSEWHERE, IDLING, KERNELS, QUICK, TOGETHER, Job, SideBySide, jobs, long_jobs

ROOT = Path(__file__).parent.parent


def python(name: str, script: str, waits: bool = True, idles: bool = False) -> Job:
    return Job(name, (sys.executable, "-c", script), waits, idles)


def rooms_of(given: list[Job], form: Form) -> dict[str, set[str]]:
    """What each job that runs tests is told to run, and that all run this form."""
    tests = [job for job in given if job.command[1:3] == ("-m", "pytest")]
    assert {job.form for job in tests} == {form}
    return {job.name: set(job.command[3:]) for job in tests}


def test_every_room_is_named_as_it_is_and_all_others_are_tested_too() -> None:
    rooms = list(itertools.chain(*TOGETHER))
    assert all((ROOT / room).is_dir() for room in (*QUICK, *rooms))
    assert len({*QUICK, *rooms, *ELSEWHERE}) == len(QUICK) + len(rooms) + len(ELSEWHERE)
    assert all(set(IDLING[form]) < set(rooms) for form in (Form.SHORT, Form.LONG))
    assert all((ROOT / file).is_file() for file in CLUSTERS)
    apart = {f"--ignore={file}" for file in CLUSTERS}
    both = {", ".join(job): {*job, *apart} for job in TOGETHER}
    both["all other tests"] = {f"--ignore={room}" for room in (*QUICK, *rooms, *ELSEWHERE)}
    assert rooms_of(jobs(2), Form.SHORT) == both | {", ".join(QUICK): set(QUICK)}
    assert rooms_of(long_jobs(2), Form.LONG) == both | {each: {each} for each in CLUSTERS}


def test_what_is_long_is_where_long_tests_run() -> None:
    """Files that `make test` does not run are long as a whole; rooms that `make test-long` does not run have none."""
    marked = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py") if is_marked(file)}
    assert set(CLUSTERS) < marked
    assert all("\npytestmark = pytest.mark.long\n" in (ROOT / file).read_text(encoding="utf-8") for file in CLUSTERS)
    assert [file for file in marked if file.startswith(tuple(f"{room}/" for room in (*QUICK, *ELSEWHERE)))] == []


def is_marked(file: Path) -> bool:
    return "pytest.mark.long" in file.read_text(encoding="utf-8") and file != Path(__file__)


def test_both_commands_have_their_jobs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(side_by_side, "jobs", lambda cores: [python("short", "")])
    monkeypatch.setattr(side_by_side, "long_jobs", lambda cores: [python("long", "")])
    for arguments, name, other in (([], "short:", "long:"), (["--long"], "long:", "short:")):
        assert side_by_side.main(arguments) == 0
        told = capsys.readouterr().out
        assert name in told
        assert other not in told


def test_jobs_that_idle_have_a_place_beside_and_are_taken_by_others_in_the_end(tmp_path: Path) -> None:
    """One core: the busy job goes on only once an idle one has begun beside it, and then takes the second idle one."""
    begun, done = tmp_path / "begun", tmp_path / "done"
    wait = "import pathlib, time\nwhile not pathlib.Path({!r}).exists(): time.sleep(0.01)\n"
    touch = "import pathlib; pathlib.Path({!r}).touch()\n"
    busy = python("busy", wait.format(str(begun)))
    first = python("first", touch.format(str(begun)) + wait.format(str(done)), idles=True)
    second = python("second", touch.format(str(done)), idles=True)
    outcomes = SideBySide([busy, first, second], lambda line: None).run(1)
    assert {outcome.job.name: outcome.status for outcome in outcomes} == {"busy": 0, "first": 0, "second": 0}


def test_what_needs_kernels_begins_when_they_are_there(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    note = f"open({log!r}, 'a').write(%r)"
    slow = f"import time; time.sleep(0.3); {note % 'k'}"
    given = [python(KERNELS, slow, waits=False), python("needs", note % "n"), python("beside", note % "b", waits=False)]
    outcomes = SideBySide(given, lambda line: None).run(2)
    assert sorted(Path(log).read_text()) == ["b", "k", "n"]
    assert Path(log).read_text().index("k") < Path(log).read_text().index("n")
    assert [outcome.status for outcome in outcomes] == [0, 0, 0]


def test_a_failure_is_told_whole_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = python("bad", "print('first'); print('last'); raise SystemExit(3)")
    good = python("good", "print('many'); print('passed')")
    monkeypatch.setattr(side_by_side, "jobs", lambda cores: [bad, good])
    assert side_by_side.main(["--cores", "1"]) == 1
    told = capsys.readouterr().out
    assert "bad: FAILED (status 3)" in told
    assert "first\nlast" in told
    assert "passed" in told
    assert "many" not in told
    assert told.endswith("failed: bad\n")


def test_all_well_is_told_as_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(side_by_side, "jobs", lambda cores: [python("good", "")])
    assert side_by_side.main([]) == 0
    assert capsys.readouterr().out.endswith("all passed\n")


def test_jobs_keep_byte_code_and_drivers_of_spark_compile_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    told = "import os, sys; print(sys.dont_write_bytecode, os.environ['SPARK_SUBMIT_OPTS'])"
    (outcome,) = SideBySide([python("told", told)], lambda line: None).run(1)
    assert outcome.said == f"False {side_by_side.SHORT_LIVED}\n"


@pytest.mark.parametrize("form", Form)
def test_a_job_is_told_which_tests_it_has(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(forms.VARIABLE, "something else")
    job = python("told", f"import os; print(os.environ[{forms.VARIABLE!r}])")._replace(form=form)
    (outcome,) = SideBySide([job], lambda line: None).run(1)
    assert outcome.said == f"{form.value}\n"
