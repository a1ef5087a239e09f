"""q-grams of real strings as conjunctions (BE-Tree, 8.2.2): `string` is `st = 'r' and tr = 'i' and ri = 'n' and in =
'g'`.

The paper takes authors and titles of DBLP. The strings here are names of Unicode characters, which every Python
carries: titles in all but name, five words on average, no two alike. An attribute is a pair of letters, 27 of them
with the space, 729 dimensions; its value is the letter that follows. A pair that occurs more than once keeps its
first follower.

With all its q-grams a rule matches little but the event that was made of its name. Where more rules are to match, each
has only some of its q-grams, drawn at random, like a search that knows a string in part.
"""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.base import EQUAL, NO_EVENTS, Events, Rules, Workload, joined_rules
from matchwood.workloads.shared.blocks import Block, blocks_of
from matchwood.workloads.shared.draws import offsets_of, row_sums

LETTERS = 27
DIMENSIONS = LETTERS * LETTERS
_RANGES = ((0x20, 0x3400), (0xA000, 0xAC00), (0xF900, 0xFB00), (0xFB00, 0x18000), (0x1B000, 0x20000))
"""Where names say more than a number; ideographs and Hangul are left out."""


_PILOT, _HALVINGS = (4_000, 100), 30
"""Rules and events that tell how many match."""


@dataclass(frozen=True)
class GramSettings:
    """`matching` is the share of rules that are to match an event; None leaves them all their q-grams."""

    rules: int = 20_000
    events: int = 1_000
    seed: int = 0
    matching: float | None = None


def qgrams(rules: int, events: int, seed: int = 0, matching: float | None = None) -> Workload:
    """Rules from the names of that many characters, and events from as many others joined to one of the rules' names.

    >>> work = qgrams(rules=500, events=5, seed=1)
    >>> work.rules.count, work.events.count, work.dimensions
    (500, 5, 729)
    """
    settings = checked(GramSettings(rules, events, seed, matching))
    made = joined_rules([_rules(settings, block) for block in blocks_of(rules)])
    return Workload("qgrams", DIMENSIONS, made, Events(*_joined(_texts(settings))), asdict(settings))


def _texts(settings: GramSettings) -> list[NDArray[np.int64]]:
    """The q-grams of each event."""
    grams, (random, order), events = _all_grams(), _shuffled(settings.seed), settings.events
    ones = random.choice(settings.rules, events, replace=events > settings.rules)
    others = random.integers(0, len(grams), events)
    return [_first(np.concatenate((grams[order[one]], grams[other]))) for one, other in zip(ones, others, strict=True)]


def qgrams_block(settings: GramSettings, block: Block) -> Workload:
    """The rules of one block."""
    return Workload("qgrams", DIMENSIONS, _rules(settings, block), NO_EVENTS)


def checked(settings: GramSettings) -> GramSettings:
    most = most_names()
    if not 1 <= settings.rules <= most or settings.events < 1:
        got = f"(got {settings.rules}, {settings.events})"
        raise InvalidArgument(f"rules must be from 1 to {most:,}, and events at least 1 {got}")
    if settings.matching is not None and not 0 < settings.matching < 1:
        raise InvalidArgument(f"matching must be between 0 and 1 (got {settings.matching})")
    _kept(settings)
    return settings


@lru_cache(maxsize=8)
def _kept(settings: GramSettings) -> float:
    """The share of its q-grams that a rule keeps beside the one that it always does, found by halving.

    If `true` of a rule's q-grams are an event's and `false` are not, it matches when the one is true and none of the
    others is kept that are not.
    """
    if settings.matching is None:
        return 1.0
    true, false = _pilot(replace(settings, events=_PILOT[1], matching=None))
    always = true / (true + false)
    least, most = float(always[false == 0].sum() / len(always)), float(always.mean())
    if not least <= settings.matching <= most:
        raise InvalidArgument(f"matching={settings.matching} is out of reach: it can be from {least:.2g} to {most:.2g}")
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        matching = float((always * (1 - middle) ** false).mean())
        low, high = (middle, high) if matching > settings.matching else (low, middle)
    return low


def _pilot(settings: GramSettings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For pairs of a rule and an event, how many q-grams of the rule are the event's, and how many are not."""
    rules = min(settings.rules, _PILOT[0])
    grams, (_, order) = _all_grams(), _shuffled(settings.seed)
    chosen = [grams[place] for place in order[:: max(1, settings.rules // rules)][:rules].tolist()]
    offsets, numbers = offsets_of(np.array([len(each) for each in chosen])), np.concatenate(chosen)
    true = np.stack([row_sums(offsets, np.isin(numbers, text).astype(np.int64)) for text in _texts(settings)])
    return true.ravel(), (np.diff(offsets) - true).ravel()


def most_names() -> int:
    """How many names there are, no two alike."""
    return len(_all_grams())


def _shuffled(seed: int) -> tuple[np.random.Generator, NDArray[np.int64]]:
    """All names in an order of their own, of which rules are the first ones."""
    random = np.random.default_rng(seed)
    return random, random.permutation(len(_all_grams()))


def _rules(settings: GramSettings, block: Block) -> Rules:
    grams, (_, order) = _all_grams(), _shuffled(settings.seed)
    chosen = [grams[place] for place in order[block.first : block.first + block.count].tolist()]
    share = _kept(settings)
    if share < 1:
        random = block.random(settings.seed, 1)
        chosen = [each[_some(random, len(each), share)] for each in chosen]
    offsets, attributes, followers = _joined(chosen)
    operators, constants = np.full(len(attributes), EQUAL, np.int8), np.arange(len(attributes) + 1, dtype=np.int64)
    return Rules(offsets, attributes, operators, constants, followers)


def _some(random: np.random.Generator, count: int, share: float) -> NDArray[np.bool_]:
    """One place for sure, and each of the others with a probability."""
    kept = random.random(count) < share
    kept[random.integers(count)] = True
    return kept


@cache
def _all_grams() -> tuple[NDArray[np.int64], ...]:
    """The q-grams of every name, no two alike, in the order of the characters."""
    names = (unicodedata.name(chr(code), "") for low, high in _RANGES for code in range(low, high))
    found = {_grams(name).tobytes(): None for name in names if len(name) > 3}
    return tuple(np.frombuffer(each, np.int64) for each in found if each)


def _grams(text: str) -> NDArray[np.int64]:
    """Attribute and follower of each pair of letters, as one number, increasing; what is no letter counts as a
    space."""
    codes = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int64) - ord("A") + 1
    codes[(codes < 1) | (codes >= LETTERS)] = 0
    return _first((codes[:-2] * LETTERS + codes[1:-1]) * LETTERS + codes[2:])


def _first(grams: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each attribute the first one, ordered by attribute."""
    _, places = np.unique(grams // LETTERS, return_index=True)
    first: NDArray[np.int64] = grams[places]
    return first


def _joined(
    lists: list[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Offsets, attributes and followers of many lists of q-grams."""
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in lists]))).astype(np.int64)
    grams = np.concatenate(lists)
    return offsets, (grams // LETTERS).astype(np.int32), grams % LETTERS
