"""Making a failure small: steps, rules, events, options and parts of trees are taken away as long as it stays."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.fuzz.program import program_of
from tests.fuzz.running import Failure, Setup, learn_finds, run
from tests.fuzz.trees import smaller
from tests.fuzz.worlds import Delete, Event, Find, Match, Put, Rule, Step, Top, Upkeep, World


def shrunk(failure: Failure, seconds: float = 60.0) -> Failure:
    """The smallest failure of the same kind that greedy steps lead to within some time."""
    ends = time.monotonic() + seconds
    changed = True
    while changed:
        changed = False
        for setup, world in _less(failure):
            if time.monotonic() > ends:
                return failure
            found = _again(world, setup, failure.kind)
            if found is not None:
                failure, changed = found, True
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


def _less(failure: Failure) -> Iterator[tuple[Setup, World]]:
    """Setups and worlds with less in them; what takes most away comes first."""
    setup, world = failure.setup, failure.program.world
    for steps in _fewer_steps(world.steps):
        yield setup, replace(world, steps=sound(steps))
    for option in setup.options:
        less = {name: value for name, value in setup.options.items() if name != option}
        yield replace(setup, options=less), world
    if world.schema:
        yield setup, replace(world, schema=None)
    if world.timezone != "UTC":
        yield setup, replace(world, timezone="UTC")
    if world.dnf_limit != 256:
        yield setup, replace(world, dnf_limit=256)
    for place, step in enumerate(world.steps):
        for less in _smaller_steps(step):
            yield setup, replace(world, steps=sound([*world.steps[:place], less, *world.steps[place + 1 :]]))


def _fewer_steps(steps: list[Step]) -> Iterator[list[Step]]:
    width = len(steps) // 2
    while width >= 1:
        for start in range(0, len(steps), width):
            yield steps[:start] + steps[start + width :]
        width //= 2


def sound(steps: list[Step]) -> list[Step]:
    """The steps without deletions of rules that are not there, and event weights of names that no rule has."""
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


def _smaller_steps(step: Step) -> Iterator[Step]:
    if isinstance(step, Put):
        yield from (Put(rules, step.how if len(rules) > 0 else "many") for rules in _parts(step.rules))
        for place, rule in enumerate(step.rules):
            for less in _smaller_rules(rule):
                yield Put([*step.rules[:place], less, *step.rules[place + 1 :]], step.how)
    elif isinstance(step, Match):
        yield from (Match(events, step.how) for events in _parts(step.events))
        yield from (Match(events, step.how) for events in _each(step.events, _smaller_events))
        if step.how != "one":
            yield Match(step.events, "one")
    elif isinstance(step, Top):
        yield from _smaller_tops(step)
    elif isinstance(step, Find):
        yield from (Find(query, step.semantics, step.style) for query in smaller(step.query))


def _smaller_tops(step: Top) -> Iterator[Step]:
    for place in range(len(step.events) if len(step.events) > 1 else 0):
        own = step.weights if len(step.weights) == 1 < len(step.events) else _without(step.weights, place)
        yield Top(_without(step.events, place), step.n, own, step.how)
    yield from (Top(events, step.n, step.weights, step.how) for events in _each(step.events, _smaller_events))
    for place, own in enumerate(step.weights):
        for name in own:
            less = {each: weight for each, weight in own.items() if each != name}
            yield Top(step.events, step.n, [*step.weights[:place], less, *step.weights[place + 1 :]], step.how)


def _without(items: list[Any], place: int) -> list[Any]:
    return items[:place] + items[place + 1 :]


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    width = len(items) // 2
    while width >= 1:
        for start in range(0, len(items), width):
            if len(items) > width:
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
        yield replace(rule, weights={each: weight for each, weight in rule.weights.items() if each != name})


def _smaller_events(event: Event) -> Iterator[Event]:
    """Without one of its keys."""
    for name in event.holds:
        given = copy.deepcopy(event.given)
        outer = name.strip("`") if name.startswith("`") or name in given else name.split(".")[0]
        given.pop(outer, None)
        yield Event({each: value for each, value in event.holds.items() if each != name}, given)
