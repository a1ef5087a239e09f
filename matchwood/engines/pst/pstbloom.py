"""PSTBloom: candidates by one access predicate, and Bloom filters that tell some of those apart that cannot match.

VLDB 2018, section 5, Algorithms 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Part
from matchwood.engines.pst import engine as pst
from matchwood.engines.pst.candidates import Candidates
from matchwood.engines.pst.signatures import SignatureArrays, Signatures

PUBLISHED: Mapping[str, Any] = {"signatures": True, **pst.PUBLISHED}


class PSTBloom(pst.AccessEngine):
    """VLDB 2018, section 5.

    `signatures`      also ask the Bloom filters before a candidate is verified. They are off unless asked for: a
                      candidate's test lies in its list and takes 1 to 2 ns, less than asking any filter does
    `signature_bits`  at least so many bits of a filter for each unit in it

    The others are those of `AccessEngine`. Signatures ask for one candidate after the other: with them, events are not
    matched list by list.
    """

    name: ClassVar[str] = "pstbloom"
    options: ClassVar[Mapping[str, Any]] = {"signatures": False, "signature_bits": 8, **pst.OPTIONS}
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"signature_bits": (1, 64)}
    published: ClassVar[Mapping[str, Any]] = PUBLISHED

    _signatures = Part(
        lambda engine: Signatures(engine.settings["signature_bits"]),
        when="_signing",
        units="store.count",
        attributes="store.attributes",
    )

    @property
    def _signing(self) -> bool:
        return bool(self.settings["signatures"])

    def _lists(self) -> Candidates:
        return Candidates(self._wanted, tested=self.settings["side_by_side"])

    @property
    def _by_lists(self) -> bool:
        return not self._signing and super()._by_lists

    def index(self, units: NDArray[np.int32]) -> None:
        super().index(units)
        if self._signing:
            columns = self.live_units(), self._states.view()
            self._signatures.enter(self.store.view(), self.store.attributes, units, *columns)

    def _signature_arrays(self) -> SignatureArrays:
        return self._signatures.view()

    def stats(self) -> dict[str, Any]:
        return {
            **super().stats(),
            "bytes_signatures": self._signatures.nbytes,
            "signature_false_positives": round(self._signatures.false_positives(self.store.count), 4),
        }

    def audit_lists(self, units: NDArray[np.int32]) -> list[str]:
        problems = super().audit_lists(units)
        if not self._signing:
            return problems
        return problems + self._signatures.audit(self.store.view(), units, self._states.view())
