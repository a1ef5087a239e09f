"""Engines by their public names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matchwood.engines.atree.engine import ATree
from matchwood.engines.base import Structure
from matchwood.engines.betree.engine import BETree
from matchwood.engines.counting import Counting
from matchwood.engines.hem.engine import HEM
from matchwood.engines.kindex.engine import KIndex
from matchwood.engines.pst.pstbloom import PSTBloom
from matchwood.engines.pst.psthash import PSTHash
from matchwood.engines.scan import Scan
from matchwood.errors import InvalidArgument

_ENGINES: dict[str, type[Structure]] = {
    engine.name: engine for engine in (ATree, BETree, Counting, HEM, KIndex, PSTBloom, PSTHash, Scan)
}


FIRST_ENGINE = PSTBloom.name
"""What an index begins with that may have any: a quarter of counting's time where few rules match, and never much more
(`bench core`)."""

LEAST_ENGINE = Scan.name
"""Lays nothing out: for whoever needs conjunctions in a store, and seldom matches."""


def engine_choices() -> list[str]:
    """What an index may be asked for: the engines, and `auto` and `oracle`, which are none."""
    return ["auto", *engine_names(), "oracle"]


def engine_names(unit_kind: str | None = None) -> list[str]:
    """The names of all engines, or of those whose units are `conjunctions` or `forms`, sorted."""
    return sorted(name for name, engine in _ENGINES.items() if unit_kind in (None, engine.unit_kind))


def published_spaces(name: str) -> str | None:
    """The predicate spaces that an engine's paper asks for; `auto` may choose any engine, and has what one asks for."""
    wanted = {engine.published_spaces for own, engine in _ENGINES.items() if name in (own, "auto")}
    return next(iter(wanted - {None}), None)


def engine_class(name: str) -> Any:
    """The engine of a public name; by its `unit_kind` it is made over a store, or is its own.

    >>> engine_class("scan").__name__, engine_class("scan").unit_kind, engine_class("atree").unit_kind
    ('Scan', 'conjunctions', 'forms')
    """
    found = _ENGINES.get(name)
    if found is None:
        available = ", ".join(sorted(engine_choices()))
        raise InvalidArgument(f"there is no engine {name!r} (available: {available})")
    return found


@contextmanager
def registered(engine: type[Structure]) -> Iterator[None]:
    """Let an engine be known by its name for a while."""
    if engine.name in engine_choices():
        raise InvalidArgument(f"the name {engine.name!r} is taken: give the engine another")
    _ENGINES[engine.name] = engine
    try:
        yield
    finally:
        del _ENGINES[engine.name]
