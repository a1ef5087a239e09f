"""PSTBloom: candidates by one access predicate, and Bloom filters that tell some of those apart that cannot match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood.engines.pst import engine as pst
from matchwood.engines.pst.candidates import Candidates
from matchwood.engines.pst.signatures import SignatureArrays, Signatures
from matchwood.engines.shared._residual_kernels import LIVE

PUBLISHED: Mapping[str, Any] = {"signatures": True, **pst.PUBLISHED}


class PSTBloom(pst.AccessEngine):
    """VLDB 2018, section 5.

    `signatures`      also ask the Bloom filters before a candidate is verified. They are off unless asked for: a
                      candidate's first test lies in its head and takes 1 to 2 ns, less than asking any filter does
    `signature_bits`  at least so many bits of a filter for each unit in it

    The others are those of `AccessEngine`. Signatures ask for one candidate after the other: with them none is packed.
    """

    name: ClassVar[str] = "pstbloom"
    options: ClassVar[Mapping[str, Any]] = {"signatures": False, "signature_bits": 8, **pst.OPTIONS}
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {"signature_bits": (1, 64), **pst.LIMITS}
    published: ClassVar[Mapping[str, Any]] = PUBLISHED

    def _lists(self) -> Candidates:
        packed = 0 if self.settings["signatures"] else self.settings["packed"]
        return Candidates(self._wanted, packed=packed, side_by_side=self.settings["side_by_side"])

    def _start(self) -> None:
        super()._start()
        self._signatures = Signatures(self.settings["signature_bits"])

    def _index(self, units: NDArray[np.int32]) -> None:
        super()._index(units)
        if self.settings["signatures"]:
            everyone = np.flatnonzero(self._states.view() == LIVE).astype(np.int32)
            self._signatures.enter(
                self.store.view(), self.store.attributes, units, everyone, self._access.view(), self._wanted
            )

    def _signature_arrays(self) -> SignatureArrays:
        return self._signatures.view()

    def arrays(self) -> dict[str, NDArray[Any]]:
        own = self._signatures.arrays() if self.settings["signatures"] else {}
        return {**super().arrays(), **own}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        super().restore(arrays, header)
        if self.settings["signatures"]:
            self._signatures.restore(arrays)

    def check(self) -> None:
        if not self._sound and self.settings["signatures"]:
            self._signatures.check(self.store.count, self.store.attributes)
        super().check()

    def stats(self) -> dict[str, Any]:
        bytes_signatures = sum(array.nbytes for array in self._signatures.arrays().values())
        own = super().stats()
        return {
            **own,
            "bytes_index": own["bytes_index"] + bytes_signatures,
            "bytes_signatures": bytes_signatures,
            "signature_false_positives": round(self._signatures.false_positives(self.store.count), 4),
        }

    def audit(self) -> list[str]:
        problems = super().audit()
        if not self.settings["signatures"]:
            return problems
        units = np.flatnonzero(self._states.view() == LIVE).astype(np.int32)
        return problems + self._signatures.audit(self.store.view(), units, self._access.view(), self._wanted)
