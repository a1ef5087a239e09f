"""Indexes that this process has open, by path and version, shared by all of its tasks.

The arrays are mapped from files, so that all workers of a host share one copy of them in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from matchwood import storage
from matchwood.encoding import QUIET, Strictness
from matchwood.errors import InvalidArgument
from matchwood.matching import ALL_RULES, BestRules, Request
from matchwood.sharding import Answered, Shard, answers_of_one, open_shards

KEPT = 2
"""Versions that stay open: a stream that follows new ones may still have tasks of the last."""


class OpenedIndex:
    """One version of an index.

    `attributes`  the names that live rules ask events for, each with its type
    `id_type`     int64 or string
    `shards`      the names of its shards
    `bytes`       their size
    `engine`      what it was built with
    """

    def __init__(self, path: storage.Path, version: int, room: int | None) -> None:
        self._set = open_shards(path, version, room=room)
        self.attributes, self.id_type = self._set.attributes, self._set.id_type
        self.shards, self.bytes = self._set.layout.shards, self._set.bytes
        self.event_settings, self.engine = self._set.event_settings, str(self._set.settings["engine"])
        self._held: tuple[int, Shard] | None = None

    def answer(
        self, events: Any, missing: str, on_error: str, shard: int | None = None, request: Request = ALL_RULES
    ) -> Iterator[Answered]:
        """The rules of events, in pieces; those of one shard alone if it is given, by its position.

        What is missing or does not fit is then found once for all shards, where the first one answers.
        """
        strictness = Strictness(missing, on_error)
        if shard is None:
            return self._set.answers(events, strictness, request)
        told = self._told(events, strictness) if shard == 0 else []
        return _with_errors(answers_of_one(self._only(shard), events, QUIET, request), told)

    def best(self, n: int, weights: Any, weight: str = "added") -> BestRules:
        """The request for the best rules; weights of attributes that no rule has are passed over."""
        return self._set.best(n, weights, weight)

    def asked(self, ranks: bool) -> dict[str, str]:
        """The names that events are asked for. A score may ask for more than matching does: `a = 1 or true` for a."""
        return {**self._set.types(), **self.attributes} if ranks else self.attributes

    def kept(self) -> list[Shard]:
        """The shards that are open, for those who ask what they did."""
        held = [] if self._held is None or self._set.keeps(self._held[1]) else [self._held[1]]
        return [*self._set.opened.values(), *held]

    def _told(self, events: Any, strictness: Strictness) -> list[tuple[int, str]]:
        chunks = self._set.asking().chunks_of(events, strictness)
        return [error for chunk in chunks for error in chunk.encode().errors]

    def _only(self, number: int) -> Shard:
        """A shard. It stays open while there is room, and without room until another one is asked for."""
        held = self._held
        if held is None or held[0] != number:
            held = self._held = (number, self._set.shard(self.shards[number]))
        return held[1]


def _with_errors(pieces: Iterator[Answered], told: list[tuple[int, str]]) -> Iterator[Answered]:
    first = 0
    for piece in pieces:
        count = len(piece.offsets) - 1
        yield piece._replace(errors=[(row - first, error) for row, error in told if first <= row < first + count])
        first += count


_open: OrderedDict[tuple[str, int, int | None], Future[OpenedIndex]] = OrderedDict()
_lock = threading.Lock()


def open_version(path: storage.Path, version: int, room: int | None = None) -> OpenedIndex:
    """A version, opened once in this process; `room` is that for shards that stay open, see `open_shards`.

    Whoever comes first opens it; those who want the same one wait, and nobody else does.
    """
    key = (str(path), version, room)
    with _lock:
        opening = _open.get(key)
        is_first = opening is None
        if opening is None:
            opening = _open[key] = Future()
        _open.move_to_end(key)
        while len(_open) > KEPT:
            _open.popitem(last=False)
    if is_first:
        _fill(opening, key, path)
    return opening.result()


def _fill(opening: Future[OpenedIndex], key: tuple[str, int, int | None], path: storage.Path) -> None:
    """Open it for all who wait; what fails is tried anew by whoever comes next."""
    try:
        opening.set_result(OpenedIndex(path, *key[1:]))
    except BaseException as error:
        with _lock:
            if _open.get(key) is opening:
                del _open[key]
        opening.set_exception(error)


def current(path: storage.Path, version: int | None) -> int:
    """The version to use: the one asked for, or the one that is current now."""
    if version is None:
        return storage.current_version(path)
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidArgument(f"a version is a whole number (got {version!r})")
    return version
