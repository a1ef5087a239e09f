"""The settings of the contracts generator: Table 1 of VLDB 2009, and what the paper leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matchwood.errors import InvalidArgument


@dataclass(frozen=True)
class ContractSettings:
    """Table 1's rows with the paper's values.

    `form`       `dnf` or `cnf`
    `exponent`   e, by which the number of conjunctions is drawn: 3, 2.5 and 2 give 1.6, 2.3 and 3.5 of them
    `copied`     p, the portion of predicates copied from the conjunction before
    `copying`    q, the probability that a conjunction copies
    `negated`    n, the portion of not-in predicates
    `part_size`  predicates of a conjunction beside the month, or of a disjunction
    `months`     over how many months rules and events are spread: the selectivity grows with them
    `matching`   the share of rules that match an event in DNF, if there is one month
    `attribute_exponent`  how unevenly contracts and events take attributes
    """

    rules: int = 1_000_000
    events: int = 1_000
    dimensions: int = 1_461
    event_size: int = 91
    form: str = "dnf"
    exponent: float = 2.5
    copied: float = 0.5
    copying: float = 0.5
    negated: float = 0.1
    part_size: float = 2.65
    months: int = 1
    matching: float = 0.1191
    attribute_exponent: float = 1.0
    seed: int = 0

    def random(self, stream: int) -> np.random.Generator:
        """Independent streams, so that more events do not change the rules."""
        return np.random.default_rng([self.seed, stream])


def checked(settings: ContractSettings) -> ContractSettings:
    faults = {
        "rules and events must be at least 1": settings.rules < 1 or settings.events < 1,
        "form must be 'dnf' or 'cnf'": settings.form not in ("dnf", "cnf"),
        "months must be from 1 to 12": not 1 <= settings.months <= 12,
        "event_size must be from 1 to the number of dimensions": not 1 <= settings.event_size <= settings.dimensions,
        "exponent must be from 1 to 5": not 1 <= settings.exponent <= 5,
        "part_size must be from 1 to 8": not 1 <= settings.part_size <= 8,
        "matching must be above 0 and below 1": not 0 < settings.matching < 1,
        "shares must be from 0 to 1": not min(settings.copied, settings.copying, settings.negated) >= 0
        or max(settings.copied, settings.copying, settings.negated) > 1,
    }
    for message, present in faults.items():
        if present:
            raise InvalidArgument(message)
    return settings
