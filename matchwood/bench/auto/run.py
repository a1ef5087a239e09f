"""How `auto` would have fared on a cell: its real choices and trials, on a clock that is turned forward between them.

A million events are not matched: what an event takes is measured once for each engine that is at work, and counted as
often as events pass before the index looks at its choice again. Looking, building and trials really happen, and
their processor time is added.
"""

from __future__ import annotations

import math
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from matchwood.bench.auto.cells import Outcome
from matchwood.bench.auto.plan import AMORTISED, GridScale
from matchwood.bench.frame.measure import measure_engine
from matchwood.choosing import LEAST_UNITS, AutoMatcher, Model, features_of, match_all
from matchwood.engines import chosen_class
from matchwood.matching import taken
from matchwood.rules import RuleTable

TURNS = 4
"""Two engines that are compared have so many turns each, every one on events of its own."""


class Fared(NamedTuple):
    """Of one cell: the engine by rules and the last one, µs per event in all, and the seconds beside matching."""

    by_rules: str
    last: str
    us: float
    steady_us: float
    beside_s: float
    trials: int
    changes: int
    why: str


def fare(outcome: Outcome, model: Model, size: GridScale) -> Fared:
    """Let an index choose by the rules, see events, and change its mind, until so many events have passed."""
    matcher, beside = _matcher(outcome, model)
    first, given = matcher.name, outcome.given
    matcher.ledger.note(given.seen, 0, ())
    us, events, total = _us_now(matcher, outcome, size), 0.0, 0.0
    while events < AMORTISED:
        wait = max(0.0, matcher.ledger.clock._look_at - matcher.ledger.clock.seconds) + 1e-9
        passed = min(AMORTISED - events, wait * 1e6 / max(1e-3, us))
        if given.store.live < LEAST_UNITS:
            passed = AMORTISED - events
        matcher.ledger.clock.fold(int(passed) + 1, int(outcome.hits * (passed + 1)), passed * us / 1e6)
        events, total = events + passed, total + passed * us / 1e6
        if events < AMORTISED:
            seconds, changed = _look(matcher)
            beside += seconds
            if changed:
                us = _us_now(matcher, outcome, size)
    whole = 1e6 * (total + beside) / AMORTISED + outcome.fallback_us
    told = matcher.choice
    return Fared(first, matcher.name, whole, us + outcome.fallback_us, beside, told.trials, told.changes, told.why)


def _us_now(matcher: AutoMatcher, outcome: Outcome, size: GridScale) -> float:
    """What an event takes now. Of an engine that is laid out as in the table, what it took there; of one that was laid
    out by events, or has its unions by now, that time and the ratio of the two, measured in turns: the machine is not
    the same all the time."""
    given, plain_us = outcome.given, outcome.own_us(matcher.name)
    if not math.isfinite(plain_us):
        return measure_engine(matcher.engine, given.events, size.seconds).match_us
    differs = matcher.engine.uses_event_statistics or matcher.engine.unites
    if not differs or not matcher.choice.trials:
        return plain_us
    plain = chosen_class(matcher.name)(given.store.copy())
    plain.rebuild()
    taken_us = [
        [measure_engine(engine, events, size.seconds / TURNS).match_us for engine in (plain, matcher.engine)]
        for events in (taken(given.events, some) for some in np.array_split(np.arange(given.events.count), TURNS))
    ]
    own, laid_out = np.median(taken_us, axis=0).tolist()
    return plain_us * float(laid_out / own)


def _matcher(outcome: Outcome, model: Model) -> tuple[AutoMatcher, float]:
    """A matcher over the cell's store, laid out as after a bulk insertion; and the seconds that choosing took."""
    given = outcome.given
    matcher = AutoMatcher(given.encoder, RuleTable(), {}, 256)
    matcher.choice._model = model
    store = matcher.parts[0].store = given.store.copy()
    matcher.adopt(chosen_class(matcher.name)(store))
    matcher.rebuild()
    started = thread_time()
    features_of(given.store, None)
    return matcher, thread_time() - started


def _look(matcher: AutoMatcher) -> tuple[float, bool]:
    """What `trials.run_trial` does, without an index: processor seconds, and whether another engine is at work."""
    started = thread_time()
    trial = matcher.begin_trial()
    chosen: Any = None
    if trial is not None:
        chosen = matcher.take_over(trial, trial.run(match_all(matcher.engine)))
    seconds = thread_time() - started
    if chosen is not None:
        matcher.adopt(chosen)
    return seconds, chosen is not None
