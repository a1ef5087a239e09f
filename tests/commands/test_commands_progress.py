"""Progress: silent at first, then one line, on a terminal always the same one."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from matchwood.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the first line, nor between lines."""
    for name in ("QUIET_SECONDS", "IN_PLACE_SECONDS", "LINE_SECONDS"):
        monkeypatch.setattr(Progress, name, 0.001)


def _wait_for(pattern: str, stream: io.StringIO) -> None:
    until = time.monotonic() + 60
    while not re.search(pattern, stream.getvalue()) and time.monotonic() < until:
        time.sleep(0.001)
    assert re.search(pattern, stream.getvalue())


def test_a_short_job_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("counting", "sheep", 10) as progress:
        progress.advance(10)
    assert (stream.getvalue(), progress.done) == ("", 10)


@pytest.mark.usefixtures("hasty")
def test_a_long_job_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("counting", "sheep", 200) as progress:
        _wait_for(r"counting: 0 of 200 sheep \(0%\), \d+ s\n", stream)
        progress.advance(50)
        _wait_for(r"counting: 50 of 200 sheep \(25%\), ", stream)
    ended = stream.getvalue()
    time.sleep(0.02)
    assert stream.getvalue() == ended


@pytest.mark.usefixtures("hasty")
def test_a_step_that_cannot_count_shows_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("linting"):
        _wait_for(r"linting: \d+ s\n", stream)


@pytest.mark.usefixtures("hasty")
def test_a_terminal_gets_one_line_which_goes_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("counting", "sheep") as progress:
        progress.advance(3)
        _wait_for("\r\x1b\\[Kcounting: 3 sheep, ", stream)
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.usefixtures("hasty")
def test_a_closed_stream_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    stream.close()
    for broken in (stream, None):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        progress = Progress("counting")
        monkeypatch.setattr(sys, "stderr", broken)
        with progress:
            time.sleep(0.01)


@pytest.mark.usefixtures("hasty")
def test_only_the_innermost_job_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("outer"):
        _wait_for("outer: ", stream)
        with Progress("inner"):
            _wait_for("inner: ", stream)
            for _ in range(2):  # the line of the outer one may have been under way
                stream.truncate(0)
                _wait_for("inner: ", stream)
            assert "outer" not in stream.getvalue()
        stream.truncate(0)
        _wait_for("outer: ", stream)


@pytest.mark.usefixtures("hasty")
def test_commands_show_progress(built: Path, run: Any) -> None:
    lines = "".join(f"{number},US,,,,\n" for number in range(20_000))
    Path("many.csv").write_text("age,country,tags,plan,seen,who\n" + lines)
    assert "matching many.csv: " in run("match", "rules.matchwood", "many.csv", "-o", "hits.csv").err
    Path("many.csv").write_text("id,expression\n" + "".join(f"r{number},x = {number}\n" for number in range(3_000)))
    assert "reading many.csv: 0 rules, " in run("build", "many.csv", "index").err
