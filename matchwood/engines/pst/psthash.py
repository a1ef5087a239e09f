"""PSTHash: candidates by the combinations of spaces of several access predicates.

VLDB 2018, section 6, Algorithms 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from matchwood.engines.pst import engine as pst
from matchwood.engines.pst.candidates import Candidates

PUBLISHED: Mapping[str, Any] = {"access": 2, "dense": 0, "most_spaces": 4096, "useless": 1.0, **pst.PUBLISHED}
"""Any two ranges make fewer combinations than this; of two long lists a rule has one only, or memory would run out."""


class PSTHash(pst.AccessEngine):
    """VLDB 2018, section 6, with lists that split as they fill.

    A unit goes to the lists of its best access predicate if those are short, and to combinations with the next best
    one otherwise: looking a combination up costs as much as testing some candidates, and an event has many of them.
    Units with fewer usable predicates, and events with fewer attributes, need nothing of their own.

    `access`       how many access predicates a unit has at most
    `most_spaces`  a further access predicate is passed over if the unit then had more combinations than this
    `dense`        lists of up to so many candidates are short; with 0 all access predicates are used, as in the paper
    `useless`      a predicate that lets more than this share of the events through is no further access predicate

    The others are those of `AccessEngine`.
    """

    name: ClassVar[str] = "psthash"
    options: ClassVar[Mapping[str, Any]] = {
        "access": 2, "most_spaces": 16, "dense": 4096, "useless": 0.5, **pst.OPTIONS,
    }  # fmt: skip
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {
        "access": (1, 4), "most_spaces": (1, 4096), "dense": (0, 2**20), "useless": (0.0, 1.0),
    }  # fmt: skip
    published: ClassVar[Mapping[str, Any]] = PUBLISHED

    @property
    def _wanted(self) -> int:
        wanted: int = self.settings["access"]
        return wanted

    @property
    def _most_spaces(self) -> int:
        most: int = self.settings["most_spaces"]
        return most

    @property
    def _useless(self) -> float:
        useless: float = self.settings["useless"]
        return useless

    def _lists(self) -> Candidates:
        return Candidates(self._wanted, self._most_spaces, self.settings["dense"], self.settings["side_by_side"])
