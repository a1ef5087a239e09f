"""`matchwood warmup`: what it compiles is kept, and what an engine needs afterwards is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import matchwood as mw
from matchwood.commands import warmup
from matchwood.commands.cli import main
from matchwood.core import compilations

_AGAIN = """
from matchwood.commands import main
from matchwood.core import compilations
with compilations() as compiled:
    assert main(["warmup", "--engines", "scan"]) == 0
assert not compiled, compiled
"""


@pytest.mark.long
def test_what_an_engine_needs_is_there_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--engines", "scan", "counting", "--processes", "2"]) == 0
    assert re.search(r"(1 kernel|kernels) compiled, kept in", capsys.readouterr().out)
    with compilations() as compiled:
        index = mw.Index("scan")
        index.insert_many([("a", "age > 18 and country = 'US'"), ("b", "tags one of ('x')", {"weight": 2.0})])
        assert index.match({"age": 20, "country": "US"}) == ["a"]
        assert index.top({"tags": ["x"]}, 1) == [("b", 3.0)]
        del index["a"]
    assert compiled == []
    subprocess.run([sys.executable, "-c", _AGAIN], cwd=Path(mw.__file__).parent.parent, check=True)


def test_an_engine_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--engines", "nope"]) == 2
    assert "nope" in capsys.readouterr().err


@pytest.mark.parametrize("engines", [["auto", "scan", "hem", "atree"], ["scan"], ["kindex", "hem"], ["auto"]])
def test_several_processes_do_between_them_what_one_would(engines: list[str]) -> None:
    (alone,) = warmup.shares_of(engines, 1)
    first, *others = warmup.shares_of(engines, 2)
    assert first == warmup.Share((engines[0],))
    assert sorted(each for share in (first, *others) for each in share.engines) == sorted(alone.engines)
    assert sorted(each for share in others for each in share.tried) == sorted(alone.tried)
    assert len(others) <= 2
    assert bool(alone.tried) == ("auto" in engines)


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_a_number_of_processes_that_is_none_is_refused(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--processes", count]) == 2
    assert f"must be a number of at least 1 (got '{count}')" in capsys.readouterr().err
