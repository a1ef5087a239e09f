"""Advertising contracts: the generator of VLDB 2009 (section 7, Table 1), in DNF or CNF.

The paper draws attributes and sets of values by their frequencies in real contracts and matches real ad logs; neither
is published. This is a reconstruction from what it prints: 1461 dimensions, 91 keys an event, conjunctions of 2.65
predicates and a month, disjunctions of 2.65 predicates with the month in one of its own, a tenth of all predicates
not-in (WEAK), half of the predicates copied from the conjunction before with probability one half, and between 1.6
and 3.5 conjunctions a rule. Those means come out of a Zipf distribution over 1 to 20 if its exponent is half
a unit below the paper's 3, 2.5 and 2.

Attributes are drawn as Zipf says, by contracts and by events alike, so that those which contracts name most are in
nearly every event. Each has a few values, drawn as Zipf says, and a handful of sets of them. How large these sets
are is set so that an event matches the share `matching` of all rules in DNF where there is one month, and 1/m of that
with m months. Rules in CNF have the same sets, and more of them match, since one predicate satisfies a disjunction: the
paper's 5.16% come out where they are spread over several months.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.workloads.contract_settings import ContractSettings, checked
from matchwood.workloads.shared.arbitrary import arbitrary_workload
from matchwood.workloads.shared.base import EQUAL, IN, NO_EVENTS, WEAK_NOT_IN, Events, Rules, Workload
from matchwood.workloads.shared.blocks import Block, blocks_of
from matchwood.workloads.shared.draws import offsets_of, pair_hashes, repeated, row_sums, weighted, zipf_weights
from matchwood.workloads.shared.trees import AND, OR, Trees

SETS = 6
"""Sets of values that an attribute has."""

MONTH = 0
"""The attribute that sets the selectivity."""

_MOST_VALUES, _MOST_PREDICATES, _MOST_PARTS = 12, 12, 20
_PILOT = 4_000
_PRESENCE_ROOT = 0.4
_EXPONENT_SHIFT = 0.5

Integers = NDArray[np.int64]


class _Attributes(NamedTuple):
    """Of each attribute its number of values, its probability in events, and of each value the probability there."""

    cardinality: Integers
    presence: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]


def contracts(**settings: Any) -> Workload:
    """A workload with the given `ContractSettings`, the others as in the paper.

    >>> work = contracts(rules=300, events=5, dimensions=200, seed=1)
    >>> work.rules.count, work.events.count, work.describe()["depth"]
    (300, 5, 3)
    """
    chosen = checked(ContractSettings(**settings))
    attributes, members, breadth = _planned(chosen)
    parts = _joined_parts([_block_parts(chosen, attributes, block) for block in blocks_of(chosen.rules)])
    trees = _trees(chosen, members, parts)
    events = _events(chosen, attributes)
    parameters = {**asdict(chosen), "breadth": round(breadth, 4)}
    return arbitrary_workload(f"contracts {chosen.form}", chosen.dimensions, trees, events, parameters)


def contracts_block(settings: ContractSettings, block: Block) -> Workload:
    """The rules of one block."""
    attributes, members, _ = _planned(settings)
    trees = _trees(settings, members, _block_parts(settings, attributes, block))
    return arbitrary_workload(f"contracts {settings.form}", settings.dimensions, trees, NO_EVENTS, {})


class _ContractParts(NamedTuple):
    """All conjunctions or disjunctions, by rule: the rule of each, its number of predicates, and these as numbers;
    and the month of each rule."""

    owners: Integers
    counts: Integers
    predicates: Integers
    months: Integers


def _joined_parts(parts: Sequence[_ContractParts]) -> _ContractParts:
    firsts = offsets_of(np.array([len(part.months) for part in parts]))[:-1]
    moved = [part._replace(owners=part.owners + first) for part, first in zip(parts, firsts, strict=True)]
    return _ContractParts(*(np.concatenate(column) for column in zip(*moved, strict=True)))


@lru_cache(maxsize=2)
def _planned(settings: ContractSettings) -> tuple[_Attributes, NDArray[np.bool_], float]:
    """What all rules share: attributes, sets of their values, and how large these are."""
    attributes = _attributes(settings)
    breadth = _calibrated(settings, attributes)
    return attributes, _sets(settings, attributes, breadth), breadth


def _block_parts(settings: ContractSettings, attributes: _Attributes, block: Block) -> _ContractParts:
    found = _parts(settings, attributes, block.count, block.random(settings.seed, 1))
    return _ContractParts(*found, block.random(settings.seed, 4).integers(0, settings.months, block.count))


def _attributes(settings: ContractSettings) -> _Attributes:
    random, count = settings.random(0), settings.dimensions
    weights = zipf_weights(count - 1, settings.attribute_exponent)
    cardinality = random.integers(2, _MOST_VALUES + 1, count)
    ranks = np.arange(1, _MOST_VALUES + 1)[None, :] * np.ones((count, 1))
    shares = np.where(ranks <= cardinality[:, None], 1 / ranks, 0.0)
    presence = np.append(1.0, _presence(weights, settings.event_size - 1))
    return _Attributes(cardinality, presence, shares / shares.sum(axis=1, keepdims=True), weights)


def _presence(weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Probabilities in proportion to a root of the weights, at most 1, that add up to `size`."""
    low, high = 0.0, 1.0
    roots = (weights / weights.max()) ** _PRESENCE_ROOT
    while np.minimum(roots * high, 1).sum() < size and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(roots * middle, 1).sum() < size else (low, middle)
    return np.asarray(np.minimum(roots * high, 1))


