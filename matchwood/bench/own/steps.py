"""Seconds by step: functions are timed while a block runs, each without the steps that it calls."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

Place = tuple[Any, str]
"""A module or class, and the name of a function in it."""


class StepClock:
    """`seconds` by step; what belongs to no step is not counted."""

    def __init__(self, places: Mapping[str, list[Place]]) -> None:
        self.seconds = dict.fromkeys(places, 0.0)
        self._places = places
        self._inner: list[float] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Time the functions of all steps within the block."""
        before = [(owner, name, getattr(owner, name)) for places in self._places.values() for owner, name in places]
        try:
            for step, places in self._places.items():
                for owner, name in places:
                    setattr(owner, name, self._timed(step, getattr(owner, name)))
            yield
        finally:
            for owner, name, function in before:
                setattr(owner, name, function)

    def _timed(self, step: str, function: Any) -> Any:
        def timed(*given: Any, **named: Any) -> Any:
            self._inner.append(0.0)
            begin = time.process_time()
            try:
                return function(*given, **named)
            finally:
                taken = time.process_time() - begin
                self.seconds[step] += taken - self._inner.pop()
                if self._inner:
                    self._inner[-1] += taken

        return timed
