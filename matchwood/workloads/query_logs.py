"""Query logs: keyword queries as rules, documents as events, in many thousand dimensions (PS-Tree paper, 7.1 and 7.3).

The paper splits each keyword into an attribute and a value: the first three characters and the next three, or the two
halves of a word of up to six. A query is the conjunction of such equalities. The log itself (SIGMOD 2013 contest:
2.1 million queries of 2.78 keywords, documents of 93.07 pairs, 17,577 dimensions) is not ours to give; this generates
one with these figures: random words, used as often as Zipf says, without the most frequent ones, which mean little. The
more of all use goes to a few words, the more queries match a document: the exponent decides how many.

Columns are integers, as those of all workloads: an attribute is the rank of its text among all of them, a value is made
of the letters of its text, as the digits of a number.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import InvalidArgument
from matchwood.workloads.shared.base import EQUAL, NO_EVENTS, Events, Rules, Workload, joined_rules
from matchwood.workloads.shared.blocks import Block, blocks_of
from matchwood.workloads.shared.draws import offsets_of, pair_hashes, repeated, row_sums, weighted, zipf_weights

LETTERS = 26
LONG = 6
"""A word of more characters is cut after the third and the sixth."""

_LENGTHS = np.array([0.02, 0.04, 0.07, 0.10, 0.13, 0.17, 0.17, 0.13, 0.09, 0.05, 0.03])
"""How many words have 2, 3, … 12 characters."""

_QUERY_SIZES = np.array([0.15, 0.28, 0.30, 0.18, 0.09])
"""How many queries have 1, 2, … 5 keywords: 2.78 on average."""

_ROUNDS = 100
_EXPONENTS, _EXPONENT = (0.0, 1.5), 1.0
_PILOT_EVENTS, _HALVINGS = 200, 20

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class LogSettings:
    """`skipped` of the most frequent words are left out; a document has `event_size` pairs on average.

    Words are used as Zipf says with `exponent`: 1, or that with which the share `matching` of the queries match.
    """

    rules: int = 2_100_000
    events: int = 1_000
    words: int = 60_000
    skipped: int = 50
    event_size: int = 93
    seed: int = 0
    exponent: float | None = None
    matching: float | None = None

    def random(self, stream: int) -> np.random.Generator:
        """Independent streams, so that more events do not change the rules."""
        return np.random.default_rng([self.seed, stream])


class Words(NamedTuple):
    """The attribute and the value of each word, how often it is used, and how many attributes there are."""

    attributes: NDArray[np.int32]
    values: Integers
    weights: NDArray[np.float64]
    dimensions: int


def query_logs(**settings: Any) -> Workload:
    """A workload with the given `LogSettings`.

    >>> work = query_logs(rules=500, events=4, words=2_000, seed=1)
    >>> work.rules.count, work.events.count, work.rules_text()[0].count("=") > 0
    (500, 4, True)
    """
    chosen = checked(LogSettings(**settings))
    words = _vocabulary(chosen)
    rules = joined_rules([_queries(chosen, words, block) for block in blocks_of(chosen.rules)])
    return Workload("query logs", words.dimensions, rules, _documents(chosen, words), asdict(chosen))


def query_logs_block(settings: LogSettings, block: Block) -> Workload:
    """The rules of one block."""
    words = _vocabulary(settings)
    return Workload("query logs", words.dimensions, _queries(settings, words, block), NO_EVENTS)


def cuts_of(length: int) -> tuple[int, int]:
    """Where the attribute of a word ends, and where its value does.

    >>> [(word[:end], word[end:last]) for word in ("boolean", "vldb", "abc") for end, last in [cuts_of(len(word))]]
    [('boo', 'lea'), ('vl', 'db'), ('a', 'bc')]
    """
    return (3, 6) if length > LONG else (length // 2, length)


def checked(settings: LogSettings) -> LogSettings:
    faults = {
        "rules and events must be at least 1": settings.rules < 1 or settings.events < 1,
        "event_size must be at least 5": settings.event_size < 5,
        "words must be at least 20 times event_size": settings.words < 20 * settings.event_size,
        "skipped must be at least 0": settings.skipped < 0,
        "exponent must be from {} to {}".format(*_EXPONENTS): settings.exponent is not None
        and not _EXPONENTS[0] <= settings.exponent <= _EXPONENTS[1],
        "matching must be between 0 and 1": settings.matching is not None and not 0 < settings.matching < 1,
    }
    for message, present in faults.items():
        if present:
            raise InvalidArgument(message)
    return replace(settings, exponent=_exponent(settings))


@lru_cache(maxsize=8)
def _exponent(settings: LogSettings) -> float:
    """The exponent that is given, or with which the wanted share of queries matches, found by halving."""
    wanted = settings.matching
    if wanted is None:
        return _EXPONENT if settings.exponent is None else settings.exponent
    if settings.exponent is not None:
        found = _matching(settings, settings.exponent)
        if not 0.99 < found / wanted < 1.01:
            raise InvalidArgument(f"exponent={settings.exponent} makes {found:.3g} match (give exponent or matching)")
        return settings.exponent
    low, high = _EXPONENTS
    least, most = _matching(settings, low), _matching(settings, high)
    if not least <= wanted <= most:
        raise InvalidArgument(f"matching={wanted} is out of reach: it can be from {least:.2g} to {most:.2g}")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _matching(settings, middle) < wanted else (low, middle)
    return high


def _matching(settings: LogSettings, exponent: float) -> float:
    """The share of queries that match a document: it has each of their words with the probability that a word drawn
    is one of the document's."""
    pilot = replace(settings, rules=1, events=_PILOT_EVENTS, exponent=exponent, matching=None)
    words = _vocabulary(pilot)
    offsets, drawn = _drawn(pilot.random(3), words, np.full(_PILOT_EVENTS, settings.event_size))
    inside = row_sums(offsets, words.weights[drawn])
    powers = inside[:, None] ** np.arange(1, 1 + len(_QUERY_SIZES))
    return float((powers @ _QUERY_SIZES).mean())


