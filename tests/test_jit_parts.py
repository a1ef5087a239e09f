"""Kernels that only other kernels call, and what the compiler of kernels remembers."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import matchwood
from matchwood.core import without_collecting
from matchwood.core.machine_code.collecting import OBJECTS, fewer_collections

_STEPS = """
import numpy as np
from matchwood.core.jit import bare_kernel, kernel, wide_kernel

@bare_kernel
def exact(values, at):
    return values[at] + at

@wide_kernel
def wide(values, at):
    return values[at] + at

@bare_kernel
def least(values):
    return min(0.5, values[0], 3)

@kernel
def both(values, short, long):
    return exact(values, short) + exact(values, long) + 10 * (wide(values, short) + wide(values, long))
"""

_OTHER = """
from matchwood.core.jit import bare_kernel, kernel
from steps import wide

@kernel
def other(values):
    return wide(values, 1) + 1

@bare_kernel
def like_wide(values, at):
    return values[at] + at

@kernel
def calling(values, at):
    return like_wide(values, at)
"""

_FIRST = "both(np.arange(3), np.int32(1), 2)"


def _said(home: Path, script: str) -> list[str]:
    """What a process prints that has the files above."""
    (home / "steps.py").write_text(_STEPS)
    (home / "other.py").write_text(_OTHER)
    paths = f"{Path(matchwood.__file__).parent.parent}:{home}"
    clean = {"PATH": "", "PYTHONPATH": paths, "MATCHWOOD_CACHE_DIR": str(home / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
    script = f"import numpy as np\nfrom steps import *\n{script}"
    done = subprocess.run([sys.executable, "-c", script], env=clean, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_wide_kernel_is_compiled_once_whatever_the_width_of_whole_numbers(tmp_path: Path) -> None:
    script = f"print({_FIRST}); print(len(exact.within.signatures)); print(wide.within.signatures)"
    assert _said(tmp_path, script) == ["66", "2", "[(Array(int64, 1, 'C', False, aligned=True), int64)]"]


def test_what_only_kernels_call_becomes_no_machine_code_of_its_own(tmp_path: Path) -> None:
    script = f"""
from numba.core.codegen import JITCodeLibrary
made, finalize = [], JITCodeLibrary._finalize_specific
JITCodeLibrary._finalize_specific = lambda self: (made.append(self.name), finalize(self))
print({_FIRST})
print([name for name in made if name in ("both", "wide", "exact")])
"""
    assert _said(tmp_path, script) == ["66", "['both']"]


def test_the_least_of_numbers_needs_no_function_of_its_own(tmp_path: Path) -> None:
    script = """
from numba.core.codegen import JITCodeLibrary
made, finalize = [], JITCodeLibrary._finalize_specific
JITCodeLibrary._finalize_specific = lambda self: (made.append(self.name), finalize(self))
print([least(np.array([value])) for value in (0.25, 2.0, np.nan)])
print([name for name in made if name != "nrt"])
"""
    assert _said(tmp_path, script) == ["[0.25, 0.5, 0.5]", "['least']"]


def test_python_looks_for_garbage_seldom_while_a_kernel_is_compiled(tmp_path: Path) -> None:
    script = f"""
import gc
from numba.core.codegen import JITCodeLibrary
seen, finalize = [], JITCodeLibrary._finalize_specific
JITCodeLibrary._finalize_specific = lambda self: (seen.append(gc.get_threshold()), finalize(self))
gc.set_threshold(600, 7, 8)
print({_FIRST}, seen[-1], gc.get_threshold())
"""
    assert _said(tmp_path, script) == ["66 (100000, 7, 8) (600, 7, 8)"]


def test_who_decides_on_garbage_otherwise_is_left_alone() -> None:
    before = gc.get_threshold()
    try:
        for chosen in ((0, 10, 10), (2 * OBJECTS, 10, 10)):
            gc.set_threshold(*chosen)
            with fewer_collections():
                assert gc.get_threshold() == chosen
        gc.set_threshold(700, 10, 10)
        with fewer_collections():
            gc.set_threshold(900, 10, 10)
        assert gc.get_threshold() == (900, 10, 10)
    finally:
        gc.set_threshold(*before)


def test_among_threads_the_garbage_of_a_kernel_goes_at_once() -> None:
    class Kept:
        """Refers to itself."""

        def __init__(self) -> None:
            self.own = self

    def left() -> bool:
        with fewer_collections():
            gone = weakref.ref(Kept())
        return gone() is not None

    over = threading.Event()
    beside = threading.Thread(target=over.wait)
    beside.start()
    try:
        assert not left()
        gc.disable()
        assert left()
    finally:
        gc.enable()
        over.set()
        beside.join()


def test_a_load_that_compiles_leaves_no_garbage_for_later() -> None:
    with without_collecting():
        assert not gc.isenabled()
        with without_collecting(), fewer_collections():
            assert gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collecting(), fewer_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_only_kernels_call_is_kept_for_other_kernels(tmp_path: Path) -> None:
    script = """
from matchwood.core.machine_code import kept
from other import other
with kept.compilations() as compiled:
    print(other(np.arange(3)))
print(sorted(compiled))
"""
    assert _said(tmp_path, f"print({_FIRST})") == ["66"]
    assert _said(tmp_path, script) == ["3", "['other.other']"]
    (kept,) = (path for path in (tmp_path / "kept").rglob("wide-*.nbc"))
    kept.write_bytes(b"half of it")
    (again,) = (path for path in (tmp_path / "kept").rglob("other-*.nbc"))
    again.unlink()
    assert _said(tmp_path, script) == ["3", "['other.other', 'steps.wide']"]


def test_operators_are_asked_for_once_and_for_kernels_alone(tmp_path: Path) -> None:
    script = f"""
import numba
from numba.core.typing.context import BaseContext
from matchwood.core.machine_code import remembering
from other import calling
asked, resolve = [], BaseContext.resolve_function_type
def ask(self, function, *rest):
    asked.append(getattr(getattr(function, "typing_key", function), "__name__", ""))
    return resolve(self, function, *rest)
BaseContext.resolve_function_type = ask
print({_FIRST}, "add" in asked, "getitem" in asked)
asked.clear()
print(calling(np.arange(3), 2), "add" in asked)
before = len(remembering._found)
print(numba.njit(lambda values, at: values[at] * at)(np.arange(3), 2), "getitem" in asked)
print(before == len(remembering._found))
"""
    assert _said(tmp_path, script) == ["66 True False", "4 False", "4 True", "True"]
