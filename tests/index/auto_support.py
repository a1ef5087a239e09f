"""Indexes of the engine `auto` that are made to change their minds."""

from __future__ import annotations

import random
from typing import Any

import pytest

import matchwood as mw
from matchwood.choosing import auto, choice, trials
from matchwood.choosing.auto import AutoMatcher
from matchwood.choosing.choice import EngineChoice, Plan
from matchwood.engines import chosen_names

CHOOSABLE = chosen_names()


def matcher_of(index: mw.Index) -> AutoMatcher:
    assert isinstance(index._matcher, AutoMatcher)
    return index._matcher


def choice_of(index: mw.Index) -> dict[str, Any]:
    found: dict[str, Any] = index.stats()["choice"]
    return found


def finish(index: mw.Index) -> None:
    """Wait for a trial that is under way."""
    with matcher_of(index).trying:
        pass


def rule(rng: random.Random) -> str:
    low = rng.randrange(90)
    parts = [f"a{rng.randrange(6)} = {rng.randrange(8)}", f"b{rng.randrange(3)} between {low} and {low + 20}"]
    if rng.random() < 0.2:
        parts.append(f"(c is null or c {rng.choice(('<', '>=', '!='))} {rng.randrange(50)})")
    if rng.random() < 0.1:
        return f"name like '%{rng.randrange(5)}' or ({' and '.join(parts)})"
    return " and ".join(parts)


def event(rng: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {f"a{number}": rng.randrange(8) for number in range(6)}
    found |= {f"b{number}": rng.randrange(110) for number in range(3)} | {"name": f"n{rng.randrange(9)}"}
    return found if rng.random() < 0.3 else {**found, "c": rng.randrange(60)}


def events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    return [event(rng) for _ in range(count)]


def hits(index: mw.Index, asked: list[dict[str, Any]]) -> list[list[Any]]:
    found = index.match_many(asked)
    return [found["event"].to_pylist(), found["rule"].to_pylist()]


def obey(monkeypatch: pytest.MonkeyPatch, wanted: list[str]) -> None:
    """Every trial tries the first of the wanted engines and takes it, however long it takes; the list then turns.

    Rules alone change nothing, and nothing is rehearsed: tests put changes and failures into trials.
    """

    def plan(self: EngineChoice, features: Any, again: bool) -> Plan:
        self.predict(features)
        name = next(name for name in wanted if name != self.engine)
        wanted.append(wanted.pop(wanted.index(name)))
        return Plan((name,), 0.0, 0.5)

    def keep(self: EngineChoice, features: Any) -> str:
        self.predict(features)
        return self.engine

    monkeypatch.setattr(EngineChoice, "plan", plan)
    monkeypatch.setattr(EngineChoice, "best_by_rules", keep)
    monkeypatch.setattr(trials, "once", lambda *_: None)
    monkeypatch.setattr(choice, "BETTER", float("inf"))
    monkeypatch.setattr(auto, "LEAST_UNITS", 1)


def change_mind(index: mw.Index) -> str:
    """Run a trial here and now; returns the engine that is at work afterwards."""
    trials.run_trial(index, matcher_of(index))
    return index.engine
