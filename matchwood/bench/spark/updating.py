"""What an update costs where an index lies, and what a host fetches that has the version before.

`mws.update` replaces some rules of an index that `mws.build` has made, and builds all shards anew where that is due.
All that travels to an object store goes through a relay that counts. Each update begins from the same rules, and its
answers are held against those of an index of the rules as they are then.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from matchwood import storage
from matchwood.bench.frame.measure import WrongAnswer, require_hits
from matchwood.bench.frame.relay import Relay, Travelled
from matchwood.bench.spark.rivals import session_for
from matchwood.bench.spark.update_answers import UpdateAnswers
from matchwood.progress import Progress
from matchwood.sharding import ShardSet, open_shards
from matchwood.workloads import begen

RULES = {"smoke": 2_000, "quick": 20_000, "full": 1_000_000, "paper": 1_000_000}
CHANGED = {
    "smoke": (1, 50),
    "quick": (1, 100, 2_000),
    "full": (1, 1_000, 100_000),
    "paper": (1, 1_000, 100_000),
}
EVENTS, SEED = 200, 31
STORE, ENDPOINT, CACHE = "MATCHWOOD_BENCH_STORE", "AWS_ENDPOINT_URL", "MATCHWOOD_SNAPSHOTS_DIR"

Row = dict[str, Any]


def run(scale: str) -> dict[str, Any]:
    count, changed = RULES[scale], CHANGED[scale]
    work = begen(rules=count + max(changed), events=EVENTS, seed=SEED)
    texts, events = work.rules_table()["expression"].combine_chunks(), work.events_table()
    with (
        tempfile.TemporaryDirectory(prefix="matchwood-bench-") as home,
        Progress("bench update"),
        contextlib.ExitStack() as stack,
    ):
        with mock.patch.dict(os.environ, {CACHE: f"{home}/executors"}):
            session = stack.enter_context(session_for())
        answers = UpdateAnswers(texts.slice(0, count), events)
        rows = [
            row
            for place in _places(home)
            for row in _Updates(session, place, texts, answers, events, home).rows(changed)
        ]
    return {"experiment": "update", "scale": scale, "rows": rows}


class _UpdatePlace:
    """Where an index lies on disk; nothing travels there."""

    name = "disk"
    is_remote = False

    def __init__(self, path: Any) -> None:
        self.path = path

    def travelled(self) -> Travelled:
        return Travelled(0, 0, 0)

    def files(self) -> dict[int, int]:
        """All files, by what tells a file from another link to it, with their sizes."""
        found = [each.stat() for each in Path(self.path).rglob("*") if each.is_file()]
        return {each.st_ino: each.st_size for each in found}


class _StorePlace(_UpdatePlace):
    """Where an index lies on an object store that is reached through a relay."""

    name = "object store"
    is_remote = True

    def __init__(self, uri: str, relay: Relay) -> None:
        super().__init__(storage.location_of(uri, {"endpoint": relay.endpoint}))
        self._relay = relay

    def travelled(self) -> Travelled:
        return self._relay.travelled

    def files(self) -> dict[int, int]:
        return {}


def _places(home: str) -> Iterator[_UpdatePlace]:
    yield _UpdatePlace(f"{home}/index")
    if os.environ.get(STORE):
        with Relay(os.environ[ENDPOINT]) as relay:
            yield _StorePlace(f"{os.environ[STORE].rstrip('/')}/{os.path.basename(home)}", relay)


class _Updates:
    """An index at a place that is changed, and a host that opens it."""

    def __init__(
        self, session: Any, place: _UpdatePlace, texts: pa.Array, answers: UpdateAnswers, events: pa.Table, home: str
    ) -> None:
        self._session, self._place, self._texts, self._events = session, place, texts, events
        self._answers, self._count, self._home = answers, answers.count, home

    def rows(self, changed: tuple[int, ...]) -> Iterator[Row]:
        from matchwood import spark as mws

        mws.build(self._frame(np.arange(self._count), self._texts.slice(0, self._count)), self._place.path)
        first = self._updated(1)  # from now on the executors have the rules' texts
        for number in changed:
            storage.rollback(self._place.path, 1)
            yield {**self._row(number), "first_read": first["read"]}
        storage.vacuum(self._place.path, keep=1, grace="0 seconds")

    def _row(self, number: int) -> Row:
        with mock.patch.dict(os.environ, {CACHE: f"{self._home}/reader"}):
            _opened(self._place.path)  # the version before
            updated = self._updated(number)
            before, begin = self._place.travelled(), time.perf_counter()
            shards = _opened(self._place.path)
            fetch_s, fetched = time.perf_counter() - begin, self._place.travelled().since(before)
            hits = self._check(shards, number)
        return {
            "engine": "auto",
            "workload": f"begen, {self._place.name}",
            "place": self._place.name,
            "rules": self._count,
            "events": self._events.num_rows,
            "hits_per_event": round(hits / self._events.num_rows, 2),
            "bytes_index": shards.bytes,
            "checked": True,
            "changed": number,
            **updated,
            "fetch_s": round(fetch_s, 3),
            "fetch_requests": fetched.requests if self._place.is_remote else None,
            "fetched": fetched.received if self._place.is_remote else None,
        }

    def _updated(self, number: int) -> Row:
        """Replace so many rules; returns what that took."""
        from matchwood import spark as mws

        changes = self._frame(*self._changes(number))
        before, files, begin = self._place.travelled(), self._place.files(), time.perf_counter()
        report = mws.update(changes, self._place.path)
        seconds, travelled = time.perf_counter() - begin, self._place.travelled().since(before)
        new = sum(size for inode, size in self._place.files().items() if inode not in files)
        if (report.replaced, report.problem) != (number, None):
            raise WrongAnswer(f"{report.replaced:,} rules were replaced instead of {number:,}, {report.problem}")
        return {
            "update_s": round(seconds, 3),
            "compacted": report.compacted,
            "requests": travelled.requests if self._place.is_remote else None,
            "read": travelled.received if self._place.is_remote else None,
            "written": travelled.sent if self._place.is_remote else new,
        }

    def _changes(self, number: int) -> tuple[Any, pa.Array]:
        rows = np.random.default_rng(SEED).choice(self._count, number, replace=False)
        return rows, self._texts.slice(self._count, number)

    def _frame(self, ids: Any, texts: pa.Array) -> Any:
        file = f"{self._home}/{len(texts)}.parquet"
        pq.write_table(pa.table({"id": ids, "expression": texts}), file)
        return self._session.read.parquet(file)

    def _check(self, shards: ShardSet, number: int) -> int:
        """Hold the answers against those of the same rules in other indexes; returns how many hits there are."""
        expected = self._answers.after(*self._changes(number))
        require_hits(len(expected), "bench update")
        if not np.array_equal(self._answers.found(shards.match_lists(self._events)), expected):
            raise WrongAnswer("after an update, events match others than in an index of the same rules")
        return len(expected)


def _opened(path: Any) -> ShardSet:
    """The current version, with all of its shards open."""
    shards = open_shards(path)
    for shard in shards.walk():
        assert shard.matcher is not None
    return shards
