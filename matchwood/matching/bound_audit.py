"""Whether no rule scores more than its bound, on events made of the rules' own constants."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import NULL_LABEL, QUIET
from matchwood.engines import read_only, read_only_events
from matchwood.ranking import GivenWeights, tree_of, witness
from matchwood.ranking._excess_kernels import find_excess

if TYPE_CHECKING:
    from matchwood.matching.engine_matcher import EngineMatcher

MOST_RULES, EVENTS_EACH = 256, 4
"""Rules, spread over all, that events are made of, and how many of each; all rules are held against all events."""


def audit_bounds(matcher: EngineMatcher) -> list[str]:
    """The invariant of `ranking/bounds.py`, tried out: every rule that scores more than its units promise."""
    rng = random.Random("bounds")
    events = _events(matcher, rng)
    excess = np.zeros(matcher.table.row_count)
    names = sorted(matcher.score_programs.names)
    for chunk in matcher.encoder.chunks_of(events, QUIET):
        weights = [{name: 4 * rng.random() for name in names if rng.random() < 0.5} for _ in range(chunk.size)]
        _hold(matcher, chunk, weights, excess)
    wrong = np.flatnonzero(excess > 0).astype(np.int32)
    return [
        f"rule {rule_id!r} scores {above:g} more than its bound"
        for rule_id, above in zip(matcher.table.id_list(wrong), excess[wrong].tolist(), strict=True)
    ]


def _events(matcher: EngineMatcher, rng: random.Random) -> list[dict[str, Any]]:
    live = matcher.table.live_rows()
    rows = live[np.unique(np.linspace(0, max(0, len(live) - 1), min(len(live), MOST_RULES)).astype(np.int64))]
    trees = [tree_of(text) for text in matcher.table.texts(rows).to_pylist()]
    return [witness(tree, rng) for tree in trees for _ in range(EVENTS_EACH)]


def _hold(matcher: EngineMatcher, chunk: Any, weights: list[dict[str, float]], excess: NDArray[np.float64]) -> None:
    """Match and score the events of a chunk, piece by piece as the output has room."""
    # It is made of a matcher.
    from matchwood.matching.event_scoring import EventScoring
    from matchwood.matching.request import BestRules

    part = matcher.parts[0]
    assert part.bounds is not None
    codes, first = read_only_events(chunk.encode().events), 0
    request = BestRules(1, GivenWeights(weights, ()))
    scoring = EventScoring(matcher, request, lambda: matcher.score_programs.encode_chunk(chunk.given))
    while first < codes.count:
        hits = part.engine.match(codes, first, matcher.workspace)
        labels = np.full(part.store.attributes, NULL_LABEL, np.int32)
        rows = np.full(len(excess), -1.0), np.empty(len(excess), np.int64), excess
        offsets = np.concatenate((np.full(first, hits.offsets[0]), hits.offsets))
        found = read_only(offsets, np.int64), read_only(hits.units, np.int32)
        with scoring.scoring_context(part.kind, matcher.workspace) as context:
            units = part.store.view(), part.bounds.view()
            find_excess(*units, context, codes, *found, labels, *rows)
        first += hits.count
