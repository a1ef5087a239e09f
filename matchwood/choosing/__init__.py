"""Which engine suits the rules and the events of an index: what `engine="auto"` knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.choosing.auto import LEAST_UNITS, AutoMatcher
    from matchwood.choosing.features import Features, features_of
    from matchwood.choosing.matchers import matcher_for
    from matchwood.choosing.model import Model, fit, shipped, with_margins
    from matchwood.choosing.reconsidering import reconsider_if_due
    from matchwood.choosing.rehearsal import (
        get_ready,
        once,
        rehearse_changes,
        rehearse_loading,
        rehearse_matching,
        rehearse_ranking,
        rehearse_reading,
        rehearse_trial,
        rule,
    )
    from matchwood.choosing.trial import match_all
    from matchwood.choosing.trials import begin_choice

__all__ = [
    "LEAST_UNITS",
    "AutoMatcher",
    "Features",
    "Model",
    "begin_choice",
    "features_of",
    "fit",
    "get_ready",
    "match_all",
    "matcher_for",
    "once",
    "reconsider_if_due",
    "rehearse_changes",
    "rehearse_loading",
    "rehearse_matching",
    "rehearse_ranking",
    "rehearse_reading",
    "rehearse_trial",
    "rule",
    "shipped",
    "with_margins",
]

__getattr__ = exports(__name__)
