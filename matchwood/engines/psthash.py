"""PSTHash: candidates by the combinations of spaces of several access predicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from matchwood.engines.candidates import Candidates
from matchwood.engines.pst import AccessEngine


class PSTHash(AccessEngine):
    """VLDB 2018, section 6, with lists that split as they fill.

    A unit goes to the lists of its best access predicate if those are short, and to combinations with the next best
    one otherwise: looking a combination up costs as much as testing some candidates, and an event has many of them.
    Units with fewer usable predicates, and events with fewer attributes, need nothing of their own.

    `access`       how many access predicates a unit has at most
    `most_spaces`  a further access predicate is passed over if the unit then had more combinations than this
    `dense`        lists of up to so many candidates are short; with 0 all access predicates are used, as in the paper
    `packed`       lists of at least so many candidates are packed, to be verified together; 0 for none
    """

    name: ClassVar[str] = "psthash"
    options: ClassVar[Mapping[str, Any]] = {"access": 2, "most_spaces": 16, "dense": 4096, "packed": 16}
    limits: ClassVar[Mapping[str, tuple[int, int]]] = {
        "access": (1, 4), "most_spaces": (1, 1024), "dense": (0, 2**20), "packed": (0, 2**20),
    }  # fmt: skip

    @property
    def _wanted(self) -> int:
        wanted: int = self.settings["access"]
        return wanted

    @property
    def _most_spaces(self) -> int:
        most: int = self.settings["most_spaces"]
        return most

    def _lists(self) -> Candidates:
        return Candidates(self._wanted, self._most_spaces, self.settings["dense"], self.settings["packed"])
