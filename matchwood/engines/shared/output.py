"""Where a match kernel writes its hits, and how they leave it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import EncodedEvents
from matchwood.engines.base import Hits, Work
from matchwood.engines.shared.workspace import Workspace
from matchwood.errors import InvalidArgument


class HitOutput(NamedTuple):
    """What a match kernel fills; docs/protocols.md tells what it does when that is full.

    `units`    the hits of all events, one event behind the other
    `offsets`  where those of each event end, from 0 on
    `work`     events covered, candidates, verified, matched, and postings read where the engine has posting lists
    """

    units: NDArray[np.int32]
    offsets: NDArray[np.int64]
    work: NDArray[np.int64]


class Output:
    """Room in the workspace for the hits of a call: the most that one event can have always fits."""

    def __init__(self, workspace: Workspace, events: EncodedEvents, first: int, worst: int) -> None:
        count = len(events.offsets) - 1
        if not 0 <= first <= count:
            raise InvalidArgument(f"the first event to match must be in 0 to {count} (got {first})")
        self.first, self._lends = first, workspace.lends
        self.units: NDArray[Any] = workspace.array("hits.units", worst + workspace.room, np.int32, None)
        self.offsets: NDArray[Any] = workspace.array("hits.offsets", count - first + 1, np.int64, None)
        self.work = np.zeros(5, dtype=np.int64)
        self.offsets[0] = 0

    @property
    def arrays(self) -> HitOutput:
        """The arrays for kernels."""
        return HitOutput(self.units, self.offsets, self.work)

    def hits(self) -> Hits:
        """The hits as arrays of their own, which the caller may keep while the next call runs."""
        return self._hits().owned()

    def last_hits(self) -> Hits:
        """The same, by an engine that has done with the workspace: as they lie there, if that is enough."""
        return self._hits() if self._lends else self.hits()

    def _hits(self) -> Hits:
        covered, *work = self.work.tolist()
        offsets = self.offsets[: covered + 1]
        return Hits(self.first, offsets, self.units[: offsets[-1]], Work(*work))
