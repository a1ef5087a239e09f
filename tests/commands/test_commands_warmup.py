"""`matchwood warmup`: what it compiles is kept, and what an engine needs afterwards is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import matchwood as mw
from matchwood.commands.cli import main
from matchwood.core import compilations

_AGAIN = """
from matchwood.commands import main
from matchwood.core import compilations
with compilations() as compiled:
    assert main(["warmup", "--engines", "scan"]) == 0
assert not compiled, compiled
"""


def test_what_an_engine_needs_is_there_afterwards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--engines", "scan"]) == 0
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
