"""Indexes that this process has open, by path and version, shared by all of its tasks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood import storage
from matchwood.encoding.events import columns_needed
from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.indexing import persistence
from matchwood.indexing.compiled_events import CompiledEvents

KEPT = 2
"""Versions that stay open: a stream that follows new ones still has batches of the last."""

_open: OrderedDict[tuple[str, int], OpenedIndex] = OrderedDict()
_lock = threading.Lock()


class Answered(NamedTuple):
    """The rules of some events: offsets into ids; and with on_error="report" rows and messages, counted from 0."""

    offsets: NDArray[np.int64]
    ids: pa.Array
    errors: list[tuple[int, str]]


class OpenedIndex:
    """One version of an index, mapped."""

    def __init__(self, path: str, version: int) -> None:
        self._index = Index.__new__(Index)
        persistence.restore(self._index, path, read_only=True, verify="auto")
        self._index._set_up_locks()
        kinds = {source.name: source.kind for source in self._index._encoder.sources()}
        self.attributes = {name: kinds[name] for name in columns_needed(self._index._encoder)}
        self.id_type = self._index._table.id_type
        self.shards = 1
        self.bytes = sum(info.bytes for info in storage.versions(path) if info.version == version)

    def answer(self, events: Any, missing: str, on_error: str) -> Iterator[Answered]:
        index = self._index
        for chunk in index._encoder.event_chunks(events, missing, on_error):
            errors = chunk.encode().errors if on_error == "report" else []
            asked = CompiledEvents(index._matcher, chunk)  # type: ignore[arg-type]
            first = 0
            while first < chunk.size:
                rows = asked.rows(first)
                start = chunk.first_row + first
                first += rows.count
                mine = [(row - start, told) for row, told in errors if start <= row < start + rows.count]
                yield Answered(rows.offsets, index._table.ids(rows.rows), mine)


def opened(path: str, version: int) -> OpenedIndex:
    """The version at the path, opened once in this process."""
    with _lock:
        if (path, version) not in _open:
            _open[path, version] = OpenedIndex(path, version)
            while len(_open) > KEPT:
                _open.popitem(last=False)
        _open.move_to_end((path, version))
        return _open[path, version]


def current(path: str, version: int | None) -> int:
    """The version to use: the one asked for, or the current one as of now."""
    if version is None:
        return storage.current_version(path)
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidArgument(f"a version is a whole number (got {version!r})")
    return version
