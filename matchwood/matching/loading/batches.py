"""Rules that are stored at one stroke, in their order: those prepared one by one, and plain ones as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import places_in
from matchwood.encoding import PlainRules, Use
from matchwood.matching.loading.preparation import PreparedRule

CountedUse = tuple[Use, int, int]
"""A use, how many rules have it, and the position of the first of them."""


class Batch(NamedTuple):
    """New rules.

    `ids`, `texts`, `constants`, `by_attribute`  of each, its weights the last two
    `uses`      what they ask of their attributes: how many of them do, and the id of the first that does
    `places`    where the prepared rules stand among all
    `plain`     the others, if there are any; its positions say where they stand
    """

    ids: Sequence[Any]
    texts: list[str]
    constants: list[float]
    by_attribute: list[str]
    uses: list[tuple[Use, int, Any]]
    places: NDArray[np.int64]
    prepared: Sequence[PreparedRule]
    plain: PlainRules | None = None

    @classmethod
    def of(cls, ids: Sequence[Any], prepared: Sequence[PreparedRule]) -> Batch:
        """Rules that were prepared one by one."""
        uses = [(use, count, ids[first]) for use, count, first in _counted(enumerate(prepared))]
        return cls(ids, *columns(prepared), uses, np.arange(len(prepared)), prepared)

    @classmethod
    def with_plain(
        cls, ids: Sequence[Any], texts: Sequence[Any], prepared: Mapping[int, PreparedRule], plain: PlainRules
    ) -> Batch:
        """The prepared and the plain ones of some rules; all their positions are those among the rules given."""
        held = np.fromiter(prepared, np.int64, len(prepared))
        kept = np.sort(np.concatenate((held, plain.positions)))
        chosen = kept.tolist()
        uses = sorted([*_counted(prepared.items()), *plain.uses], key=lambda use: use[2])
        places = places_in(kept, held)
        constants, by_attribute = [0.0] * len(chosen), [""] * len(chosen)
        for place, rule in zip(places.tolist(), prepared.values(), strict=True):
            constants[place], by_attribute[place] = rule.weights
        return cls(
            [ids[position] for position in chosen],
            [prepared[position].text if position in prepared else texts[position] for position in chosen],
            constants,
            by_attribute,
            [(use, count, ids[first]) for use, count, first in uses],
            places,
            list(prepared.values()),
            plain.at(places_in(kept, plain.positions)),
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
