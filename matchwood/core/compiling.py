"""A thread that compiles beside, one thing after the other, and lets those go first who wait for a compiler.

Numba compiles one kernel at a time in a process. It is a daemon: a process that has ended its work does not wait for
it, and finds what was compiled until then the next time.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator

Work = Callable[[], object]


class Beside:
    """What waits for the thread, each thing once. The thread ends when there is nothing left."""

    def __init__(self) -> None:
        self._compiling = threading.Lock()
        """Held while the thread compiles a kernel: nobody may fork meanwhile, or the child had no compiler."""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._turn = threading.Condition()
        self._waiting: deque[tuple[Hashable, Work]] = deque()
        self._asked: set[Hashable] = set()
        self._failed: set[Hashable] = set()
        self._thread: threading.Thread | None = None
        self._ahead = 0
        """Threads that wait for a compiler."""

    @property
    def is_busy(self) -> bool:
        """Whether the thread has something to do."""
        return self._thread is not None

    def ask(self, key: Hashable, work: Work) -> bool:
        """Have something done, unless it is under way; False if it has failed: whoever asks meets the error."""
        with self._turn:
            if key in self._failed:
                return False
            if key not in self._asked:
                self._asked.add(key)
                self._waiting.append((key, work))
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._run, name="matchwood compiler", daemon=True)
                self._thread.start()
            return True

    def _run(self) -> None:
        while (found := self._next()) is not None:
            key, work = found
            failed = True
            with contextlib.suppress(Exception):
                work()
                failed = False
            with self._turn:
                self._asked.discard(key)
                self._failed |= {key} if failed else set()

    def _next(self) -> tuple[Hashable, Work] | None:
        with self._turn:
            if not self._waiting:
                self._thread = None
                return None
            return self._waiting.popleft()

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """The turn to compile one kernel: of the thread beside when nobody else waits."""
        if threading.current_thread() is self._thread:
            with self._turn:
                self._turn.wait_for(lambda: not self._ahead)
            with self._compiling:
                yield
            return
        with self._turn:
            self._ahead += 1
        try:
            yield
        finally:
            with self._turn:
                self._ahead -= 1
                self._turn.notify_all()

    def before_fork(self) -> None:
        self._compiling.acquire()

    def after_fork(self, in_child: bool) -> None:
        self._compiling.release()
        if in_child:
            self._begin_anew()


BESIDE = Beside()
"""The one of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=BESIDE.before_fork,
        after_in_parent=lambda: BESIDE.after_fork(in_child=False),
        after_in_child=lambda: BESIDE.after_fork(in_child=True),
    )
