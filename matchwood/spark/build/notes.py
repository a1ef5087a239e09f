"""How many rules the tasks of a build have read, told beside what they write: every kind of Spark has files.

Spark itself only tells how many tasks are done, and a build of one shard has one.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from matchwood import storage
from matchwood.progress import LoadProgress, Progress

EVERY_SECONDS = 1.0
"""How often a task tells, and the driver looks."""


@dataclass
class NoteWriter:
    """Tells how far one shard is, as `insert_many` tells it. Without a staging it tells nobody."""

    staging: storage.Staging | None
    name: str
    _told: float = 0.0
    _read: tuple[int, int] = (0, 0)

    def __call__(self, load: LoadProgress) -> None:
        self._read = load.read, load.rejected
        if time.monotonic() - self._told >= EVERY_SECONDS:
            self._tell(is_done=False)

    def finish(self) -> None:
        self._tell(is_done=True)

    def _tell(self, is_done: bool) -> None:
        # A build that cannot tell how far it is goes on all the same.
        with contextlib.suppress(OSError):
            if self.staging is not None:
                self.staging.note(self.name, json.dumps([*self._read, is_done]).encode())
        self._told = time.monotonic()


@dataclass
class NoteReader:
    """Adds up what the tasks have told; a shard that is done is not read again, and what was told before is old."""

    staging: storage.Staging
    _looked: float = 0.0
    _told: dict[str, tuple[int, int, bool]] = field(default_factory=dict)
    _old: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._old = {name: self.staging.noted_text(name) for name in self.staging.noted()}

    def __call__(self, line: Progress) -> None:
        if time.monotonic() - self._looked < EVERY_SECONDS:
            return
        self._looked = time.monotonic()
        for name in self.staging.noted():
            if not self._told.get(name, (0, 0, False))[2]:
                self._read(name, self.staging.noted_text(name))
        line.done, line.rejected = (sum(told[place] for told in self._told.values()) for place in range(2))

    def _read(self, name: str, text: bytes) -> None:
        if text != self._old.get(name):
            read, rejected, is_done = json.loads(text)
            self._told[name] = read, rejected, is_done


@contextlib.contextmanager
def counting_rules(line: Progress | None, staging: storage.Staging, total: int | None) -> Iterator[None]:
    """Have a line tell how many rules the tasks of the block have read, instead of how many tasks are done."""
    if line is None:
        yield
        return
    before = line.unit, line.total, line.look
    line.unit, line.total, line.look = "rules", total, NoteReader(staging)
    try:
        yield
    finally:
        line.unit, line.total, line.look = before
