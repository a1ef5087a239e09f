"""The decorators for compiled kernels, and the place where their machine code is kept.

Numba compiles a kernel once a machine and keeps the result in a cache directory. The default, next
to the source file, is not writable in many deployments (system packages, containers, Spark
executors), so the cache goes to the user's cache directory, or to a private temporary one.

Numba notices that a kernel's own file has changed, but not that a kernel it calls, or a constant it uses, has in
another file: so each state of a file of kernels and of all that it imports has a directory of its own.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types

_PACKAGE = Path(__file__).parent.parent
_IMPORT = re.compile(r"^from matchwood\.([\w.]+) import", re.MULTILINE)


@functools.cache
def _source(path: Path) -> bytes:
    return path.read_bytes()


def sources_of(path: Path) -> list[Path]:
    """The file and every module of the package that it imports, directly or not, sorted."""
    found, waiting = {path}, [path]
    while waiting:
        for module in _IMPORT.findall(_source(waiting.pop()).decode()):
            imported = _PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
            if imported not in found and imported.exists():
                found.add(imported)
                waiting.append(imported)
    return sorted(found)


@functools.cache
def _directory_of(path: Path) -> str:
    """Where the machine code of one file's kernels is kept."""
    digest = hashlib.blake2b(digest_size=6)
    for source in sources_of(path):
        digest.update(_source(source))
    return str(Path(_base) / f"{path.stem}-{digest.hexdigest()}")


def _cache_directory() -> str:
    """A writable directory that survives the process, if the machine has one."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    wanted = Path(base) / "matchwood" / "numba"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        return _private_temporary()
    return str(wanted) if os.access(wanted, os.W_OK) else _private_temporary()


def _private_temporary() -> str:
    """One directory a user below the temporary one, so that its processes still share the code."""
    path = Path(tempfile.gettempdir()) / f"matchwood-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        owned = not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()
    except OSError:
        owned = False
    return str(path) if owned and os.access(path, os.W_OK) else tempfile.mkdtemp(prefix="matchwood-numba-")


if not os.environ.get("NUMBA_CACHE_DIR"):
    os.environ["NUMBA_CACHE_DIR"] = _cache_directory()
_base = os.environ["NUMBA_CACHE_DIR"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code."""
    return _compiled(function, {})


def bare_kernel(function: Function) -> Function:
    """The same for a function that makes no array: it does not count references to those that it is given.

    Counting one up and down is atomic, and happens wherever an array is taken out of a tuple: that took half of the
    time of building an A-Tree, whose small kernels take a tuple of eleven.
    """
    return _compiled(function, {"_nrt": False})


def _compiled(function: Function, options: dict[str, bool]) -> Function:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _directory_of(Path(function.__code__.co_filename))
    try:
        made = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    return _for_types(made) if hasattr(made, "get_call_template") else made  # type: ignore[no-any-return]


def _for_types(made: Any) -> Any:
    """Let other kernels call this one by the types of what they pass, whatever the values.

    Else Numba compiles it once more for each literal that stands in a call. That includes the 0 that a variable begins
    with, for as long as the types of a loop are not settled: code that nothing calls (five large kernels: 66 to 44 s).
    """
    template = made.get_call_template

    def of_types(arguments: Any, named: dict[str, Any]) -> Any:
        plain = {name: types.unliteral(each) for name, each in named.items()}
        return template(tuple(map(types.unliteral, arguments)), plain)

    made.get_call_template = of_types
    return made
