"""Predicates that were read before: many rules hold few different ones, and each need be read and bound only once.

A predicate is known by its text. The tree of a rule is the one that the parser makes, but that equal predicates are one
node, without a position. Patterns are never kept, since their errors tell positions; nor is what cannot be bound, so
that it is refused each time anew.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from matchwood.encoding.encoder import Encoder
from matchwood.encoding.schema.inferred import Use, predicates
from matchwood.encoding.schema.requirements import requirement
from matchwood.errors import MatchwoodError
from matchwood.language import (
    NAME,
    PATTERNS,
    Expression,
    Predicate,
    is_json,
    make_predicate,
    parse,
    parse_text,
    read_simple,
)
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
        self._by_text: dict[str, KnownPredicate] = {}
        self._by_node: dict[int, KnownPredicate] = {}

    def read(self, text: str) -> tuple[Expression, list[Use] | None]:
        """The tree of a text, and what it asks of its attributes: None where that is left to `Schema.check`."""
        if len(self._by_text) > MOST_KNOWN:
            self._by_text, self._by_node = {}, {}
        if is_json(text):
            return parse(text), None
        tree = parse_text(text, simple=self._read)
        found = [self._by_node.get(id(predicate)) for predicate in predicates(tree)]
        return tree, None if None in found else _uses(found)  # type: ignore[arg-type]

    def bind(self, predicate: Predicate) -> Bound:
        """What the encoder binds a predicate to; for a node of `read`, the same object each time."""
        known = self._by_node.get(id(predicate))
        return self._bind(predicate) if known is None else known.bound

    def _read(self, found: re.Match[str]) -> Predicate | None:
        """What the parser takes for `read_simple`."""
        text = found.string[found.start(NAME) : found.end()]
        known = self._by_text.get(text)
        return self._learned(text, found) if known is None else known.predicate

    def _learned(self, text: str, found: re.Match[str]) -> Predicate | None:
        predicate = read_simple(found)
        if predicate is None or predicate.op in PATTERNS:
            return predicate
        shared = make_predicate(predicate.attr, predicate.op, predicate.value, None, None)
        try:
            known = KnownPredicate(shared, (shared.attr, requirement(shared)), self._bind(shared))
        except MatchwoodError:
            return predicate
        self._by_text[text] = self._by_node[id(shared)] = known
        return shared


def _uses(known: list[KnownPredicate]) -> list[Use] | None:
    """The uses in the order of the text; None if an attribute has two, of which a rule has one."""
    uses = list(dict.fromkeys([each.use for each in known]))
    return uses if len({use[0] for use in uses}) == len(uses) else None