def _sets(settings: ContractSettings, attributes: _Attributes, breadth: float) -> NDArray[np.bool_]:
    """members[a, s, v]: whether set s of attribute a has value v + 1; every set has one."""
    random, count = settings.random(2), settings.dimensions
    sizes = attributes.cardinality[:, None] * breadth * random.uniform(0.4, 1.6, (count, SETS))
    sizes = np.clip(np.round(sizes), 1, np.maximum(1, attributes.cardinality[:, None] - 1)).astype(np.int64)
    # The smallest of exponential keys over their shares are a weighted draw without repetition.
    with np.errstate(divide="ignore"):
        keys = random.standard_exponential((count, SETS, _MOST_VALUES)) / attributes.shares[:, None, :]
    places = np.argsort(np.argsort(keys, axis=2), axis=2)
    return np.asarray(places < sizes[:, :, None])


def _parts(
    settings: ContractSettings, attributes: _Attributes, rules: int, random: np.random.Generator
) -> tuple[Integers, Integers, Integers]:
    """All conjunctions or disjunctions, by rule: the rule of each, its number of predicates, and these as numbers.

    A predicate is (attribute * SETS + set) * 2, plus 1 for not-in.
    """
    sizes = 1 + weighted(random, zipf_weights(_MOST_PARTS, settings.exponent - _EXPONENT_SHIFT), rules)
    owners, numbers = [], []
    before_owner, before = np.empty(0, np.int64), np.empty(0, np.int64)
    for position in range(_MOST_PARTS):
        having = np.flatnonzero(sizes > position)
        if not len(having):
            break
        owner, drawn = _fresh(settings, attributes, random, having)
        if position:
            copying = np.zeros(rules, dtype=bool)
            copying[having] = random.random(len(having)) < settings.copying
            kept = copying[before_owner] & (random.random(len(before)) < settings.copied)
            lost = copying[owner] & (random.random(len(owner)) < settings.copied)
            owner = np.concatenate((before_owner[kept], owner[~lost]))
            drawn = np.concatenate((before[kept], drawn[~lost]))
        before_owner, before = _without_repetition(owner, drawn)
        owners.append(before_owner * _MOST_PARTS + position)
        numbers.append(before)
    places, predicates = np.concatenate(owners), np.concatenate(numbers)
    order = np.argsort(places, kind="stable")
    parts, counts = np.unique(places[order], return_counts=True)
    return parts // _MOST_PARTS, counts, predicates[order]


def _fresh(
    settings: ContractSettings, attributes: _Attributes, random: np.random.Generator, rules: Integers
) -> tuple[Integers, Integers]:
    """Predicates for one more part of each of these rules: the rule of each, and its number."""
    # A few are lost because an attribute comes twice; so slightly more are drawn than are wanted.
    sizes = np.minimum(1 + random.poisson(1.04 * settings.part_size - 1, len(rules)), _MOST_PREDICATES)
    owners = np.repeat(rules, sizes)
    chosen = 1 + weighted(random, attributes.weights, len(owners))
    sets = weighted(random, zipf_weights(SETS, 1), len(owners))
    negated = random.random(len(owners)) < settings.negated
    return owners, (chosen * SETS + sets) * 2 + negated


