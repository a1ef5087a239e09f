"""Questions about the conjunctions of a rule that has too many: decided by a few of them, or not at all.

Taking all children of every AND and one of every OR gives a *branch*; the rule's conjunctions are the branches that no
other covers. So a branch t lies in some conjunction w, which constrains no attribute that t does not. An attribute of
t is *critical* if t without it no longer implies the rule: then w constrains it too, and takes at least what t takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from matchwood.errors import LimitExceeded
from matchwood.insight.find.pairs import encloses, is_contained, stabs_event
from matchwood.insight.find.points import pattern_of
from matchwood.insight.find.query import FIND_LIMIT
from matchwood.insight.find.search import surely_can_hold
from matchwood.logic import (
    EMPTY,
    NEVER,
    Conjunction,
    Form,
    Leaf,
    accepts_only,
    choices,
    is_empty,
    meet,
    negate,
    of_leaves,
    restricted,
    union_all,
)

BRANCHES = 64
"""Branches that are looked at."""


def some_stabs_event(rule: Form, query: list[Conjunction]) -> bool:
    """Whether (3) holds of a conjunction of the rule and one of the query's."""
    found = (_some_conjunction(rule, row, _meets, stabs_event, _accepts_null) for row in query)
    return _known(found, decisive=True)


def each_is_enclosed(rule: Form, query: list[Conjunction]) -> bool:
    """Whether each conjunction of the query lies in a single one of the rule's (6)."""
    found = (_some_conjunction(rule, row, accepts_only, encloses, _is_null) for row in query)
    return _known(found, decisive=False)


def every_is_contained(rule: Form, query: list[Conjunction]) -> bool:
    """Whether each conjunction of the rule lies in a single one of the query's (5)."""
    if any(all(is_contained((leaf,), row) for leaf in rule.leaves) for row in query):
        return True
    refused = negate(rule)
    for branch in islice(_branches(rule), BRANCHES):
        if all(_sticks_out(branch, row, refused) for row in query):
            return False
    raise _undecided()


def _sticks_out(branch: Conjunction, row: Conjunction, refused: Form) -> bool:
    """Whether the conjunction around a branch cannot lie in one of the query's."""
    outside = [leaf for leaf in branch if not is_contained((leaf,), row)]
    return any(_is_critical(branch, leaf, refused) for leaf in outside)


def _is_critical(branch: Conjunction, leaf: Leaf, refused: Form) -> bool:
    return surely_can_hold(refused, tuple(other for other in branch if other is not leaf))


def _known(verdicts: Iterable[bool | None], decisive: bool) -> bool:
    """Whether some verdict is TRUE, if that is decisive, or whether all are; None among them may leave that open."""
    found = list(verdicts)
    if decisive not in found and None in found:
        raise _undecided()
    return decisive if decisive in found else not decisive


def _some_conjunction(
    rule: Form,
    row: Conjunction,
    relation: Callable[[Leaf, Leaf], bool],
    holds: Callable[[Conjunction, Conjunction], bool],
    may_be_left_out: Callable[[Leaf], bool],
) -> bool | None:
    """Whether a conjunction of the rule has, for each leaf of the query's, one that stands in the relation to it."""
    asked = {leaf.attribute: leaf for leaf in row}
    needed = [leaf.attribute for leaf in row if not may_be_left_out(leaf)]
    if _has_patterns(rule, row) or (len(needed) == 1 and _only_together(rule, asked[needed[0]], relation)):
        return None
    fitting = restricted(rule, lambda leaf: leaf.attribute not in asked or relation(asked[leaf.attribute], leaf))
    named = {leaf.attribute for leaf in fitting.leaves}
    if fitting == NEVER or not named.issuperset(needed):
        return False
    refused = negate(rule)
    for branch in islice(_branches(fitting), BRANCHES):
        leaves = {leaf.attribute: leaf for leaf in branch}
        if holds(branch, row) and all(_is_critical(branch, leaves[name], refused) for name in needed):
            return True
    return None


def _only_together(rule: Form, asked: Leaf, relation: Callable[[Leaf, Leaf], bool]) -> bool:
    """Conjunctions of one leaf each are joined: together they may stand in a relation that none stands in alone."""
    own = [leaf for leaf in rule.leaves if leaf.attribute == asked.attribute]
    joined = Leaf(asked.attribute, union_all(leaf.cuts for leaf in own), any(leaf.null for leaf in own))
    return relation(asked, joined) and not any(relation(asked, leaf) for leaf in own)


def _branches(rule: Form) -> Iterator[Conjunction]:
    """The branches that can hold, as far as a bounded number of all leads to them."""
    every = islice(choices(rule), FIND_LIMIT)
    return (made for leaves in every if (made := of_leaves(leaves)) is not None)


def _has_patterns(rule: Form, row: Conjunction) -> bool:
    """What a named text says of patterns depends on which of them a conjunction has."""
    sources = {test.source for leaf in rule.leaves if (test := pattern_of(leaf.attribute))}
    return any(leaf.attribute in sources for leaf in row)


def _meets(asked: Leaf, own: Leaf) -> bool:
    return not is_empty(meet(asked, own))


def _accepts_null(leaf: Leaf) -> bool:
    return leaf.null


def _is_null(leaf: Leaf) -> bool:
    return leaf.cuts == EMPTY


def _undecided() -> LimitExceeded:
    return LimitExceeded(
        f"it has more than {FIND_LIMIT:,} conjunctions, and the first ones do not decide; these semantics need all of "
        "them, while 'stabbing_subscription', 'implies' and 'implied_by' do not"
    )
