"""Ranking: rules become programs that score them, and the best of an event's hits are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.ranking.bounds import Row, RowBounds, clause_bounds, row_bounds
    from matchwood.ranking.event_weights import WEIGHT, GivenWeights, check_one, checked_role
    from matchwood.ranking.ranked import NO_WORK, joined, merged
    from matchwood.ranking.rule_weights import RuleWeights, check_values
    from matchwood.ranking.score_programs import ScorePrograms, tree_of
    from matchwood.ranking.weight_caps import check_caps
    from matchwood.ranking.weights import StatedWeights, caps_of, checked_weights
    from matchwood.ranking.witnesses import witness
    from matchwood.ranking.written_rules import WrittenPrograms, put_term_bounds

__all__ = [
    "NO_WORK",
    "WEIGHT",
    "GivenWeights",
    "Row",
    "RowBounds",
    "RuleWeights",
    "ScorePrograms",
    "StatedWeights",
    "WrittenPrograms",
    "caps_of",
    "check_caps",
    "check_one",
    "check_values",
    "checked_role",
    "checked_weights",
    "clause_bounds",
    "joined",
    "merged",
    "put_term_bounds",
    "row_bounds",
    "tree_of",
    "witness",
]

__getattr__ = exports(__name__)
