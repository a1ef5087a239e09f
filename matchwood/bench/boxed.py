"""Work in a box: a process of its own that is ended when its time is over, so that nothing hopeless eats a run."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from matchwood.bench.measure import WrongAnswer

Result = TypeVar("Result")


def boxed(action: Callable[[], Result], seconds: float) -> Result | None:
    """What an action returns, or None when it takes longer; it sees all that is in memory, and changes none of it."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(action, theirs))
    process.start()
    theirs.close()
    try:
        if not mine.poll(seconds):
            return None
        found: Result | BaseException = mine.recv()
    except EOFError:
        raise WrongAnswer("a measurement ended without a result: memory may have run out") from None
    finally:
        process.kill()
        process.join()
        mine.close()
    if isinstance(found, BaseException):
        raise found
    return found


def _send(action: Callable[[], Result], pipe: Connection) -> None:
    try:
        pipe.send(action())
    except Exception as error:
        pipe.send(error)
