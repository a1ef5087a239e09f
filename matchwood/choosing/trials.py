"""Trials of other engines in a thread beside an index: those who match never wait for more than an exchange.

The thread takes the writers' turn twice: to copy the store, and to make up for what came and went since. Between the
two it holds no lock, except that it matches a few events at a time by the engine at work, as any reader does.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from matchwood.choosing.auto import AutoMatcher
from matchwood.errors import MatchwoodError

if TYPE_CHECKING:
    from matchwood.index import Index


def begin_trial(index: Index, matcher: AutoMatcher) -> None:
    """Begin a trial in a thread of its own, unless one is under way."""
    if matcher.trying.acquire(blocking=False):
        threading.Thread(target=_run, args=(index, matcher), name="matchwood trial", daemon=True).start()


def _run(index: Index, matcher: AutoMatcher) -> None:
    try:
        run_trial(index, matcher)
    except (MatchwoodError, MemoryError) as error:
        # Nobody waits for a trial; whoever matches or changes the index next meets the same error, if it is one.
        matcher.choice.why += f"; a trial failed ({error!r:.200})"
        matcher.ledger.clock.look_later()
    finally:
        matcher.trying.release()


def run_trial(index: Index, matcher: AutoMatcher) -> None:
    """Try what may be better, if that is worth its price, and take it over if it is."""
    with index._unchanged():
        if not index._is_matched_by(matcher):
            return
        index._check()
        trial = matcher.begin_trial()
    if trial is None:
        return
    best = trial.run(matcher.match_now(trial, index._lock.reading))
    with index._unchanged():
        chosen = matcher.take_over(trial, best) if index._is_matched_by(matcher) else None
        if chosen is not None:
            with index._storing():
                matcher.adopt(chosen)
