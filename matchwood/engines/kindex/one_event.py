"""One event after the other through the runs of a K-index (VLDB 2009, section 6 for several)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from matchwood.engines.shared.one_event import BatchOfOne, EventBuffers, OneEventSearch
from matchwood.engines.shared.output import HitOutput, Output

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from matchwood.engines.kindex.run import Run
    from matchwood.engines.shared.store import ConjunctionStore
    from matchwood.engines.shared.workspace import Workspace


def search_runs(
    runs: Sequence[Run], store: ConjunctionStore, states: NDArray[np.uint8], workspace: Workspace
) -> OneEventSearch:
    """All runs, made ready for single events; most often there is one."""
    buffers, total = EventBuffers(store.attributes), sum(run.size for run in runs)
    output = Output(workspace, buffers.events, 0, total).arrays
    calls = [run.call(store, states, buffers.source, (0, 1), workspace, output) for run in runs]
    matching = [BatchOfOne(kernel, buffers, output.work, arguments) for kernel, arguments in calls]
    if len(matching) == 1:
        return matching[0].search(buffers, output.units)
    several = _SeveralRuns(matching, output, total)
    return OneEventSearch(several, buffers, several.units, several.work)


class _SeveralRuns:
    """Runs that write their hits to one place, one after the other; `units` and `work` are those of all."""

    def __init__(self, runs: list[BatchOfOne], output: HitOutput, total: int) -> None:
        self._runs, self._output = runs, output
        self.units, self.work = np.empty(total, np.int32), np.zeros(len(output.work), np.int64)

    def __call__(self, count: int) -> int:
        found, self.work[:] = 0, 0
        for run in self._runs:
            hits = run(count)
            self.units[found : found + hits] = self._output.units[:hits]
            self.work += self._output.work
            found += hits
        return found
