"""Making a failure small: steps, rules, events, options and parts of trees are taken away as long as it stays."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from tests.fuzz.program import program_of
from tests.fuzz.running import Failure, Setup, learn_finds, run
from tests.fuzz.trees import smaller
from tests.fuzz.worlds import Delete, Event, Find, Match, Put, Rule, Step, Top, Upkeep, World

Less: TypeAlias = Callable[[Setup, World], Iterator[tuple[Setup, World]]]
"""Setups and worlds with less in them; what takes most away comes first."""


def shrunk(failure: Failure, seconds: float = 30.0) -> Failure:
    """The smallest failure of the same kind that greedy steps lead to within some time of the processor."""
    ends, before = time.process_time() + seconds, None
    while failure is not before:
        before = failure
        for less in _STAGES:
            failure = _fully(failure, less, ends)
    return failure


def _fully(failure: Failure, less: Less, ends: float) -> Failure:
    """Takes away what a stage takes away, until nothing more can go."""
    found: Failure | None = failure
    while found is not None:
        failure = found
        found = None
        for setup, world in less(failure.setup, failure.program.world):
            if time.process_time() > ends:
                return failure
            found = _again(world, setup, failure.kind)
            if found is not None:
                break
    return failure


def _again(world: World, setup: Setup, kind: str) -> Failure | None:
    program = program_of(world)
    try:
        learn_finds(program)
    except Exception:
        return None
    found = run(program, setup)
    return found if found is not None and found.kind == kind else None


def _steps(setup: Setup, world: World) -> Iterator[tuple[Setup, World]]:
    for steps in _parts(world.steps):
        yield setup, replace(world, steps=sound(steps))


def _settings(setup: Setup, world: World) -> Iterator[tuple[Setup, World]]:
    for option in setup.options:
        less = {name: value for name, value in setup.options.items() if name != option}
        yield replace(setup, options=less), world
    if world.schema:
        yield setup, replace(world, schema=None)
    if world.timezone != "UTC":
        yield setup, replace(world, timezone="UTC")
    if world.dnf_limit != 256:
        yield setup, replace(world, dnf_limit=256)


def _each_step(less: Callable[[Step], Iterator[Step]]) -> Less:
    """Every step in turn with less in it."""

    def stage(setup: Setup, world: World) -> Iterator[tuple[Setup, World]]:
        for steps in _each(world.steps, less):
            yield setup, replace(world, steps=sound(steps))

    return stage


def sound(steps: list[Step]) -> list[Step]:
    """The steps without deletions of rules that are not there."""
    live: set[Any] = set()
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, Put):
            live.update(rule.id for rule in step.rules)
        elif isinstance(step, Delete):
            if step.id not in live:
                continue
            live.discard(step.id)
        elif isinstance(step, Upkeep) and step.what == "clear":
            live.clear()
        kept.append(step)
    return kept


def _fewer(step: Step) -> Iterator[Step]:
    """Fewer rules, or fewer events."""
    if isinstance(step, Put):
        yield from (Put(rules, step.how) for rules in _parts(step.rules) if rules)
    elif isinstance(step, Match):
        yield from (Match(events, step.how) for events in _parts(step.events) if events)
        yield from (Match(step.events, "one") for _ in range(step.how != "one"))
    elif isinstance(step, Top):
        own = step.weights if len(step.weights) == len(step.events) else step.weights * len(step.events)
        for pairs in _parts([*zip(step.events, own, strict=True)]):
            if pairs:
                yield Top([event for event, _ in pairs], step.n, [each for _, each in pairs], "one")


def _simpler(step: Step) -> Iterator[Step]:
    """Smaller trees, lighter rules, events that hold less."""
    if isinstance(step, Put):
        yield from (Put(rules, step.how) for rules in _each(step.rules, _smaller_rules))
    elif isinstance(step, Match):
        yield from (Match(events, step.how) for events in _each(step.events, _smaller_events))
    elif isinstance(step, Top):
        yield from (Top(events, step.n, step.weights, step.how) for events in _each(step.events, _smaller_events))
        for weights in _each(step.weights, lambda own: (_lacking(own, name) for name in own)):
            yield Top(step.events, step.n, weights, step.how)
    elif isinstance(step, Find):
        yield from (Find(query, step.semantics, step.style) for query in smaller(step.query))


def _lacking(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: value for each, value in mapping.items() if each != name}


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    """The items without some of them in a row: half of them, a quarter, …, one."""
    width = max(len(items) // 2, 1)
    while width >= 1:
        for start in range(0, len(items), width):
            yield items[:start] + items[start + width :]
        width //= 2


def _each(items: list[Any], less: Callable[[Any], Iterator[Any]]) -> Iterator[list[Any]]:
    for place, item in enumerate(items):
        for smaller_one in less(item):
            yield [*items[:place], smaller_one, *items[place + 1 :]]


def _smaller_rules(rule: Rule) -> Iterator[Rule]:
    yield from (replace(rule, tree=tree) for tree in smaller(rule.tree))
    if rule.style:
        yield replace(rule, style=0)
    if rule.weight:
        yield replace(rule, weight=0.0)
    for name in rule.weights:
        yield replace(rule, weights=_lacking(rule.weights, name))


def _smaller_events(event: Event) -> Iterator[Event]:
    """Without one of its keys."""
    for name in event.holds:
        given = copy.deepcopy(event.given)
        outer = name.strip("`") if name.startswith("`") or name in given else name.split(".")[0]
        given.pop(outer, None)
        yield Event(_lacking(event.holds, name), given)


_STAGES: list[Less] = [_steps, _each_step(_fewer), _settings, _each_step(_simpler)]
