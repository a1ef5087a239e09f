"""ABE-Gen, the generator of arbitrary expressions of the A-Tree paper (SIGMOD 2021, 6.1, Table 3).

A rule is a tree of the given depth: each inner node draws its operator, `and` and `or` have as many operands as asked
for, `not` one, `xor` and `xnor` two; the nodes of the lowest level are predicates. Roots are drawn for each rule. Below
them, each level has a pool of subexpressions, and every place of the level above takes one by its rank, as Zipf says.

What the paper leaves open is chosen so that its own figures come out. A pool has exp(-2.29 alpha) times as many members
as there are places: at alpha 0 every place has its own, at 0.6 a subexpression is shared 4.33 times, as printed, and a
predicate, through two such levels, 4.33 ** 2 = 18.7 times, where the paper has 18.35. Lists have two to four
values and ranges two to ten, whatever the cardinality: only then do fewer predicates match when it grows, as in its
Fig. 12 (f). Events draw attributes uniformly, which is why Fig. 12 (g) is flat.

How many rules match an event follows from all that. Who wants another share of them gets more roots that are `or`, or
more that are `and`; what is below the roots stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.abegen_settings import AbeSettings, checked
from matchwood.workloads.shared.arbitrary import arbitrary_workload, joined_trees, zipf_ranks
from matchwood.workloads.shared.base import (
    AT_LEAST,
    AT_MOST,
    BETWEEN,
    EQUAL,
    GREATER,
    IN,
    LESS,
    NO_EVENTS,
    NOT_EQUAL,
    NOT_IN,
    Rules,
    Workload,
)
from matchwood.workloads.shared.blocks import Block, blocks_of, pilot_block
from matchwood.workloads.shared.brute import hits
from matchwood.workloads.shared.draws import offsets_of, weighted, zipf_weights
from matchwood.workloads.shared.sessions import distinct_events
from matchwood.workloads.shared.trees import AND, NOT, OR, XOR, Trees

_POOL_DECAY = 2.29
_OPERATORS = np.array([EQUAL, IN, BETWEEN, LESS, AT_MOST, GREATER, AT_LEAST, NOT_EQUAL, NOT_IN], dtype=np.int8)
_MIXTURE = (0.2, 0.35, 0.35, 0.02, 0.02, 0.02, 0.02, 0.01, 0.01)
_LONGEST_LIST, _WIDEST_RANGE = 4, 10
_PILOT_RULES, _PILOT_EVENTS = 20_000, 100

Integers = NDArray[np.int64]


def abegen(**settings: Any) -> Workload:
    """A workload with the given `AbeSettings`, the others as in the paper.

    >>> work = abegen(rules=500, events=5, seed=1)
    >>> work.rules.count, work.events.count, work.describe()["depth"]
    (500, 5, 3)
    """
    chosen = checked(AbeSettings(**settings))
    return _workload(chosen, joined_trees([_trees(chosen, block) for block in blocks_of(chosen.rules)]))


def _workload(settings: AbeSettings, trees: Trees) -> Workload:
    cardinality = np.full(settings.dimensions, settings.cardinality, dtype=np.int64)
    uniform = zipf_weights(settings.dimensions, 0)
    events = distinct_events(settings.random(2), uniform, settings.event_size, settings.events, cardinality)
    return arbitrary_workload("abegen", settings.dimensions, trees, events, asdict(settings))


def abegen_block(settings: AbeSettings, block: Block) -> Workload:
    """The rules of one block."""
    return arbitrary_workload("abegen", settings.dimensions, _trees(settings, block), NO_EVENTS, {})


@lru_cache(maxsize=2)
def _root_shares(settings: AbeSettings) -> tuple[float, ...]:
    """The shares of operators among roots with which the wanted share of the rules matches an event.

    A pilot tells how often a rule of each operator matches. The usual shares are mixed with as many `or`, or `and`, as
    it takes.
    """
    usual = np.array(settings.junctions)
    if settings.matching is None:
        return settings.junctions
    rates = _matching_by_root(settings)
    present, ends = float(usual @ rates), (float(rates[AND]), float(rates[OR]))
    towards = OR if (settings.matching > present) == (rates[OR] > present) else AND
    share = (settings.matching - present) / (rates[towards] - present) if rates[towards] != present else 2.0
    if not 0 <= share <= 1:
        raise InvalidArgument(
            f"matching={settings.matching} is out of reach: it can be from {min(ends):.2g} to {max(ends):.2g} "
            "(other children, depth, dimensions, cardinality or event_size change that)"
        )
    mixed = (1 - share) * usual
    mixed[towards] += share
    return tuple(mixed.tolist())


def _matching_by_root(settings: AbeSettings) -> NDArray[np.float64]:
    """The share of events that a rule matches, by the operator of its root."""
    count = min(settings.rules, _PILOT_RULES)
    pilot = replace(settings, rules=count, events=_PILOT_EVENTS, seed=settings.seed + 2**40, matching=None)
    both = np.array(settings.junctions) / 2
    both[[AND, OR]] += 0.25
    trees = _trees(pilot, pilot_block(count), tuple(both.tolist()))
    found = np.concatenate(hits(_workload(pilot, trees), range(pilot.events)))
    roots = trees.junctions[-count:]
    matched = np.bincount(roots[found], minlength=len(both))
    rates: NDArray[np.float64] = matched / np.maximum(1, np.bincount(roots, minlength=len(both))) / pilot.events
    return rates


def _trees(settings: AbeSettings, block: Block, roots: tuple[float, ...] | None = None) -> Trees:
    """From the roots down: the nodes that a level draws from the pool of the next one are that level's nodes.

    Each block has pools of its own. They grow with the places, so what is shared how often, on average, is the same
    whatever the number of blocks. `roots` are the shares of operators among roots, if they are not to be found out.
    """
    shares = (settings.junctions if settings.depth < 2 else _root_shares(settings)) if roots is None else roots
    random, count = block.random(settings.seed, 0), block.count
    junctions, lengths, places = [], [], []
    for _ in range(settings.depth - 1):
        codes, operands = _inner_nodes(random, shares, settings.children, count)
        shares = settings.junctions
        members, count = _shared(random, int(operands.sum()), settings.alpha)
        junctions.append(codes)
        lengths.append(operands)
        places.append(members)
    tops = np.arange(block.count)
    if not places:
        tops, count = _shared(random, block.count, settings.alpha)
    counts = [count, *map(len, reversed(junctions))]
    starts = offsets_of(np.array(counts))
    children = [members + start for members, start in zip(reversed(places), starts, strict=False)]
    return Trees(
        predicates=_predicates(settings, count, block),
        junctions=np.concatenate([np.zeros(0, np.int8), *reversed(junctions)]),
        offsets=offsets_of(np.concatenate([np.zeros(0, np.int64), *reversed(lengths)])),
        children=np.concatenate([np.zeros(0, np.int64), *children]),
        levels=starts,
        roots=tops + starts[-2],
    )


def _inner_nodes(
    random: np.random.Generator, shares: tuple[float, ...], children: int, count: int
) -> tuple[NDArray[np.int8], Integers]:
    codes = weighted(random, np.array(shares), count).astype(np.int8)
    return codes, np.select([codes == NOT, codes >= XOR], [1, 2], children).astype(np.int64)


def _shared(random: np.random.Generator, slots: int, alpha: float) -> tuple[Integers, int]:
    """For each place the member of a pool that it takes, and how many members are taken by any."""
    if alpha == 0:
        return np.arange(slots), slots
    ranks = zipf_ranks(random, slots, max(1, round(slots * math.exp(-_POOL_DECAY * alpha))), alpha)
    taken, members = np.unique(ranks, return_inverse=True)
    return members, len(taken)


def _predicates(settings: AbeSettings, count: int, block: Block) -> Rules:
    """Predicates of all operators; constants lie in 1 … cardinality."""
    random, cardinality = block.random(settings.seed, 1), settings.cardinality
    attributes = weighted(random, zipf_weights(settings.dimensions, settings.dimension_alpha), count).astype(np.int32)
    operators = random.choice(_OPERATORS, count, p=_MIXTURE)
    listed, is_range = (operators == IN) | (operators == NOT_IN), operators == BETWEEN
    lengths = np.select([listed, is_range], [random.integers(2, _LONGEST_LIST + 1, count), 2], 1)
    lengths = np.minimum(lengths, cardinality)
    offsets = offsets_of(lengths)
    constants = random.integers(1, cardinality + 1, offsets[-1])
    _spread_lists(random, constants, offsets[:-1][listed], lengths[listed], cardinality)
    starts = offsets[:-1][is_range]
    constants[starts + 1] = np.minimum(constants[starts] + random.integers(1, _WIDEST_RANGE, len(starts)), cardinality)
    return Rules(np.arange(count + 1), attributes, operators, offsets, constants)


def _spread_lists(
    random: np.random.Generator, constants: Integers, starts: Integers, lengths: Integers, cardinality: int
) -> None:
    """Lists of different elements in increasing order."""
    for length in np.unique(lengths).tolist():
        rows = starts[lengths == length]
        drawn = np.sort(random.integers(0, cardinality - length + 1, (len(rows), length)), axis=1)
        constants[rows[:, None] + np.arange(length)] = drawn + np.arange(1, length + 1)
