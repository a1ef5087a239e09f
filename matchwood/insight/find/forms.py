"""A rule that has more conjunctions than can be written down, and one query.

Stabbing a subscription and implication ask about the events that satisfy the rule, and are decided by a case split. The
other semantics ask about its conjunctions: a few of them are looked at, and decide most questions either way.
"""

from __future__ import annotations

from collections.abc import Callable

from matchwood.insight.find.points import verdicts
from matchwood.insight.find.query import Query
from matchwood.insight.find.search import surely_can_hold
from matchwood.insight.find.witness import each_is_enclosed, every_is_contained, some_stabs_event
from matchwood.logic import EMPTY, Conjunction, Form, Leaf, conjoined, negate, negated_rows


def decided_form(rule: Form, query: Query) -> bool:
    """Whether the rule answers the query; LimitExceeded where that cannot be told."""
    return _DECISIONS[query.semantics](rule, query.rows)


def _stabs_subscription(rule: Form, query: list[Conjunction]) -> bool:
    """Whether some event that has only what the query names, and that as it asks, satisfies the rule."""
    keys = {leaf.attribute for leaf in rule.leaves}
    return any(surely_can_hold(rule, _alone(row, keys)) for row in query)


def _alone(row: Conjunction, keys: set[str]) -> Conjunction:
    """The query's conjunction, and NULL for all that it leaves out."""
    told = (*row, *verdicts(row, keys))
    missing = keys - {leaf.attribute for leaf in told}
    return tuple(sorted((*told, *(Leaf(key, EMPTY, True) for key in missing))))


def _implies(rule: Form, query: list[Conjunction]) -> bool:
    return not surely_can_hold(conjoined([rule, negated_rows(query)]), ())


def _implied_by(rule: Form, query: list[Conjunction]) -> bool:
    keys, refused = {leaf.attribute for leaf in rule.leaves}, negate(rule)
    rows = (tuple(sorted((*row, *verdicts(row, keys)))) for row in query)
    return not any(surely_can_hold(refused, row) for row in rows)


_DECISIONS: dict[str, Callable[[Form, list[Conjunction]], bool]] = {
    "stabbing_subscription": _stabs_subscription,
    "stabbing_event": some_stabs_event,
    "containment": every_is_contained,
    "enclosure": each_is_enclosed,
    "implies": _implies,
    "implied_by": _implied_by,
}
