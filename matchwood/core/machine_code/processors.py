"""The levels of processors for which a wheel carries machine code, and which of them this machine has.

A level is a processor as LLVM names it, without any other feature: what is compiled for it runs wherever its features
are there (https://gitlab.com/x86-psABIs/x86-64-ABI).
"""

from __future__ import annotations

import functools
import hashlib
import platform
from typing import Any

import llvmlite.binding
from numba import config

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")

LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"x86-64-v3": _V3, "x86-64-v2": _V2},
    "aarch64": {"generic": ()},
}
"""By architecture: the features that a level needs, the best level first."""

_SAME = {"amd64": "x86_64", "arm64": "aarch64"}


def levels() -> dict[str, tuple[str, ...]]:
    """The levels of this machine's architecture, whether it has them or not; none where nobody thought of it."""
    machine = platform.machine().lower()
    return LEVELS.get(_SAME.get(machine, machine), {})


@functools.cache
def levels_here() -> tuple[str, ...]:
    """The levels whose code this processor runs, the best first; none if Numba was told what to compile for."""
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return ()
    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:
        return ()
    return tuple(level for level, needed in levels().items() if all(_has(features, each) for each in needed))


def _has(features: Any, name: str) -> bool:
    return bool(features.get(name)) and (bool(config.ENABLE_AVX) or not name.startswith("avx"))


def target_of(codegen: Any) -> str:
    """What Numba compiles for in this process: a level by its name, any other processor by a digest."""
    triple, processor, features = codegen.magic_tuple()
    if processor in levels() and not features:
        return str(processor)
    return hashlib.blake2b(f"{triple} {processor} {features}".encode(), digest_size=6).hexdigest()
