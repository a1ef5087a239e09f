"""The semantics (2), (3), (5) and (6) of TODS 2013 between one conjunction of a rule and one of a query.

Domains include NULL, and an attribute that one side leaves out counts there as {NULL}: without it, the definitions ask
for a predicate on the same attribute, which is the same wherever the other side does not accept NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from matchwood.insight.find.points import pattern_of, verdicts
from matchwood.logic import EMPTY, Conjunction, Leaf, accepts_only, is_empty, meet


def stabs_subscription(own: Conjunction, asked: Conjunction) -> bool:
    """(2): each of the rule's predicates shares a value with the query's on the same attribute."""
    told = _by_attribute((*asked, *verdicts(asked, _keys(own))))
    return all(_meet_somewhere(leaf, _of(told, leaf.attribute)) for leaf in own)


def stabs_event(own: Conjunction, asked: Conjunction) -> bool:
    """(3): each of the query's predicates shares a value with the rule's on the same attribute."""
    return _each_of_query(own, asked, _meet_somewhere)


def is_contained(own: Conjunction, asked: Conjunction) -> bool:
    """(5): the query has a predicate on each of the rule's attributes, and takes all that the rule's takes."""
    known = _by_attribute(asked)
    return all(accepts_only(leaf, _of(known, leaf.attribute)) for leaf in own)


def encloses(own: Conjunction, asked: Conjunction) -> bool:
    """(6): the rule has a predicate on each of the query's attributes, and takes all that the query's takes."""
    return _each_of_query(own, asked, accepts_only)


def _each_of_query(own: Conjunction, asked: Conjunction, relation: Callable[[Leaf, Leaf], bool]) -> bool:
    """Each predicate of the query has its counterpart; a text that it names, in the rule's patterns on it, too."""
    known, told = _by_attribute(own), verdicts(asked, _keys(own))
    if not all(relation(leaf, known[leaf.attribute]) for leaf in told):
        return False
    looked_at = {test.source for leaf in told if (test := pattern_of(leaf.attribute))}
    rest = (leaf for leaf in asked if leaf.attribute in known or leaf.attribute not in looked_at)
    return all(relation(leaf, _of(known, leaf.attribute)) for leaf in rest)


def _meet_somewhere(left: Leaf, right: Leaf) -> bool:
    return not is_empty(meet(left, right))


def _by_attribute(leaves: Iterable[Leaf]) -> dict[str, Leaf]:
    return {leaf.attribute: leaf for leaf in leaves}


def _of(leaves: dict[str, Leaf], attribute: str) -> Leaf:
    return leaves.get(attribute) or Leaf(attribute, EMPTY, True)


def _keys(row: Conjunction) -> list[str]:
    return [leaf.attribute for leaf in row]
