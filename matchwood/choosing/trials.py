"""Trials of other engines in a thread beside an index: those who match never wait for more than an exchange.

The thread takes the writers' turn three times: to plan, to copy the store, and to make up for what came and went since.
Between them it holds no lock, except that it matches a few events at a time by the engine at work, as any reader does.
Whatever has to be loaded or compiled for all that is, before, on a small index of its own (`rehearsal.py`): compiling
in a reader's turn would keep a writer waiting, and all who come after the writer.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matchwood.choosing.auto import AUTO, AutoMatcher
from matchwood.choosing.rehearsal import once, rehearse_features, rehearse_trial
from matchwood.errors import MatchwoodError

if TYPE_CHECKING:
    from matchwood.index import Index


FEATURES = "features"
"""What is rehearsed before it is known which engines are worth a trial."""


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
    _rehearse(index, matcher, FEATURES, rehearse_features)
    with index._unchanged():
        if not index._is_matched_by(matcher):
            return
        index._check()
        plan = matcher.plan_trial()
    if plan is None:
        return
    for name in dict.fromkeys((matcher.name, *plan.names)):
        _rehearse(index, matcher, name, functools.partial(rehearse_trial, name=name, options=matcher.engine_options))
    with index._unchanged():
        trial = matcher.begin_trial(plan)
    if trial is None:
        return
    best = trial.run(matcher.match_now(trial, index._lock.reading))
    with index._unchanged():
        chosen = matcher.take_over(trial, best) if index._is_matched_by(matcher) else None
        if chosen is not None:
            with index._storing():
                matcher.adopt(chosen)


def _rehearse(index: Index, matcher: AutoMatcher, what: str, rehearse: Callable[[Any], None]) -> None:
    options = {**matcher.engine_options}
    once((AUTO, what, repr(sorted(options.items()))), lambda: rehearse(index._rehearsal(AUTO)))
