"""Display ads as the A-Tree paper has them (SIGMOD 2021, 6.2): arbitrary expressions that share what they are made of.

Like `ads`, a reconstruction from what the paper prints: 1,392,196 expressions of 1 to 56 predicates and a depth of 1 to
9, 122 dimensions, about 20 pairs an event; predicates and subexpressions are shared as Zipf says, those of the highest
level, which are whole rules, 2.88 times on average. Rules have 8 predicates on average, and `describe()` reports the
sharing of each level as it came out (the paper's 68.76 at level 1 would need 48 predicates a rule).

Each level has a pool of expressions, and rules pick from it by rank; predicates come from the pool of `ads`. One
factor, by which lists and ranges widen, is set so that the share `matching` of the rules is true of an event:
rules and events of a pilot are evaluated, with a random number for each predicate and event that decides if it holds.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.ads import FACTORS, AdsSettings, checked, choose, pool_of
from matchwood.workloads.ads_shapes import ALPHA, RuleShapes, draw_shapes
from matchwood.workloads.shared.arbitrary import arbitrary_workload, joined_trees, zipf_ranks
from matchwood.workloads.shared.base import NO_EVENTS, Rules, Workload
from matchwood.workloads.shared.blocks import Block, blocks_of, pilot_block
from matchwood.workloads.shared.draws import offsets_of
from matchwood.workloads.shared.pool import Pool, coverage, pool_constants
from matchwood.workloads.shared.sessions import distinct_events, session_attributes
from matchwood.workloads.shared.trees import FALSE, TRUE, UNKNOWN, Trees, restricted, truth

_PILOT_RULES, _PILOT_EVENTS = 20_000, 128
_ROUNDS = 16

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class AdsTreeSettings(AdsSettings):
    """`repeats` is how many rules are the same expression, on average."""

    rules: int = 1_392_196
    repeats: float = 2.88


def ads_arbitrary(**settings: Any) -> Workload:
    """A workload with the given `AdsTreeSettings`.

    >>> work = ads_arbitrary(rules=3_000, events=5, seed=1)
    >>> work.rules.count, work.events.count, work.dimensions
    (3000, 5, 122)
    """
    chosen = checked_trees(AdsTreeSettings(**settings))
    pool, factor = _planned(chosen)
    trees = joined_trees([_whole(chosen, block) for block in blocks_of(chosen.rules)])
    events = distinct_events(chosen.random(3), chosen.weights, chosen.event_size, chosen.events, pool.cardinality)
    return arbitrary_workload("ads", chosen.dimensions, trees, events, {**asdict(chosen), "factor": factor})


def ads_arbitrary_block(settings: AdsTreeSettings, block: Block) -> Workload:
    """The rules of one block, which share what they are made of with each other, and predicates with all."""
    return arbitrary_workload("ads", settings.dimensions, _whole(settings, block), NO_EVENTS, {})


def checked_trees(settings: AdsTreeSettings) -> AdsTreeSettings:
    if not settings.repeats >= 1:
        raise InvalidArgument("repeats must be at least 1")
    return checked(settings)


@lru_cache(maxsize=2)
def _planned(settings: AdsTreeSettings) -> tuple[Pool, float]:
    """What all rules share: the pool, and the factor by which its predicates widen."""
    pool = pool_of(settings)
    return pool, _factor(settings, pool, *_trees(settings, pool, pilot_block(settings.rules)))


def _whole(settings: AdsTreeSettings, block: Block) -> Trees:
    pool, factor = _planned(settings)
    trees, members = _trees(settings, pool, block)
    return replace(trees, predicates=_predicates(pool, members, factor))


def _trees(settings: AdsTreeSettings, pool: Pool, block: Block) -> tuple[Trees, Integers]:
    """Trees whose predicates are still without constants, and the member of the pool that each predicate is."""
    random = block.random(settings.seed, 1)
    count = max(1, round(block.count / settings.repeats))
    shapes = draw_shapes(random, count, settings.rule_size)
    alone = np.flatnonzero(shapes.root < 0)
    choice = choose(random, settings.weights, pool, np.concatenate((shapes.direct, np.ones(len(alone), np.int64))))
    predicates, numbers = len(pool.operators), len(pool.operators) + shapes.root
    numbers[alone] = choice.members[choice.offsets[-1] - len(alone) :]
    offsets, children = _children(shapes, choice.offsets, choice.members, predicates)
    repeated = zipf_ranks(random, block.count - count, count, ALPHA)
    rule_of = np.concatenate((np.arange(count), repeated))
    random.shuffle(rule_of)
    levels = np.concatenate(([0], predicates + shapes.levels))
    return restricted(
        Trees(_blank(pool), shapes.junctions, offsets, children, levels, numbers[rule_of]), numbers[rule_of]
    )


def _children(shapes: RuleShapes, starts: Integers, members: Integers, predicates: int) -> tuple[Integers, Integers]:
    """Of each inner node its predicates, then the node below it."""
    lengths = shapes.direct + (shapes.below >= 0)
    offsets = offsets_of(lengths)
    children = np.empty(offsets[-1], dtype=np.int64)
    steps = np.arange(starts[len(lengths)]) - np.repeat(starts[: len(lengths)], shapes.direct)
    children[np.repeat(offsets[:-1], shapes.direct) + steps] = members[: starts[len(lengths)]]
    inner = shapes.below >= 0
    children[offsets[1:][inner] - 1] = predicates + shapes.below[inner]
    return offsets, children


def _blank(pool: Pool) -> Rules:
    none = np.zeros(0, dtype=np.int64)
    return Rules(none, pool.attributes, pool.operators, none, none)


def _predicates(pool: Pool, members: Integers, factor: float) -> Rules:
    offsets, constants = pool_constants(pool, members, factor)
    return Rules(np.arange(len(members) + 1), pool.attributes[members], pool.operators[members], offsets, constants)


def _factor(settings: AdsTreeSettings, pool: Pool, trees: Trees, members: Integers) -> float:
    """The factor at which as many rules of a pilot are true as wanted."""
    random = settings.random(2)
    small, left = restricted(trees, trees.roots[:_PILOT_RULES])
    members = members[left]
    present = _presence(settings, random)[pool.attributes[members]]
    dice = random.random(present.shape, dtype=np.float32)

    def found(logarithm: float) -> float:
        holds = dice < coverage(pool, members, math.exp(logarithm))[:, None]
        verdicts = np.where(present, np.where(holds, TRUE, FALSE), UNKNOWN).astype(np.int8)
        return float(np.mean(truth(small, verdicts)[small.roots] == TRUE))

    low, high = FACTORS
    if not 0.9 * found(low) <= settings.matching <= 1.1 * found(high):
        reach = f"{found(low):.2g} to {found(high):.2g}"
        raise InvalidArgument(f"matching={settings.matching} cannot be reached: these settings allow {reach}")
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if found(middle) < settings.matching else (low, middle)
    return math.exp(high)


def _presence(settings: AdsTreeSettings, random: np.random.Generator) -> NDArray[np.bool_]:
    """Which attributes each event of the pilot has."""
    offsets, attributes = session_attributes(random, settings.weights, settings.event_size, _PILOT_EVENTS)
    present = np.zeros((settings.dimensions, _PILOT_EVENTS), dtype=bool)
    for event, (start, stop) in enumerate(pairwise(offsets)):
        present[attributes[start:stop], event] = True
    return present
