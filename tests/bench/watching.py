"""Which events engines and rivals are given while an experiment runs, and which of them are measured."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import matchwood.bench
from matchwood.bench.frame import measure
from matchwood.bench.rivals.base import RivalMatcher
from matchwood.bench.rivals.vldb import ClauseScan, Propagation
from matchwood.encoding.codes import EncodedEvents
from matchwood.engines import Structure, engine_class, engine_names

MEASURING = ("core", "access", "bandwidth", "betree", "hem", "kindex", "auto", "atree", "pstree")
"""Experiments whose engines are measured event by event."""

COARSE = ("access", "atree", "auto", "betree")
"""Experiments with events that differ only where no rule does."""


class Watch:
    """Which events each structure has met; those of a measurement must be new to it.

    An event is known by its codes; with `by_place`, where many have the same codes, by where its offset lies in memory.
    """

    def __init__(self, by_place: bool) -> None:
        self.measuring, self.by_place = False, by_place
        self.measured = self.depth = 0
        self.repeated = 0
        self._met: dict[int, tuple[Any, set[Any]]] = {}
        self._kept: list[Any] = []

    def keys(self, events: EncodedEvents, first: int, stop: int) -> list[Any]:
        if not self.by_place:
            return [tuple(event) for event in keys_of(events, first, stop)]
        self._kept.append(events.offsets)  # so that no other lies there
        return [events.offsets[event:].ctypes.data for event in range(first, stop)]

    def meet(self, structure: Any, keys: Any) -> None:
        _, met = self._met.setdefault(id(structure), (structure, set()))  # kept, so that no other has its number
        for key in keys:
            self.repeated += self.measuring and key in met
            self.measured += self.measuring
            met.add(key)

    def forget(self) -> None:
        """The experiment is over: what was counted is kept, structures and events are not."""
        self._met.clear()
        self._kept.clear()


def _subclasses(kind: type) -> Iterator[type]:
    for own in kind.__subclasses__():
        yield own
        yield from _subclasses(own)


def watched(monkeypatch: pytest.MonkeyPatch, by_place: bool) -> Watch:
    """From now on every engine and rival tells what it is given, and `measure_rounds` when it measures."""
    watching = Watch(by_place)
    for engine in engine_names():
        engine_class(engine)  # loads it: engines are found among the classes that there are
    for found in pkgutil.walk_packages(matchwood.bench.__path__, "matchwood.bench."):
        module = importlib.import_module(found.name)
        if hasattr(module, "measure_rounds"):
            monkeypatch.setattr(module, "measure_rounds", _measuring(watching, measure.measure_rounds))
    for kind in (*_subclasses(Structure), Propagation, ClauseScan):
        for name in ("match", "top"):
            if name in vars(kind) and not getattr(vars(kind)[name], "__isabstractmethod__", False):
                monkeypatch.setattr(kind, name, _telling(watching, vars(kind)[name]))
    for kind in _subclasses(RivalMatcher):
        monkeypatch.setattr(kind, "match", _telling_values(watching, vars(kind)["match"]))
    return watching


def _measuring(watching: Watch, original: Any) -> Any:
    def measure_rounds(*arguments: Any, **named: Any) -> Any:
        before, watching.measuring = watching.measuring, True
        try:
            return original(*arguments, **named)
        finally:
            watching.measuring = before

    return measure_rounds


def _telling(watching: Watch, original: Any) -> Any:
    def match(self: Any, events: EncodedEvents, first: int, *others: Any) -> Any:
        watching.depth += 1
        found = original(self, events, first, *others)
        watching.depth -= 1
        if watching.depth == 0:  # what ranks may match, and a fall-back has parts
            watching.meet(self, watching.keys(events, first, first + found.count))
        return found

    return match


def _telling_values(watching: Watch, original: Any) -> Any:
    def match(self: Any, values: Any, output: Any) -> Any:
        watching.meet(self, [tuple(values.tolist())])
        return original(self, values, output)

    return match


def keys_of(events: EncodedEvents, first: int, stop: int) -> Iterator[list[int]]:
    for event in range(first, stop):
        pairs = slice(int(events.offsets[event]), int(events.offsets[event + 1]))
        yield [*events.attributes[pairs].tolist(), *events.labels[pairs].tolist()]
