"""`auto` as it never is: after every call that matches, another engine is built beside and taken.

What it delegates to keeps the contract anyway; what is special is changing engines in the middle of a life.
"""

from __future__ import annotations

import pytest

import matchwood
from matchwood.choosing import auto, trials
from matchwood.choosing.auto import AutoMatcher
from matchwood.engines import engine_names
from tests.contract.engines import EXHAUSTIVE
from tests.index.auto_support import obey

TURNS = [name for name in engine_names("conjunctions") if name not in EXHAUSTIVE]


def make_restless(patch: pytest.MonkeyPatch) -> None:
    """Trials happen at once, in the thread that has matched, and each is won by the engine whose turn it is."""

    def try_now(index: matchwood.Index, matcher: AutoMatcher) -> None:
        if matcher.trying.acquire(blocking=False):
            try:
                trials.run_trial(index, matcher)
            finally:
                matcher.trying.release()

    obey(patch, list(TURNS))
    patch.setattr(auto, "LEAST_SAMPLE", 1)
    patch.setattr(AutoMatcher, "reconsider_due", True)
    patch.setattr(trials, "begin_trial", try_now)
