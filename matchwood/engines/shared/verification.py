"""Candidates in, hits out: for an engine that finds candidates by itself and leaves the rest to the store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import NULL_LABEL, EncodedEvents
from matchwood.engines.base import Hits
from matchwood.engines.shared._verified_kernels import match_candidates
from matchwood.engines.shared.output import Output
from matchwood.engines.shared.store import ConjunctionStore
from matchwood.engines.shared.views import read_only, read_only_events
from matchwood.engines.shared.workspace import Workspace


def verified(
    store: ConjunctionStore,
    candidates: list[NDArray[np.int32]],
    events: EncodedEvents,
    first: int,
    workspace: Workspace,
) -> Hits:
    """The hits of the events from `first` on, among the candidates of each; no unit may stand there twice."""
    starts = np.cumsum([0, *map(len, candidates)], dtype=np.int64)
    units = np.concatenate([np.empty(0, np.int32), *candidates])
    output = Output(workspace, events, first, int(np.diff(starts).max(initial=0)))
    match_candidates(
        store.view(), read_only(starts, np.int64), read_only(units, np.int32), read_only_events(events), first,
        workspace.array("labels", store.attributes, np.int32, NULL_LABEL),
        output.units, output.offsets, output.work,
    )  # fmt: skip
    return output.hits()
