"""Display ads: few dimensions, large sessions, predicates that many rules share.

The two papers that measure it (A-Tree, PS-Tree) do not publish the data, and their figures do not fit one data set.
This is a reconstruction from what they print: 122 dimensions, about 20 pairs an event, 8 predicates a rule on average
(1 to 56), attributes and predicates shared as Zipf says, some 974,000 predicates for 1,392,000 rules. `describe()`
reports the sharing as it came out.

Each dimension has a pool of predicates, and rules pick from it by rank. Values of events are uniform, so a predicate
holds for the share of the domain that it covers, and the probability of a match can be computed: one factor, by which
lists and ranges widen, is set so that it becomes `matching`. What matches are mostly rules of up to four predicates;
rules of more than two dozen never do, as a conjunction needs all of its attributes.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.base import NO_EVENTS, Rules, Workload, joined_rules
from matchwood.workloads.shared.blocks import Block, blocks_of, pilot_block
from matchwood.workloads.shared.draws import distinct, offsets_of, row_sums, zipf_weights
from matchwood.workloads.shared.pool import Pool, coverage, draw_pool, pool_constants
from matchwood.workloads.shared.sessions import distinct_events, session_attributes

LARGEST_RULE = 56
_SIZE_SIGMA = 0.55
DISTINCT_PER_RULE = 973_794 / 1_392_196
_PILOT_RULES, _PILOT_EVENTS = 50_000, 200
FACTORS = math.log(1e-4), math.log(100.0)

Integers = NDArray[np.int64]


Chosen = TypeVar("Chosen", bound="AdsSettings")


@dataclass(frozen=True)
class AdsSettings:
    rules: int = 1_000_000
    events: int = 1_000
    dimensions: int = 122
    rule_size: float = 8
    event_size: int = 20
    matching: float = 0.001
    exponent: float = 1.0
    seed: int = 0

    @property
    def weights(self) -> NDArray[np.float64]:
        return zipf_weights(self.dimensions, self.exponent)

    def random(self, stream: int) -> np.random.Generator:
        """Independent streams, so that more events do not change the rules."""
        return np.random.default_rng([self.seed, stream])


class ChosenPredicates(NamedTuple):
    """Which predicates of the pool each rule has, ordered by attribute."""

    offsets: Integers
    attributes: NDArray[np.int32]
    members: Integers


def ads(**settings: Any) -> Workload:
    """A workload with the given `AdsSettings`.

    >>> work = ads(rules=2_000, events=5, seed=1)
    >>> work.rules.count, work.events.count, work.dimensions
    (2000, 5, 122)
    """
    chosen = checked(AdsSettings(**settings))
    pool, factor = _planned(chosen)
    rules = joined_rules([_rules(pool, _choice(chosen, pool, block), factor) for block in blocks_of(chosen.rules)])
    events = distinct_events(chosen.random(3), chosen.weights, chosen.event_size, chosen.events, pool.cardinality)
    return Workload("ads", chosen.dimensions, rules, events, {**asdict(chosen), "factor": factor})


def ads_block(settings: AdsSettings, block: Block) -> Workload:
    """The rules of one block."""
    pool, factor = _planned(settings)
    return Workload("ads", settings.dimensions, _rules(pool, _choice(settings, pool, block), factor), NO_EVENTS)


@lru_cache(maxsize=2)
def _planned(settings: AdsSettings) -> tuple[Pool, float]:
    """What all rules share: the pool, and the factor by which its predicates widen."""
    pool = pool_of(settings)
    return pool, _factor(settings, pool, _choice(settings, pool, pilot_block(settings.rules)))


def pool_of(settings: AdsSettings) -> Pool:
    """The predicates that rules pick from: so many that they are shared as often as printed."""
    count = int(settings.rules * DISTINCT_PER_RULE * settings.rule_size / 8) + 1
    return draw_pool(settings.random(0), settings.weights, count)


def checked(settings: Chosen) -> Chosen:
    faults = {
        "rules and events must be at least 1": settings.rules < 1 or settings.events < 1,
        "matching must be above 0 and at most 1": not 0 < settings.matching <= 1,
        f"rule_size must be from 2 to {LARGEST_RULE // 2}": not 2 <= settings.rule_size <= LARGEST_RULE // 2,
        "event_size must be at least 5": settings.event_size < 5,
        "dimensions must be at least 1.2 times event_size": settings.dimensions < 1.2 * settings.event_size,
        "exponent must be from 0 to 2": not 0 <= settings.exponent <= 2,
    }
    for message, present in faults.items():
        if present:
            raise InvalidArgument(message)
    return settings


def _choice(settings: AdsSettings, pool: Pool, block: Block) -> ChosenPredicates:
    random = block.random(settings.seed, 1)
    largest = min(LARGEST_RULE, settings.dimensions)
    return choose(random, settings.weights, pool, rule_sizes(random, settings.rule_size, block.count, largest))


def rule_sizes(random: np.random.Generator, mean: float, count: int, largest: int) -> Integers:
    """How many predicates each rule has: log-normal."""
    median = mean / math.exp(_SIZE_SIGMA**2 / 2)
    sizes = np.rint(random.lognormal(math.log(median), _SIZE_SIGMA, count)).astype(np.int64)
    return np.clip(sizes, 1, largest)


def choose(random: np.random.Generator, weights: NDArray[np.float64], pool: Pool, sizes: Integers) -> ChosenPredicates:
    """Different attributes, and then members of their pools, are drawn by popularity."""
    offsets, attributes = distinct(random, weights, sizes)
    available = np.diff(pool.offsets)[attributes]
    ranks = np.floor((available + 1.0) ** random.random(len(attributes))) - 1  # Zipf with exponent 1, by its inverse
    return ChosenPredicates(
        offsets, attributes, pool.offsets[attributes] + np.minimum(ranks.astype(np.int64), available - 1)
    )


def _factor(settings: AdsSettings, pool: Pool, choice: ChosenPredicates) -> float:
    """The factor at which the expected matching probability of the first rules is the wanted one."""
    count = min(len(choice.offsets) - 1, _PILOT_RULES)
    offsets, members = choice.offsets[: count + 1], choice.members[: choice.offsets[count]]
    complete = _completeness(settings, offsets, choice.attributes)

    def expected(logarithm: float) -> float:
        covered = np.log(coverage(pool, members, math.exp(logarithm)))
        return float(np.mean(complete * np.exp(row_sums(offsets, covered))))

    low, high = FACTORS
    if not 0.9 * expected(low) <= settings.matching <= 1.1 * expected(high):
        reach = f"{expected(low):.2g} to {expected(high):.2g}"
        raise InvalidArgument(f"matching={settings.matching} cannot be reached: these settings allow {reach}")
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) < settings.matching else (low, middle)
    return math.exp(high)


def _completeness(settings: AdsSettings, offsets: Integers, attributes: NDArray[np.int32]) -> NDArray[np.float64]:
    """The share of events that have all attributes of a rule."""
    events, present_attributes = session_attributes(
        settings.random(2), settings.weights, settings.event_size, _PILOT_EVENTS
    )
    share = np.zeros(len(offsets) - 1)
    for start, stop in pairwise(events):
        absent = np.ones(settings.dimensions, dtype=np.int32)
        absent[present_attributes[start:stop]] = 0
        share += row_sums(offsets, absent[attributes[: offsets[-1]]]) == 0
    return share / _PILOT_EVENTS


def _rules(pool: Pool, choice: ChosenPredicates, factor: float) -> Rules:
    """The constants of each member are computed once, then copied to the rules that have it."""
    starts, constants = pool_constants(pool, np.arange(len(pool.operators)), factor)
    lengths = np.diff(starts)[choice.members]
    offsets = offsets_of(lengths)
    positions = np.arange(offsets[-1]) + np.repeat(starts[choice.members] - offsets[:-1], lengths)
    return Rules(choice.offsets, choice.attributes, pool.operators[choice.members], offsets, constants[positions])
