"""Kernels that are interpreted until they are compiled: the same answers, by nobody who has to wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import matchwood
from matchwood.core import INTERPRET, LittleTurn, ReadersWriterLock, count_of, little_work
from matchwood.core.compiling import Beside
from matchwood.core.turns import HERE
from matchwood.core.twins import _numpys, _pythons
from matchwood.matching import is_little

_KERNELS = """
import numpy as np
from matchwood.core.bits import bit_count
from matchwood.core.jit import kernel

@kernel
def inner(value):
    return bit_count(np.uint64(value) * np.uint64(0x9E3779B97F4A7C15))

@kernel
def mixed(value):
    return np.uint64(value) * np.uint64(0xBF58476D1CE4E5B9)

@kernel
def outer(values):
    total = np.int32(0)
    for value in values:
        total += inner(value) + np.int64(mixed(value) + mixed(value)) % 7
    return total, values[0] > 0

@kernel
def wrong(values):
    return values.no_such_thing
"""

_CALLED = """
import numpy as np
from matchwood.core import BESIDE, compilations, interpretations, little_work
import own_kernels
found = []
own_kernels.mixed(3)  # compiled, it returns a number of Python that would not wrap around in the twin of its caller
with compilations() as compiled, interpretations() as interpreted, little_work(True):
    for _ in range(2):
        try:
            found.append(own_kernels.KERNEL(np.arange(1, 9)))
        except Exception as error:
            found.append([type(error).__name__])
        thread = BESIDE._thread
        if thread is not None:
            thread.join()
types, loaded = [type(each).__name__ for each in found[0]], len(own_kernels.KERNEL.signatures)
told = {"found": found, "types": types, "loaded": loaded}
print(json.dumps({**told, "compiled": compiled, "interpreted": interpreted}))
"""
"""One kernel called twice, with time to be compiled in between."""

_REGISTERED = """
import numpy as np
from numba.core.typing.typeof import typeof_impl
import matchwood.core.jit
import own_kernels
before = set(typeof_impl.registry)
own_kernels.outer(np.arange(1, 9))
print(json.dumps({"registered": [each.__name__ for each in set(typeof_impl.registry) - before]}))
"""
"""What Numba makes known of types while it compiles the first kernel."""

_FIRST = """
import matchwood as mw
from matchwood.core import loading
me, waited, interpreted = threading.get_ident(), [], []
def hear(found):
    if found.interpreted:
        interpreted.append(found.kernel)
    elif threading.get_ident() == me:
        waited.append(found.kernel)
events = [{"age": age, "country": country, "tags": ["a"]} for age in (5, 20, 70) for country in ("US", None)]
rules = {"adults": "age >= 18 and country in ('US', 'CA')", "minors": "age < 18", "old": "country is null or age > 60"}
with loading(hear):
    index = mw.Index(ENGINE)
    for name, text in rules.items():
        index[name] = text
    index.insert_many([("weighed", "tags one of ('a', 'b') and not (age > 30)", {"weight": 2.0}), ("gone", "age = 5")])
    del index["gone"]
    index["minors"] = "age < 21 xor country = 'CA'"
    found = [index.match(event) for event in events]
    table = index.match_many(events, threads=2).to_pylist()
    best = [index.top(event, 2) for event in events]
    related = index.find("age between 70 and 80")
    index.save(PATH)
    told = {"found": found, "table": table, "best": best, "related": related, "items": list(index.items())}
    told["stats"] = index.stats()["rules"]
