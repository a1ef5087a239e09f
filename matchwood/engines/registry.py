"""Engines by their public names."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from matchwood.engines.base import Structure
from matchwood.errors import InvalidArgument


class Place(NamedTuple):
    """Where an engine is, and what is asked of all engines: most processes use two or three, and load no others."""

    module: str
    name: str
    unit_kind: str = "conjunctions"
    published_spaces: str | None = None


_PLACES = {
    "atree": Place("atree.engine", "ATree", unit_kind="forms"),
    "betree": Place("betree.engine", "BETree"),
    "counting": Place("counting", "Counting"),
    "hem": Place("hem.engine", "HEM"),
    "kindex": Place("kindex.engine", "KIndex"),
    "pstbloom": Place("pst.pstbloom", "PSTBloom", published_spaces="pstree"),
    "psthash": Place("pst.psthash", "PSTHash", published_spaces="pstree"),
    "scan": Place("scan", "Scan"),
}

_ENGINES: dict[str, type[Structure]] = {}
"""Those that are loaded, and those that others have registered."""

FIRST_ENGINE = "pstbloom"
"""What an index begins with that may have any: a quarter of counting's time where few rules match, and never much more
(`bench core`)."""

GROUPED = "grouped"
"""Two of the engines, each over the rules that it is best at. Only events tell how to divide rules: nobody asks for it,
`auto` takes it."""

LEAST_ENGINE = "scan"
"""Lays nothing out: for whoever needs conjunctions in a store, and seldom matches."""


def engine_choices() -> list[str]:
    """What an index may be asked for: the engines, and `auto` and `oracle`, which are none."""
    return ["auto", *engine_names(), "oracle"]


def engine_names(unit_kind: str | None = None) -> list[str]:
    """The names of all engines, or of those whose units are `conjunctions` or `forms`, sorted."""
    return sorted(name for name, engine in _known().items() if unit_kind in (None, engine.unit_kind))


def _known() -> dict[str, Place | type[Structure]]:
    return {**_PLACES, **_ENGINES}


def published_spaces(name: str) -> str | None:
    """The predicate spaces that an engine's paper asks for; `auto` may choose any engine, and has what one asks for."""
    wanted = {engine.published_spaces for own, engine in _known().items() if name in (own, "auto")}
    return next(iter(wanted - {None}), None)


def engine_class(name: str) -> Any:
    """The engine of a public name; by its `unit_kind` it is made over a store, or is its own.

    >>> engine_class("scan").__name__, engine_class("scan").unit_kind, engine_class("atree").unit_kind
    ('Scan', 'conjunctions', 'forms')
    """
    if name not in _ENGINES:
        place = _PLACES.get(name)
        if place is None:
            available = ", ".join(sorted(engine_choices()))
            raise InvalidArgument(f"there is no engine {name!r} (available: {available})")
        _ENGINES[name] = getattr(importlib.import_module(f"matchwood.engines.{place.module}"), place.name)
    return _ENGINES[name]


def chosen_names() -> list[str]:
    """The engines that `auto` chooses among: those over conjunctions, and `grouped`."""
    return [*engine_names("conjunctions"), GROUPED]


def chosen_class(name: str) -> Any:
    """The same for what `auto` chose, which may be `grouped` as well.

    >>> chosen_class("scan").__name__, chosen_class("grouped").__name__
    ('Scan', 'Grouped')
    """
    if name != GROUPED:
        return engine_class(name)
    return importlib.import_module("matchwood.engines.grouped.engine").Grouped


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
