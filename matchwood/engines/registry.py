"""Engines by their public names."""

from __future__ import annotations

from matchwood.engines.base import Engine
from matchwood.engines.counting import Counting
from matchwood.engines.pstbloom import PSTBloom
from matchwood.engines.psthash import PSTHash
from matchwood.engines.scan import Scan
from matchwood.errors import InvalidArgument

_ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (Counting, PSTBloom, PSTHash, Scan)}


def engine_names() -> list[str]:
    """The names of all engines over conjunctions, sorted."""
    return sorted(_ENGINES)


def engine_class(name: str) -> type[Engine]:
    """The engine of a public name.

    >>> engine_class("scan").__name__
    'Scan'
    """
    found = _ENGINES.get(name)
    if found is None:
        available = ", ".join(sorted([*_ENGINES, "auto", "oracle"]))
        raise InvalidArgument(f"there is no engine {name!r} (available: {available})")
    return found
