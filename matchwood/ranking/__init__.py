"""Ranking: rules become programs that score them, and the best of an event's hits are found."""

from matchwood.ranking.book import Book
from matchwood.ranking.given_bounds import check_bounds
from matchwood.ranking.rule_weights import RuleWeights, check_values

__all__ = ["Book", "RuleWeights", "check_bounds", "check_values"]
