"""What new processes take, and what kernels cost to compile: that the figures are those of what they claim."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from matchwood.bench.frame.fresh import FreshRun, fresh_run
from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.own import compiling, starting


def test_a_process_is_measured_from_start_to_end() -> None:
    found = fresh_run(["-c", "print('first'); print('last')"], {})
    assert found.said == "last"
    assert found.cpu_s > 0
    assert found.wall_s > 0


def test_a_process_that_fails_is_a_wrong_answer() -> None:
    with pytest.raises(WrongAnswer, match="no such index"):
        fresh_run(["-c", "raise SystemExit('no such index')"], {})


def test_compiling_what_should_have_been_kept_is_a_wrong_answer() -> None:
    with pytest.raises(WrongAnswer, match="first match: kept, and yet 3 kernels compiled and 0 interpreted"):
        starting._row(starting.TASKS[2], "kept", FreshRun(1.0, 1.0, "[3, 0, 1000, {}]"), 0)


@pytest.mark.parametrize(
    ("state", "told", "refused"),
    [
        ("kept", "[1, 5, 0, {}]", False),
        ("precompiled", "[0, 5, 0, {}]", False),
        ("precompiled", "[1, 0, 0, {}]", True),
    ],
)
def test_among_threads_a_wheel_alone_has_all_code(state: str, told: str, refused: bool) -> None:
    shared = starting.TASKS[5]
    with pytest.raises(WrongAnswer, match="1 kernels compiled") if refused else contextlib.nullcontext():
        starting._row(shared, state, FreshRun(1.0, 1.0, told), 0)
    with pytest.raises(WrongAnswer, match="and yet"):
        starting._row(starting.TASKS[2], state, FreshRun(1.0, 1.0, told), 0)


def test_what_a_process_tells_of_itself_is_in_its_row() -> None:
    row = starting._row(
        starting.TASKS[5], "nothing kept", FreshRun(2.0, 1.5, '[3, 2, null, {"longest_match_ms": 7.5}]'), 9
    )
    assert (row["compiled"], row["interpreted"], row["longest_match_ms"]) == (3, 2, 7.5)
    assert (row["peak_bytes"], row["kept_bytes"]) == (None, 9)


@pytest.mark.long
def test_a_reader_is_timed_while_a_writer_begins() -> None:
    row = starting._row(starting.TASKS[5], "any", fresh_run(starting.TASKS[5].arguments, {}), 0)
    assert row["matches"] > 0
    assert row["longest_match_ms"] > 0


def test_a_process_with_precompiled_code_is_measured_where_there_is_some(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATCHWOOD_PRECOMPILED", str(tmp_path))
    assert starting.has_precompiled()
    monkeypatch.setenv("MATCHWOOD_PRECOMPILED", "0")
    assert not starting.has_precompiled()


def test_kernels_that_have_no_row_of_their_own_are_summed_up() -> None:
    rows = compiling._rows("scan", {f"k{number}": float(number) for number in range(40)})
    assert [row["workload"] for row in rows[:2]] == ["k39", "k38"]
    assert [(row["workload"], row["kernels"], row["compile_s"]) for row in rows[-2:]] == [
        ("all others", 15, sum(range(15))),
        ("all", 40, sum(range(40))),
    ]
