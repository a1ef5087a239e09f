"""The one decorator for compiled kernels, and the place where their machine code is kept.

Numba compiles a kernel once a machine and keeps the result in a cache directory. The default, next
to the source file, is not writable in many deployments (system packages, containers, Spark
executors), so the cache goes to the user's cache directory, or to a private temporary one.

Numba notices that a kernel's own file has changed, but not that a kernel it calls has, in another file: so
each state of all kernels together has a directory of its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba


def _digest_of_kernels() -> str:
    """Tells one state of the package's kernels from another; some twenty small files are read."""
    package = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted([*package.glob("*/_*kernels.py"), package / "_hashing.py", package / "encoding" / "dyadic.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _cache_directory() -> str:
    """A writable directory that survives the process, if the machine has one."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    wanted = Path(base) / "matchwood" / "numba" / _digest_of_kernels()
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
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = _cache_directory()

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]