print(json.dumps({**told, "engine": index.engine, "waited": waited, "interpreted": len(interpreted)}, default=str))
"""


def _said(script: str, **environment: str) -> dict[str, Any]:
    paths = {"PYTHONPATH": os.pathsep.join([str(Path(matchwood.__file__).parent.parent), environment.pop("HOME")])}
    given = {**os.environ, **paths, **environment}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", f"import json, threading\n{script}"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_a_kernel_is_interpreted_until_it_is_compiled_and_returns_the_same(tmp_path: Path) -> None:
    (tmp_path / "own_kernels.py").write_text(_KERNELS)
    kept = {"HOME": str(tmp_path), "MATCHWOOD_CACHE_DIR": str(tmp_path / "kept")}
    told = _said(_CALLED.replace("KERNEL", "outer"), MATCHWOOD_INTERPRET="1", **kept)
    assert told["found"][0] == told["found"][1]
    assert told["types"] == ["int", "bool"], "as compiled code hands them over"
    assert told["interpreted"] == ["own_kernels.outer"], "those within it are not asked for"
    assert told["compiled"] == ["own_kernels.outer", "own_kernels.inner", "own_kernels.mixed"]
    assert told["loaded"] == 1
    again = _said(_CALLED.replace("KERNEL", "outer"), MATCHWOOD_INTERPRET="1", **kept)
    assert again["found"] == told["found"]
    assert again["interpreted"] == again["compiled"] == [], "what is kept is loaded"


def test_a_kernel_that_cannot_be_compiled_says_so_when_it_is_called_again(tmp_path: Path) -> None:
    (tmp_path / "own_kernels.py").write_text(_KERNELS)
    told = _said(_CALLED.replace("KERNEL", "wrong"), MATCHWOOD_INTERPRET="1", HOME=str(tmp_path))
    assert told["found"] == [["AttributeError"], ["TypingError"]]


def test_compiling_changes_no_table_that_other_threads_read_the_types_of_arguments_from(tmp_path: Path) -> None:
    (tmp_path / "own_kernels.py").write_text(_KERNELS)
    told = _said(_REGISTERED, HOME=str(tmp_path), MATCHWOOD_CACHE_DIR=str(tmp_path / "kept"))
    assert told["registered"] == []


@pytest.mark.long(1)
@pytest.mark.parametrize("engine", ["auto", "atree"])
def test_the_first_answers_of_a_small_index_wait_for_no_compiler_and_are_those_of_compiled_code(
    engine: str, tmp_path: Path
) -> None:
    script = _FIRST.replace("ENGINE", repr(engine)).replace("PATH", repr(str(tmp_path / "saved")))
    nothing = {"HOME": str(tmp_path), "MATCHWOOD_CACHE_DIR": str(tmp_path / "kept"), "MATCHWOOD_PRECOMPILED": "0"}
    at_once = _said(script, MATCHWOOD_INTERPRET="1", **nothing)
    assert at_once.pop("waited") == []
    assert at_once.pop("interpreted") > 10
    compiled = _said(script, HOME=str(tmp_path), MATCHWOOD_INTERPRET="0")
    assert compiled.pop("interpreted") == 0
    compiled.pop("waited")
    assert at_once == compiled


def test_only_little_work_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert matchwood.Index()._little_turn is None, "the tests switch it off"
    monkeypatch.setattr("matchwood.matching.little.may_interpret", lambda: True)
    monkeypatch.setattr("matchwood.matching.little.MOST_RULES", 3)
    index = matchwood.Index()
    assert isinstance(index._little_turn, LittleTurn)
    assert is_little(index, rules=3, events=100)
    assert not is_little(index, rules=4)
    assert not is_little(index, events=101)
    assert not is_little(index, count_of(iter("ab")))
    index.insert_many({number: f"n = {number}" for number in range(4)})
    assert index._little_turn is None
    del index[0]
    assert index._little_turn is not None
    assert index._rehearsal("auto")._little_turn is None


def test_a_turn_with_little_work_ends_with_it() -> None:
    lock = ReadersWriterLock()
    with LittleTurn(lock.reading()):
        assert HERE.little
        assert lock.is_reading()
        with little_work(False):
            assert not HERE.little
        with LittleTurn(lock.reading()):
            assert HERE.little
        assert HERE.little
    assert not HERE.little
    assert not lock.is_reading()


class Pair(NamedTuple):
    first: Any
    last: Any


def test_numbers_are_numpys_within_kernels_and_pythons_own_without_however_deep() -> None:
    array = np.arange(2)
    found = _pythons((np.int32(3), Pair(np.float64(0.5), "text"), array))
    assert found == (3, Pair(0.5, "text"), array)
    assert [type(each) for each in (found[0], found[1].first)] == [int, float]
    within = _numpys((-1, Pair(0.5, True), 1 << 63, array))
    assert [type(each) for each in within] == [np.int64, Pair, np.uint64, np.ndarray]
    assert [type(each) for each in within[1]] == [np.float64, bool]


def test_the_thread_beside_does_each_thing_once_and_lets_others_go_first() -> None:
    beside, order, go, told = Beside(), list[str](), threading.Event(), threading.Event()

    def first() -> None:
        told.set()
        go.wait()
        with beside.compiling():
            order.append("beside")

    assert beside.ask("first", first)
    assert beside.ask("first", first)
    assert told.wait(60)
    thread = beside._thread
    assert thread is not None
    with beside.compiling():
        go.set()
        thread.join(0.05)
        order.append("ahead")
    thread.join(60)
    assert order == ["ahead", "beside"]
    assert not beside.is_busy


def test_what_fails_beside_is_left_to_whoever_asks_for_it() -> None:
    beside = Beside()

    def fail() -> None:
        raise ValueError("no")

    assert beside.ask("it", fail)
    thread = beside._thread
    if thread is not None:
        thread.join(60)
    assert not beside.ask("it", fail)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_is_forked_between_two_kernels_and_its_child_begins_anew() -> None:
    beside, compiling, go = Beside(), threading.Event(), threading.Event()

    def work() -> None:
        with beside.compiling():
            compiling.set()
            go.wait()

    beside.ask("long", work)
    assert compiling.wait(60)
    threading.Timer(0.05, go.set).start()
    beside.before_fork()
    assert go.is_set(), "whoever forks waits until the kernel is compiled"
    beside.after_fork(in_child=True)
    assert not beside.is_busy
    assert not beside._compiling.locked()


def test_the_variable_that_switches_it_off_is_the_documented_one() -> None:
    page = (Path(__file__).parent.parent / "docs" / "starting.md").read_text()
    assert f"`{INTERPRET}=0`" in page
