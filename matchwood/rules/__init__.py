"""The table of rules: ids, texts, weights, and the way from hits back to rules."""

from matchwood.rules.hits import Rows
from matchwood.rules.table import RuleTable

__all__ = ["Rows", "RuleTable"]
