"""Rules that are stored at one stroke, in their order: those prepared one by one, and the others as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding import CompiledRules, CountedUse, Use
from matchwood.matching.loading.chunks import RuleChunk
from matchwood.matching.loading.preparation import PreparedRule
from matchwood.rules import Ids, Strings


class PlacedRules(NamedTuple):
    """Rules in columns, and where they stand among all."""

    places: NDArray[np.int64]
    rules: CompiledRules


class Batch(NamedTuple):
    """New rules.

    `ids`, `texts`, `constants`, `by_attribute`  of each, its weights the last two
    `uses`      what they ask of their attributes: how many of them do, and the id of the first that does
    `places`    where the prepared rules stand among all
    `compiled`  the others, if there are any
    """

    ids: Ids
    texts: Strings
    constants: Sequence[float] | NDArray[np.float64]
    by_attribute: list[str]
    uses: list[tuple[Use, int, Any]]
    places: NDArray[np.int64]
    prepared: Sequence[PreparedRule]
    compiled: PlacedRules | None = None

    @classmethod
    def of(cls, ids: Sequence[Any], prepared: Sequence[PreparedRule]) -> Batch:
        """Rules that were prepared one by one."""
        uses = [(use, count, ids[first]) for use, count, first in _counted(enumerate(prepared))]
        return cls(ids, *columns(prepared), uses, np.arange(len(prepared)), prepared)

    @classmethod
    def with_compiled(cls, chunk: RuleChunk, prepared: Mapping[int, PreparedRule], compiled: CompiledRules) -> Batch:
        """The prepared rules of a chunk and those in columns; all their positions are those in the chunk."""
        held, others = np.fromiter(prepared, np.int64, len(prepared)), compiled.positions
        kept = np.sort(np.concatenate((held, others)))
        places = places_in(kept, held)
        constants, by_attribute = np.zeros(len(kept)), {}
        for place, rule in zip(places.tolist(), prepared.values(), strict=True):
            constants[place], by_attribute[place] = rule.weights
        among = places_in(kept, others)
        constants[among] = chunk.weights_at(others)
        uses = sorted([*_counted(prepared.items()), *compiled.uses()], key=lambda use: use[2])
        return cls(
            chunk.ids_at(kept),
            chunk.texts_at(kept, prepared),
            constants,
            [by_attribute.get(place, "") for place in range(len(kept))] if any(by_attribute.values()) else [],
            [(use, count, chunk.id_at(first)) for use, count, first in uses],
            places,
            list(prepared.values()),
            PlacedRules(among, compiled),
        )


def columns(prepared: Sequence[PreparedRule]) -> tuple[list[str], list[float], list[str]]:
    """Texts, constant weights, and weights by attribute."""
    return (
        [rule.text for rule in prepared],
        [rule.weights.constant for rule in prepared],
        [rule.weights.by_attribute for rule in prepared],
    )


def _counted(prepared: Iterable[tuple[int, PreparedRule]]) -> list[CountedUse]:
    held = [(position, rule.uses) for position, rule in prepared]
    uses = list(chain.from_iterable([each for _, each in held]))
    owners = list(chain.from_iterable([[position] * len(each) for position, each in held]))
    # The last one given stays.
    firsts = dict(zip(reversed(uses), reversed(owners), strict=True))
    return [(use, count, firsts[use]) for use, count in Counter(uses).items()]
