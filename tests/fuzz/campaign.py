"""Many worlds on many configurations: each world is judged once, and every configuration is held against that.

A case is one rule judged on one event by one configuration, or one `top`, `find` or `lint`, on one.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.options import ENGINES, configurations, pairs
from tests.fuzz.program import Program, program_of
from tests.fuzz.running import Failure, Setup, learn_finds, run
from tests.fuzz.worlds import world


@functools.lru_cache(maxsize=64)
def judged_program(seed: int | str, number: int) -> Program:
    """The program of a world with all answers."""
    program = program_of(world(seed, number))
    learn_finds(program)
    return program


@dataclass
class Campaign:
    """What has been run so far: cases by engine, what options were covered, and what failed."""

    seed: int | str
    engines: Iterable[str] = tuple(ENGINES)
    each: int = 1
    """Configurations of each engine that a world is run on."""
    cases: Counter[str] = field(default_factory=Counter)
    covered: dict[str, set[Any]] = field(default_factory=dict)
    failures: list[tuple[int, Failure]] = field(default_factory=list)
    told: Callable[[int, Failure], None] = lambda case, failure: None

    def __post_init__(self) -> None:
        self._streams: dict[str, Iterator[Mapping[str, Any]]] = {
            engine: configurations(engine, self.seed) for engine in self.engines
        }
        self._passed = 0

    def run(self, cases: int, first: int = 0, most_failures: int = 10) -> None:
        """Worlds from the number `first` on, until so many cases are judged or so many failures are found."""

        def goes_on(number: int) -> bool:
            return self.cases.total() < cases and len(self.failures) < most_failures

        self.run_worlds(itertools.takewhile(goes_on, itertools.count(first)))

    def run_worlds(self, numbers: Iterable[int]) -> None:
        """Some worlds, in order, each on its configurations of all engines."""
        for number in numbers:
            program = judged_program(self.seed, number)
            for engine, options in self._configurations(number):
                self._judge(number, program, Setup(engine, options))

    def _configurations(self, number: int) -> list[tuple[str, Mapping[str, Any]]]:
        """Those of a world depend on its number alone, wherever a campaign begins."""
        before, self._passed = self.each * (number - self._passed), number + 1
        found = []
        for engine, stream in self._streams.items():
            drawn = [*itertools.islice(stream, before, before + self.each)]
            found += [(engine, options) for options in (drawn[:1] if engine == "oracle" else drawn)]
        return found

    def _judge(self, number: int, program: Program, setup: Setup) -> None:
        self.cases[setup.engine] += sum(line.cases for line in program.lines if line.kind != "oracle")
        self.covered.setdefault(setup.engine, set()).update(pairs(setup.options))
        failure = run(program, setup)
        if failure is None:
            return
        self.failures.append((number, failure))
        self.told(number, failure)
