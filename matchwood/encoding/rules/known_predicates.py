"""Predicates that were read before: many rules hold few different ones, and each need be read and bound only once.

The parser shares the nodes of predicates that it has read before (`language/simple.py`); what each is bound to is kept
by node. What cannot be bound is not, so that it is refused each time anew.
"""

from __future__ import annotations

from typing import NamedTuple

from matchwood.encoding.encoder import Encoder
from matchwood.encoding.schema.inferred import Use, predicates
from matchwood.encoding.schema.requirements import requirement
from matchwood.errors import MatchwoodError
from matchwood.language import Expression, Predicate, SharedPredicates, is_json, parse, parse_text
from matchwood.logic import Bound

MOST_KNOWN = 50_000
"""Predicates kept, some 600 bytes each; then all are forgotten."""


class KnownPredicate(NamedTuple):
    """A predicate, what it asks of its attribute, and what it is bound to."""

    predicate: Predicate
    use: Use
    bound: Bound


class KnownPredicates:
    """The memory of one encoder's rules while many of them are prepared.

    >>> known = KnownPredicates(Encoder())
    >>> tree, uses = known.read("age > 18 and vip")
    >>> uses, known.read("vip or age > 18")[0].operands[1] is tree.operands[0]
    ([('age', 'number'), ('vip', 'bool')], True)
    """

    def __init__(self, encoder: Encoder) -> None:
        self._bind = encoder.bind
        self._shared = SharedPredicates()
        self._by_node: dict[int, KnownPredicate] = {}

    def read(self, text: str) -> tuple[Expression, list[Use] | None]:
        """The tree of a text, and what it asks of its attributes: None where that is left to `Schema.check`."""
        if len(self._shared) > MOST_KNOWN:
            self._shared, self._by_node = SharedPredicates(), {}
        if is_json(text):
            return parse(text), None
        tree, known = parse_text(text, shared=self._shared), self._by_node.get
        try:
            found = [known(id(predicate)) or self._learned(predicate) for predicate in predicates(tree)]
        except MatchwoodError:
            return parse_text(text), None  # With positions, for whoever tells what cannot be bound.
        return tree, None if None in found else _uses(found)  # type: ignore[arg-type]

    def bind(self, predicate: Predicate) -> Bound:
        """What the encoder binds a predicate to; for a node of `read`, the same object each time."""
        known = self._by_node.get(id(predicate))
        return self._bind(predicate) if known is None else known.bound

    def _learned(self, predicate: Predicate) -> KnownPredicate | None:
        """What a node that the parser shares is bound to; None for one that it made for this rule alone."""
        if predicate.position is not None:
            return None
        known = KnownPredicate(predicate, (predicate.attr, requirement(predicate)), self._bind(predicate))
        self._by_node[id(predicate)] = known
        return known


def _uses(known: list[KnownPredicate]) -> list[Use] | None:
    """The uses in the order of the text; None if an attribute has two, of which a rule has one."""
    uses = list(dict.fromkeys([each.use for each in known]))
    return uses if len({use[0] for use in uses}) == len(uses) else None