def _without_repetition(owners: Integers, predicates: Integers) -> tuple[Integers, Integers]:
    """The first predicate of each attribute in each part."""
    _, first = np.unique(owners << 32 | predicates // (2 * SETS), return_index=True)
    first.sort()
    order = first[np.argsort(owners[first], kind="stable")]
    return owners[order], predicates[order]


def _calibrated(settings: ContractSettings, attributes: _Attributes) -> float:
    """How large sets of values must be for an event to match the share `matching` of rules of one month."""
    owners, counts, predicates = _parts(settings, attributes, min(settings.rules, _PILOT), settings.random(3))
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        expected = _matching(settings, attributes, middle, owners, counts, predicates)
        low, high = (middle, high) if expected < settings.matching else (low, middle)
    return (low + high) / 2


def _matching(
    settings: ContractSettings,
    attributes: _Attributes,
    breadth: float,
    owners: Integers,
    counts: Integers,
    predicates: Integers,
) -> float:
    """The probability that an event matches a rule in DNF, as if all predicates were independent."""
    members = _sets(settings, attributes, breadth)
    inside = (members * attributes.shares[:, None, :]).sum(axis=2) * attributes.presence[:, None]
    holds = inside.ravel()[predicates >> 1]
    holds = np.where(predicates & 1, 1 - holds, holds)
    starts = offsets_of(counts)[:-1]
    rules = np.flatnonzero(np.diff(owners, prepend=-1))
    fails = 1 - np.multiply.reduceat(holds, starts)
    return float(np.mean(1 - np.multiply.reduceat(fails, rules)))


def _trees(settings: ContractSettings, members: NDArray[np.bool_], drawn: _ContractParts) -> Trees:
    """Predicates, then parts, then rules. The month is one more predicate of a conjunction, or one more disjunction."""
    owners, counts, predicates, months = drawn
    rules = len(months)
    distinct, numbers = np.unique(predicates, return_inverse=True)
    month_of_rule, first = len(distinct) + months, len(distinct) + settings.months
    starts = offsets_of(counts)
    if settings.form == "dnf":
        offsets, children = _with_one_more(starts, numbers.ravel(), month_of_rule[owners])
        parts, part_starts = np.arange(len(counts)), offsets_of(np.bincount(owners, minlength=rules))
        inner, outer = AND, OR
    else:
        offsets = np.concatenate((starts, starts[-1] + np.arange(1, settings.months + 1)))
        children = np.concatenate((numbers.ravel(), len(distinct) + np.arange(settings.months)))
        by_rule = offsets_of(np.bincount(owners, minlength=rules))
        part_starts, parts = _with_one_more(by_rule, np.arange(len(counts)), len(counts) + months)
        inner, outer = OR, AND
    junctions = np.repeat(np.array([inner, outer], np.int8), [len(offsets) - 1, rules])
    second = first + len(offsets) - 1
    return Trees(
        predicates=_predicates(settings, members, distinct),
        junctions=junctions,
        offsets=np.concatenate((offsets, offsets[-1] + part_starts[1:])),
        children=np.concatenate((children, first + parts)),
        levels=np.array([0, first, second, second + rules]),
        roots=second + np.arange(rules),
    )


def _with_one_more(offsets: Integers, values: Integers, more: Integers) -> tuple[Integers, Integers]:
    """Lists with one more value at the end of each."""
    wider = offsets + np.arange(len(offsets))
    joined = np.empty(wider[-1], dtype=np.int64)
    joined[wider[1:] - 1] = more
    joined[np.arange(len(values)) + np.repeat(np.arange(len(more)), np.diff(offsets))] = values
    return wider, joined


def _predicates(settings: ContractSettings, members: NDArray[np.bool_], distinct: Integers) -> Rules:
    """The predicates of these numbers, then one for each month."""
    sets = members.reshape(-1, _MOST_VALUES)[distinct >> 1]
    operators = np.where(distinct & 1, WEAK_NOT_IN, IN)
    lengths = np.concatenate((sets.sum(axis=1), np.ones(settings.months, np.int64)))
    months = np.arange(1, settings.months + 1)
    return Rules(
        offsets=np.arange(len(lengths) + 1),
        attributes=np.concatenate((distinct // (2 * SETS), np.full(settings.months, MONTH))).astype(np.int32),
        operators=np.concatenate((operators, np.full(settings.months, EQUAL))).astype(np.int8),
        constant_offsets=offsets_of(lengths),
        constants=np.concatenate((np.nonzero(sets)[1] + 1, months)).astype(np.int64),
    )


def _events(settings: ContractSettings, attributes: _Attributes) -> Events:
    """Events of about `event_size` keys, the month among them, no two equal."""
    random, count = settings.random(5), settings.events
    present = random.random((count, settings.dimensions)) < attributes.presence
    present[:, MONTH] = True
    rows, columns = np.nonzero(present)
    cumulated = np.cumsum(attributes.shares, axis=1)
    values = 1 + (cumulated[columns] < random.random(len(columns))[:, None]).sum(axis=1)
    values = np.minimum(values, attributes.cardinality[columns])
    values[columns == MONTH] = random.integers(1, settings.months + 1, count)
    offsets, numbers = offsets_of(np.bincount(rows, minlength=count)), columns.astype(np.int32)
    kept = np.ones(count, dtype=bool)
    kept[repeated(row_sums(offsets, pair_hashes(numbers, values)))] = False
    chosen = np.repeat(kept, np.diff(offsets))
    return Events(offsets_of(np.diff(offsets)[kept]), numbers[chosen], values[chosen].astype(np.int64))
