"""BEGen, the generator of the BE-Tree paper (TODS 2013, 8.2.1, Tables II to IV).

Base expressions are sets of equalities. A rule is derived from one of them: it keeps each equality with some
probability, and widens most of those that it keeps, so that it is TRUE wherever its base is. With 1/p bases of equal
share, an event that fulfils one base matches the share p of all rules.

The paper's events are the base expressions, of which there are a hundred at p = 1%. We want as many different events as
are asked for: an event is a base and two more pairs, *noise*, on attributes that the base does not have. More pairs
never make a conjunction less TRUE, so the event still matches all that was derived from its base. Noise counts towards
the event's size.

Rules of other bases match by accident, nearly all of them rules of one to four predicates. A pilot workload measures
how often, and the share of each base is set so that both together give p. Where accidents would make up more than a
fifth of p (small p, Zipf), the sizes of rules are drawn from a narrower window around their mean.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.bases import Bases, derive, draw_bases, noisy_events
from matchwood.workloads.begen_settings import EXPRESSIVENESS, BegenSettings, checked
from matchwood.workloads.shared.base import EQUAL, NO_EVENTS, Events, Rules, Workload, joined_rules
from matchwood.workloads.shared.blocks import Block, blocks_of, pilot_block
from matchwood.workloads.shared.brute import dense_event, matched
from matchwood.workloads.widen import widened

_PILOT_PREDICATES, _PILOT_EVENTS = 140_000, 150
_GOOD, _TOLERABLE = 0.2, 0.7
_BARREN = 100


def begen(**settings: Any) -> Workload:
    """A workload with the given `BegenSettings`, the others as in the paper.

    >>> work = begen(rules=1_000, events=5, seed=1)
    >>> work.rules.count, work.events.count, len(work.rules_text())
    (1000, 5, 1000)
    """
    chosen = checked(BegenSettings(**settings))
    plan = _planned(chosen)
    rules = joined_rules([_rules(chosen, plan, block)[0] for block in blocks_of(chosen.rules)])
    parameters = {**asdict(chosen), "equality": chosen.equality_share, "size_spread": plan.spread}
    return Workload("begen", chosen.dimensions, rules, _events(chosen, plan)[0], parameters)


def begen_block(settings: BegenSettings, block: Block) -> Workload:
    """The rules of one block."""
    rules, _ = _rules(settings, _planned(settings), block)
    return Workload("begen", settings.dimensions, rules, NO_EVENTS)


class _BegenPlan(NamedTuple):
    """What all rules and events follow: bases, of which the first `with_rules` have rules, `family` of them each but
    for the last one; the share of rules that an event matches through its base; how far sizes may be off their mean."""

    bases: Bases
    family: int
    with_rules: int
    planted: float
    spread: int


@lru_cache(maxsize=2)
def _planned(settings: BegenSettings) -> _BegenPlan:
    spread, accidents = _calibrated(settings)
    return _plan(settings, (settings.matching - accidents) / (1 - accidents), spread)


def _calibrated(settings: BegenSettings) -> tuple[int, float]:
    """How far the sizes of rules may lie from their mean, and the probability of accidental matches then."""
    rates = _accidents(settings, settings.base_size) / settings.matching
    if rates[-1] <= _GOOD:
        return settings.base_size, float(rates[-1] * settings.matching)
    spread = int(np.flatnonzero(rates <= max(_GOOD, rates.min()))[-1])
    accidents = float(_accidents(settings, spread)[-1]) if rates.min() <= _TOLERABLE else 1.0
    if accidents >= settings.matching:
        raise InvalidArgument(
            f"matching={settings.matching} is too low: at least {rates.min():.0%} of it would be accidents "
            "(raise it, or ask for more dimensions or larger rules)"
        )
    return spread, accidents


def _accidents(settings: BegenSettings, spread: int) -> NDArray[np.float64]:
    """The probability that a rule matches an event of another base, for rules at most 0, 1, 2, … off the mean size."""
    count = min(settings.rules, int(_PILOT_PREDICATES / settings.rule_size))
    pilot = replace(settings, rules=count, events=_PILOT_EVENTS, seed=settings.seed + 2**40)
    plan = _plan(pilot, settings.matching, spread)
    rules, base_of_rule = _rules(pilot, plan, pilot_block(count))
    events, base_of_event = _events(pilot, plan)
    distance = np.ceil(np.abs(np.diff(rules.offsets) - settings.rule_size)).astype(np.int64)
    found, looked_at = np.zeros((2, settings.event_size + 1))
    for event in range(pilot.events):
        others = base_of_rule != base_of_event[event]
        hit = matched(rules, *dense_event(events, event, pilot.dimensions))
        found += np.bincount(distance[hit & others], minlength=len(found))
        looked_at += np.bincount(distance[others], minlength=len(found))
    with np.errstate(invalid="ignore"):
        rates = np.cumsum(found) / np.cumsum(looked_at)
    return np.where(np.cumsum(looked_at) > 0, rates, 1.0 if len(np.unique(base_of_rule)) > 1 else 0.0)


def _plan(settings: BegenSettings, planted: float, spread: int) -> _BegenPlan:
    """Bases such that an event matches, on average, the share `planted` of the rules through its base."""
    family = math.ceil(planted * settings.rules - 1e-9)
    with_rules = math.ceil(settings.rules / family)
    bases = draw_bases(
        settings.random(0), settings.weights, settings.base_size, with_rules + _BARREN, settings.cardinality
    )
    return _BegenPlan(bases, family, with_rules, planted, spread)


def _events(settings: BegenSettings, plan: _BegenPlan) -> tuple[Events, NDArray[np.int64]]:
    """Events, and the base that each fulfils.

    The last base has fewer rules than the others, so no event fulfils it. When a family cannot be small enough, some
    events fulfil a base that has no rules.
    """
    random = settings.random(3)
    fruitful = random.random(settings.events) < plan.planted * settings.rules / plan.family
    fertile = random.integers(0, settings.rules // plan.family, settings.events)
    barren = random.integers(plan.with_rules, plan.with_rules + _BARREN, settings.events)
    base_of_event = np.where(fruitful, fertile, barren)
    return noisy_events(random, plan.bases, base_of_event, settings.weights, settings.cardinality), base_of_event


def _rules(settings: BegenSettings, plan: _BegenPlan, block: Block) -> tuple[Rules, NDArray[np.int64]]:
    """The rules of a block, and the base of each: every block has its share of every family."""
    base_of_rule = block.dealt(settings.rules) // plan.family
    block.random(settings.seed, 1).shuffle(base_of_rule)
    random = block.random(settings.seed, 2)
    offsets, attributes, values = derive(random, plan.bases, base_of_rule, settings.rule_size, plan.spread)
    operators = np.full(len(values), EQUAL, dtype=np.int8)
    changed = random.random(len(values)) >= settings.equality_share
    others = np.array(EXPRESSIVENESS[settings.expressiveness], dtype=np.int8)
    operators[changed] = random.choice(others, int(changed.sum())) if changed.any() else EQUAL
    cardinality = np.full(len(values), settings.cardinality, dtype=np.int64)
    constants = widened(random, operators, values, cardinality, settings.range_width)
    return Rules(offsets, attributes, operators, *constants), base_of_rule
