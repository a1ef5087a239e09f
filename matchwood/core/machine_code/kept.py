"""Where the machine code of kernels comes from: a wheel that brings it along, the user's cache directory, or Numba.

Numba's own cache notices that a kernel's file has changed, but not that a kernel it calls, a constant it uses, or the
class of a named tuple it is given has, in another file. So each state of a file of kernels and of all that it imports
has a directory of its own, named also after Python and Numba; in it, a file is named after the kernel, the types of its
arguments with the fields of named tuples, and the processor. Whatever cannot be read is compiled.

The default of Numba's cache, next to the source file, is not writable in many deployments (system packages, containers,
Spark executors): code is kept in the user's cache directory, or in a private temporary one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from numba import config, types
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

from matchwood.core.machine_code.libraries import FITS, PartContext
from matchwood.core.machine_code.processors import levels_here, target_of

_PACKAGE = Path(__file__).parent.parent.parent
_IMPORT = re.compile(r"^from matchwood\.([\w.]+) import", re.MULTILINE)
_ANNOTATION = 6
"""The place, in what Numba saves of a kernel, of its source with the type of every variable: a third of all, unread."""

CACHE, PRECOMPILED = "MATCHWOOD_CACHE_DIR", "MATCHWOOD_PRECOMPILED"
"""Environment variables: where code is kept; a directory of precompiled code in place of the package's own, or 0."""


class Loaded(NamedTuple):
    """A kernel that was called with new types: the file that its code came from, None if it has to be compiled.

    `interpreted`  it is not compiled now, but beside: until then Python runs it
    """

    kernel: str
    path: Path | None
    interpreted: bool = False


_listeners: list[Callable[[Loaded], None]] = []


@contextlib.contextmanager
def loading(tell: Callable[[Loaded], None]) -> Iterator[None]:
    """Hear of every kernel that any thread loads or begins to compile meanwhile, in that thread."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)


@contextlib.contextmanager
def compilations() -> Iterator[list[str]]:
    """The names of the kernels that have to be compiled meanwhile."""
    with _heard(lambda found: found.path is None and not found.interpreted) as names:
        yield names


@contextlib.contextmanager
def interpretations() -> Iterator[list[str]]:
    """The names of the kernels that Python runs meanwhile, since they are not compiled yet."""
    with _heard(lambda found: found.interpreted) as names:
        yield names


@contextlib.contextmanager
def _heard(counts: Callable[[Loaded], bool]) -> Iterator[list[str]]:
    names: list[str] = []
    with loading(lambda found: names.append(found.kernel) if counts(found) else None):
        yield names


class KeptCode(NullCache):  # type: ignore[misc]
    """What a dispatcher of Numba asks for the code of one kernel, and gives what it had to compile."""

    _variant = ""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._file = Path(function.__code__.co_filename)

    @property
    def cache_path(self) -> str:
        return cache_directory()

    def load_overload(self, signature: Any, context: Any) -> Any:
        _prepare(context)
        for path in self._places(signature, target_of(context.codegen())):
            found = _read(path, functools.partial(self._rebuilt, context))
            if found is not None:
                tell(Loaded(self.name, path))
                return found
        tell(Loaded(self.name, None))
        return None

    def _rebuilt(self, context: Any, state: Any) -> Any:
        return CompileResult._rebuild(context, *state)

    def is_kept(self, signature: Any, context: Any) -> bool:
        """Whether there is code for these types."""
        return any(path.exists() for path in self._places(signature, target_of(context.codegen())))

    def save_overload(self, signature: Any, made: Any) -> None:
        directory = directory_of(self._file)
        if directory is None or made.library.has_dynamic_globals or any(not each.can_cache for each in made.lifted):
            return
        state = list(made._reduce())
        state[_ANNOTATION] = ""
        path = Path(cache_directory(), directory, self._file_name(signature, target_of(made.codegen)))
        # A full disk, or one that cannot be written, is no reason to fail: another process compiles again.
        with contextlib.suppress(OSError):
            _write(path, serialize.dumps(tuple(state)))

    def _places(self, signature: Any, target: str) -> Iterator[Path]:
        directory = directory_of(self._file)
        if directory is None:
            return
        precompiled = _precompiled()
        if precompiled is not None:
            yield from (precompiled / directory / self._file_name(signature, level) for level in levels_here())
        for known in dict.fromkeys((target, *levels_here())):
            yield Path(cache_directory(), directory, self._file_name(signature, known))

    def _file_name(self, signature: Any, target: str) -> str:
        key = f"{self.name} {self._variant} {described(types.Tuple(signature))} {target}"
        return f"{self.name.rpartition('.')[2]}-{_digest([key.encode()])}.nbc"


@functools.cache
def _prepare(context: Any) -> None:
    """Have Numba ready for code that it did not compile; once, since it looks through all its modules each time."""
    context.refresh()


class KeptPart(KeptCode):
    """The same for what only other kernels call, which is kept as LLVM knows it (`libraries.py`)."""

    _variant = "within"

    def _rebuilt(self, context: Any, state: Any) -> Any:
        if not FITS:
            return super()._rebuilt(context, state)
        return CompileResult._rebuild(PartContext(context), *state)._replace(target_context=context)


def tell(found: Loaded) -> None:
    """Let all who listen know."""
    for tell in tuple(_listeners):
        tell(found)


def described(kind: Any) -> str:
    """A type in words: a named tuple by its class and its fields, which Numba's own words leave out."""
    if not isinstance(kind, types.BaseTuple):
        return str(kind)
    parts = ", ".join(map(described, kind))
    named = getattr(kind, "instance_class", None)
    return f"({parts})" if named is None else f"{named.__module__}.{named.__qualname__}{named._fields}({parts})"


def _read(path: Path, rebuilt: Callable[[Any], Any]) -> Any:
    # Numba's own cache does the same, and has no other form. What lies here is machine code, which is trusted like the
    # package itself: it comes from the package, or from a directory of the user's own. Saved indexes hold no pickle.
    try:
        return rebuilt(pickle.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except Exception:
        # Half a file, or what another state of the classes wrote: compiling makes it good, and writes it anew.
        return None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


# ------------------------------------------------------------------- what code depends on


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
def directory_of(path: Path) -> str | None:
    """The directory of one file's kernels; None if nobody can read the file, as in an archive."""
    try:
        return f"{path.stem}-{_digest([_environment(), *map(_source, sources_of(path))])}"
    except OSError:
        return None


def _environment() -> bytes:
    """What the same source becomes other code by, whatever the processor."""
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')} {sys.platform} {sys.maxsize}"
    flags = f"{config.OPT} {config.BOUNDSCHECK} {config.DEBUGINFO_DEFAULT}"
    return f"{python} {numba.__version__} {llvmlite.__version__} {flags}".encode()


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


# ------------------------------------------------------------------------------- places


def _precompiled() -> Path | None:
    given = os.environ.get(PRECOMPILED)
    if given:
        return None if given == "0" else Path(given)
    return _PACKAGE / "precompiled"


@functools.cache
def cache_directory() -> str:
    """Where code is kept: the directory that is given, or one that survives the process, if the machine has one."""
    given = os.environ.get(CACHE) or os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return given
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
