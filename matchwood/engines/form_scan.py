"""The engine for rules over the DNF limit: every form, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from matchwood._arrays import Growable
from matchwood.encoding.codes import NULL_LABEL, EncodedEvents
from matchwood.engines._form_kernels import match_forms
from matchwood.engines._output import Output
from matchwood.engines._views import read_only_events, require, saved
from matchwood.engines.base import Engine, Hits
from matchwood.engines.forms import FormStore
from matchwood.engines.workspace import Workspace


class FormScan(Engine):
    """Evaluates the nodes of each form from the leaves up. Its candidates are all forms, each verified."""

    name: ClassVar[str] = "formscan"
    store: FormStore

    def __init__(self, store: FormStore, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(store, options)
        self._indexed = Growable(np.bool_)
        self._live = 0

    def insert(self, units: NDArray[np.int32]) -> None:
        self._indexed.resize(self.store.count, False)
        self._set(units, True)

    def remove(self, units: NDArray[np.int32]) -> None:
        self._set(units, False)

    def _set(self, units: NDArray[np.int32], present: bool) -> None:
        changed = np.unique(units[self._indexed.view()[units] != present])
        self._indexed.writable()[changed] = present
        self._live += len(changed) if present else -len(changed)

    def rebuild(self) -> None:
        self._indexed, self._live = Growable(np.bool_), 0
        self.insert(self.store.live_units())

    def match(self, events: EncodedEvents, first: int, workspace: Workspace) -> Hits:
        forms = self.store.view()
        output = Output(workspace, events, first, self._live)
        labels = workspace.array("labels", self.store.attributes, np.int32, NULL_LABEL)
        values = workspace.array("forms.values", self.store.most_nodes, np.bool_)
        match_forms(
            forms, self._indexed.view(), self._live, read_only_events(events), first, labels, values,
            output.units, output.offsets, output.work,
        )  # fmt: skip
        return output.hits()

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"indexed": self._indexed.view()}

    def header(self) -> dict[str, Any]:
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        indexed = saved(arrays, "indexed", np.bool_)
        require(len(indexed) <= self.store.count, "'indexed' names units that the store lacks")
        self._indexed = Growable(np.bool_, indexed)
        self._live = int(np.count_nonzero(indexed))

    def stats(self) -> dict[str, Any]:
        return {"always_candidates": self._live, "bytes_index": self._indexed.nbytes}

    def audit(self) -> list[str]:
        indexed = np.zeros(self.store.count, dtype=np.bool_)
        indexed[: len(self._indexed)] = self._indexed.view()
        wrong = np.flatnonzero(indexed != self.store.alive)
        return [f"form {wrong[0]} is alive or indexed, but not both ({len(wrong)} such)"] if len(wrong) else []
