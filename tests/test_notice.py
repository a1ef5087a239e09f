"""The line that says what a first use waits for: once, after a while, and never where nothing is compiled."""

from __future__ import annotations

import gc
import io
from pathlib import Path

import pytest

from matchwood.core import notice
from matchwood.core.machine_code import kept
from matchwood.core.machine_code.kept import Loaded
from matchwood.core.notice import LINE, PATIENCE, CompileNotice

COMPILED, LOADED = Loaded("a kernel", None), Loaded("a kernel", Path("kept.nbc"))


def shown(kernels: list[tuple[float, Loaded]]) -> list[str]:
    """What is written while kernels are needed at these times."""
    written: list[str] = []
    times = iter([at for at, kernel in kernels if kernel.path is None])
    told = CompileNotice(written.append, lambda: next(times))
    for _, kernel in kernels:
        told.hear(kernel)
    return written


def test_the_line_is_shown_once_when_compiling_goes_on() -> None:
    assert shown([(10.0, COMPILED), (10.5, COMPILED), (10.0 + PATIENCE, COMPILED), (30.0, COMPILED)]) == [LINE]


def test_a_short_compilation_is_silent() -> None:
    assert shown([(10.0, COMPILED), (10.9, COMPILED)]) == []


def test_loading_is_silent() -> None:
    assert shown([(10.0, LOADED), (99.0, LOADED)]) == []


def test_a_broken_terminal_is_no_error() -> None:
    def broken(line: str) -> None:
        raise OSError("gone")

    times = iter([0.0, PATIENCE])
    told = CompileNotice(broken, lambda: next(times))
    told.hear(COMPILED)
    told.hear(COMPILED)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "listeners"), [(Terminal(), 1), (io.StringIO(), 0), (None, 0)])
def test_only_a_terminal_is_told(stream: io.StringIO | None, listeners: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    before = len(kept._listeners)
    try:
        notice.tell_of_compiling.__wrapped__()
        gc.collect()
        assert len(kept._listeners) - before == listeners
    finally:
        notice._for_good.pop_all().close()
    assert len(kept._listeners) == before
