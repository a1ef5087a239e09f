"""Why a rule is TRUE, FALSE or NULL of an event: the tree with its truth, and the predicates that decide it."""

from matchwood.insight.explain.explanation import Explanation, explain_expression

__all__ = ["Explanation", "explain_expression"]
