"""Trials of other engines in a thread beside an index: those who match never wait for more than an exchange.

The thread takes the writers' turn three times: to plan, to copy the store, and to make up for what came and went since.
Between them it holds no lock, except that it matches a few events at a time by the engine at work, as any reader does.
Whatever has to be loaded or compiled for all that is, before, on a small index of its own (`rehearsal.py`): compiling
in a reader's turn would keep a writer waiting, and all who come after the writer. What the rules alone ask for is built
in the same way, without a trial (`run_choice`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matchwood.choosing.auto import AUTO, AutoMatcher
from matchwood.choosing.rehearsal import SOME_TIME, once, rehearse_features, rehearse_trial
from matchwood.engines import Engine
from matchwood.errors import MatchwoodError

if TYPE_CHECKING:
    from matchwood.index import Index


Work = Callable[["Index", AutoMatcher], None]

FEATURES = "features"
"""What is rehearsed before it is known which engines are worth a trial."""


def begin_trial(index: Index, matcher: AutoMatcher) -> None:
    """Begin a trial in a thread of its own, unless one is under way."""
    _begin(run_trial, index, matcher)


def begin_choice(index: Index, matcher: AutoMatcher) -> None:
    """Begin to look at the rules in a thread of its own, unless that or a trial is under way."""
    _begin(run_choice, index, matcher)


def _begin(work: Work, index: Index, matcher: AutoMatcher) -> None:
    if matcher.trying.acquire(blocking=False):
        threading.Thread(target=_run, args=(work, index, matcher), name="matchwood trial", daemon=True).start()


def _run(work: Work, index: Index, matcher: AutoMatcher) -> None:
    try:
        work(index, matcher)
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
        if not _is_matched_by(index, matcher):
            return
        index._check()
        plan = matcher.plan_trial()
    if plan is None:
        return
    for name in dict.fromkeys((matcher.name, *plan.names)):
        _rehearse_engine(index, matcher, name)
    with index._unchanged():
        trial = matcher.begin_trial(plan)
    if trial is None:
        return
    best = trial.run(matcher.match_now(trial, index._lock.reading))
    _adopt(index, matcher, functools.partial(matcher.take_over, trial, best))


def run_choice(index: Index, matcher: AutoMatcher) -> None:
    """Take the engine that should be better by the rules alone, if there is one."""
    _rehearse(index, matcher, FEATURES, rehearse_features)
    with index._unchanged():
        if not _is_matched_by(index, matcher):
            return
        index._check()
        wanted = matcher.wanted_by_rules()
    if wanted is None:
        return
    _rehearse_engine(index, matcher, wanted)
    with index._unchanged():
        trial = matcher.begin_building(wanted)
    _adopt(index, matcher, functools.partial(matcher.take_built, trial, trial.built(wanted)))


def _adopt(index: Index, matcher: AutoMatcher, chosen: Callable[[], Engine | None]) -> None:
    with index._unchanged():
        engine = chosen() if _is_matched_by(index, matcher) else None
        if engine is not None:
            with index._storing():
                matcher.adopt(engine)


def _rehearse_engine(index: Index, matcher: AutoMatcher, name: str) -> None:
    _rehearse(index, matcher, name, functools.partial(rehearse_trial, name=name, options=matcher.engine_options))


def _rehearse(index: Index, matcher: AutoMatcher, what: str, rehearse: Callable[[Any], None]) -> None:
    options = {**matcher.engine_options}
    once((AUTO, what, repr(sorted(options.items()))), lambda: rehearse(index._rehearsal(AUTO)), SOME_TIME)


def _is_matched_by(index: Index, matcher: AutoMatcher) -> bool:
    """Whether a matcher is still that of its index, which may have become another version of itself."""
    return index.__dict__.get("_matcher") is matcher
