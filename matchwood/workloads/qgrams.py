"""q-grams of real strings as conjunctions (BE-Tree, 8.2.2): `string` is `st = 'r' and tr = 'i' and ri = 'n' and in =
'g'`.

The paper takes authors and titles of DBLP. The strings here are names of Unicode characters, which every Python
carries: titles in all but name, five words on average, no two alike. An attribute is a pair of letters, 27 of them
with the space, 729 dimensions; its value is the letter that follows. A pair that occurs more than once keeps its
first follower.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.base import EQUAL, NO_EVENTS, Events, Rules, Workload, joined_rules
from matchwood.workloads.blocks import Block, blocks_of

LETTERS = 27
DIMENSIONS = LETTERS * LETTERS
_RANGES = ((0x20, 0x3400), (0xA000, 0xAC00), (0xF900, 0xFB00), (0xFB00, 0x18000), (0x1B000, 0x20000))
"""Where names say more than a number; ideographs and Hangul are left out."""


@dataclass(frozen=True)
class GramSettings:
    rules: int = 20_000
    events: int = 1_000
    seed: int = 0


def qgrams(rules: int, events: int, seed: int = 0) -> Workload:
    """Rules from the names of that many characters, and events from as many others joined to one of the rules' names.

    >>> work = qgrams(rules=500, events=5, seed=1)
    >>> work.rules.count, work.events.count, work.dimensions
    (500, 5, 729)
    """
    settings = checked(GramSettings(rules, events, seed))
    grams, (random, order) = _all_grams(), _shuffled(seed)
    made = joined_rules([_rules(settings, block) for block in blocks_of(rules)])
    pairs = random.choice(rules, events, replace=events > rules), random.integers(0, len(grams), events)
    texts = [_first(np.concatenate((grams[order[one]], grams[other]))) for one, other in zip(*pairs, strict=True)]
    return Workload("qgrams", DIMENSIONS, made, Events(*_joined(texts)), {"seed": seed})


def qgrams_block(settings: GramSettings, block: Block) -> Workload:
    """The rules of one block."""
    return Workload("qgrams", DIMENSIONS, _rules(settings, block), NO_EVENTS)


def checked(settings: GramSettings) -> GramSettings:
    most = most_names()
    if not 1 <= settings.rules <= most or settings.events < 1:
        got = f"(got {settings.rules}, {settings.events})"
        raise InvalidArgument(f"rules must be from 1 to {most:,}, and events at least 1 {got}")
    return settings


def most_names() -> int:
    """How many names there are, no two alike."""
    return len(_all_grams())


def _shuffled(seed: int) -> tuple[np.random.Generator, NDArray[np.int64]]:
    """All names in an order of their own, of which rules are the first ones."""
    random = np.random.default_rng(seed)
    return random, random.permutation(len(_all_grams()))


def _rules(settings: GramSettings, block: Block) -> Rules:
    grams, (_, order) = _all_grams(), _shuffled(settings.seed)
    chosen = order[block.first : block.first + block.count]
    offsets, attributes, followers = _joined([grams[place] for place in chosen.tolist()])
    operators, constants = np.full(len(attributes), EQUAL, np.int8), np.arange(len(attributes) + 1, dtype=np.int64)
    return Rules(offsets, attributes, operators, constants, followers)


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
