"""Every test is in `make test` or in `make test-long`, and in one of them only; the soak has all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FORM
from tests.forms import VARIABLE, Form, asked, leave_out, long_ones, spread

ROOT = Path(__file__).parent.parent
FILE = '''"""Tests of both kinds."""

import pytest

def test_short(): pass

@pytest.mark.long
def test_long(): pass

@pytest.mark.long(2)
@pytest.mark.parametrize("seed", range(10))
def test_seeds(seed): pass

@pytest.mark.parametrize("size", [1, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_sizes(size): pass

@pytest.mark.long(1)
@pytest.mark.few
@pytest.mark.parametrize("engine", range(5))
@pytest.mark.parametrize("way", range(3))
def test_product(engine, way): pass
'''
WHOLE_FILE = '''"""A file of long tests."""

import pytest

pytestmark = pytest.mark.long

def test_of_a_long_file(): pass
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A room with the settings of this one."""
    room = tmp_path_factory.mktemp("room")
    (room / "conftest.py").write_text("from tests.conftest import *\n", encoding="utf-8")
    (room / "test_some.py").write_text(FILE, encoding="utf-8")
    (room / "test_others.py").write_text(WHOLE_FILE, encoding="utf-8")
    return room


def collected(folder: Path, form: Form, **environment: str) -> list[str]:
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "MATCHWOOD_SOAK": "0", VARIABLE: form.value, **environment}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, env=settings, cwd=folder, capture_output=True, text=True, check=True)
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_each_test_is_in_one_form_and_in_one_only(folder: Path) -> None:
    short, long, whole = (collected(folder, form) for form in (Form.SHORT, Form.LONG, Form.WHOLE))
    assert sorted(short + long) == sorted(whole)
    assert len(set(whole)) == len(whole) == 1 + 1 + 10 + 2 + 5 + 1
    assert {"test_long", "test_of_a_long_file", "test_sizes[1000000]"} < set(long)
    assert {"test_short", "test_sizes[1]"} < set(short)
    assert sum(name.startswith("test_seeds[") for name in short) == 2
    assert sum(name.startswith("test_product[") for name in short) == 1
    soak = collected(folder, Form.SHORT, MATCHWOOD_SOAK="1")
    assert set(whole) < set(soak)
    assert len(soak) == len(whole) - 5 + 15


def test_this_run_has_what_it_was_asked_for(request: pytest.FixtureRequest) -> None:
    """Here as in that room: nothing runs that is left out."""
    items = list(request.session.items)
    assert leave_out(items, Form.WHOLE) == []
    assert len(items) == len(request.session.items)
    if FORM is Form.SHORT:
        assert not [item for item in items if (mark := item.get_closest_marker("long")) and not mark.args]


def test_what_is_asked_for() -> None:
    assert [asked({VARIABLE: form.value}) for form in Form] == list(Form)
    assert asked({}) is Form.SHORT
    assert asked({"MATCHWOOD_SOAK": "1", VARIABLE: "only"}) is Form.WHOLE
    with pytest.raises(ValueError, match="'1' is not a valid Form"):
        asked({VARIABLE: "1"})


def test_what_is_kept_is_spread_and_differs_from_test_to_test() -> None:
    assert long_ones([]) == set()
    assert spread(10) == set()
    assert spread(3, 3) == spread(3, 5) == {0, 1, 2}
    for seed in ("one", "another", "a third"):
        one, other = sorted(spread(10, 2, seed))
        assert other - one == 5
    assert len({frozenset(spread(10, 2, name)) for name in ("one", "another", "a third")}) > 1