@lru_cache(maxsize=2)
def _vocabulary(settings: LogSettings) -> Words:
    random = settings.random(0)
    lengths = random.choice(np.arange(2, 2 + len(_LENGTHS)), settings.words, p=_LENGTHS / _LENGTHS.sum())
    letters = random.integers(1, LETTERS + 1, (settings.words, LONG))
    ends, lasts = np.array([cuts_of(length) for length in range(lengths.max() + 1)]).T
    names = _digits(letters, np.zeros_like(lengths), ends[lengths])
    _, attributes = np.unique(names, return_inverse=True)
    values = _digits(letters, ends[lengths], lasts[lengths])
    exponent = _EXPONENT if settings.exponent is None else settings.exponent
    weights = zipf_weights(settings.words + settings.skipped, exponent)[settings.skipped :]
    dimensions = int(attributes.max()) + 1
    return Words(attributes.astype(np.int32), values, weights / weights.sum(), dimensions)


def _digits(letters: Integers, first: Integers, stop: Integers) -> Integers:
    """The letters first : stop of each word as the digits of a number."""
    number = np.zeros(len(letters), np.int64)
    for place in range(letters.shape[1]):
        inside = (first <= place) & (place < stop)
        number = np.where(inside, (LETTERS + 1) * number + letters[:, place], number)
    return number


def _queries(settings: LogSettings, words: Words, block: Block) -> Rules:
    random = block.random(settings.seed, 1)
    sizes = random.choice(np.arange(1, 1 + len(_QUERY_SIZES)), block.count, p=_QUERY_SIZES)
    offsets, drawn = _drawn(random, words, sizes)
    ones = np.arange(len(drawn) + 1, dtype=np.int64)
    return Rules(offsets, words.attributes[drawn], np.full(len(drawn), EQUAL, np.int8), ones, words.values[drawn])


def _documents(settings: LogSettings, words: Words) -> Events:
    random, spread = settings.random(2), settings.event_size // 3
    sizes = settings.event_size + random.integers(-spread, spread + 1, settings.events)
    offsets, drawn = _drawn(random, words, sizes)
    attributes, values = words.attributes[drawn], words.values[drawn]
    if len(repeated(row_sums(offsets, pair_hashes(attributes, values)))):
        raise InvalidArgument(f"there are not {settings.events} different documents (ask for fewer)")
    return Events(offsets, attributes, values)


def _drawn(random: np.random.Generator, words: Words, sizes: Integers) -> tuple[Integers, Integers]:
    """For each size that many words, ordered by attribute: offsets, and numbers of words.

    A word whose attribute is taken is drawn again.
    """
    owners = np.repeat(np.arange(len(sizes)), sizes)
    drawn = weighted(random, words.weights, len(owners))
    suspect = np.arange(len(owners))
    for _ in range(_ROUNDS):
        pairs = owners[suspect] * words.dimensions + words.attributes[drawn[suspect]]
        again = suspect[repeated(pairs.astype(np.uint64))]
        if not len(again):
            break
        drawn[again] = weighted(random, words.weights, len(again))
        suspect = suspect[np.isin(owners[suspect], owners[again])]
    else:
        raise InvalidArgument("words have too few different attributes (ask for more words, or smaller documents)")
    order = np.lexsort((words.attributes[drawn], owners))
    return offsets_of(sizes), drawn[order]
