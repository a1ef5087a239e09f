"""Predicates that were read before: many rules hold few different ones, and each need be read and bound only once.

A predicate is known by its text. A rule that is an AND of known ones is read by cutting its text at the ands and
looking the pieces up; any other rule is parsed, and finds its known predicates on the way. Both give the tree that the
parser gives, but that equal predicates are one node, without a position. Patterns are never kept, since
their errors tell positions; nor is what cannot be bound, so that it is refused each time anew.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from matchwood.encoding.encoder import Encoder
from matchwood.encoding.requirements import requirement
from matchwood.encoding.schema import Use, predicates
from matchwood.errors import MatchwoodError
from matchwood.language.names import has_surrogate, plain_name
from matchwood.language.operators import PATTERNS
from matchwood.language.parser import is_json, parse, parse_text
from matchwood.language.simple import NAME, match_whole, pieces_of, read_simple, read_test
from matchwood.language.tree import And, Expression, Predicate, make_operator, make_predicate
from matchwood.logic.cuts import CutSet
from matchwood.logic.leaf import Bound

MOST_KNOWN = 100_000
"""Predicates kept, some 600 bytes each; then all are forgotten."""

LONGEST_CUT = 100_000
"""Characters of a text that is cut at its ands; longer ones are left to the parser, which knows the limits."""


class Known(NamedTuple):
    """A predicate, what it asks of its attribute, and what it is bound to."""

    predicate: Predicate
    use: Use
    bound: Bound


class _Test(NamedTuple):
    """What a predicate says of an attribute of which nothing is declared, whatever its name."""

    op: str
    value: Any
    kind: str
    cuts: CutSet
    on_null: bool | None


class KnownPredicates:
    """The memory of one encoder's rules while many of them are prepared.

    >>> known = KnownPredicates(Encoder())
    >>> tree, uses = known.read("age > 18 and vip")
    >>> str(tree), uses, known.read("vip or age > 18")[0].operands[1] is tree.operands[0]
    ('age > 18 and vip', [('age', 'number'), ('vip', 'bool')], True)
    """

    def __init__(self, encoder: Encoder) -> None:
        self._declared, self._bind = encoder.schema.declared, encoder.bind
        self._by_text: dict[str, Known] = {}
        self._by_node: dict[int, Known] = {}
        self._tests: dict[str, _Test] = {}
        """By the text behind the name."""
        self._free: set[str] = set()
        """Names of attributes of which nothing is declared and that rules may use."""

    def read(self, text: str) -> tuple[Expression, list[Use] | None]:
        """The tree of a text, and what it asks of its attributes: None where that is left to `Schema.check`."""
        if len(self._by_text) > MOST_KNOWN:
            self._forget()
        known = self._conjunction(text) if len(text) <= LONGEST_CUT else None
        if known is not None:
            nodes = tuple([each.predicate for each in known])
            return make_operator(And, nodes) if len(nodes) > 1 else nodes[0], _uses(known)
        if is_json(text):
            return parse(text), None
        tree = parse_text(text, simple=self._read)
        found = [self._by_node.get(id(predicate)) for predicate in predicates(tree)]
        return tree, None if None in found else _uses(found)  # type: ignore[arg-type]

    def bind(self, predicate: Predicate) -> Bound:
        """What the encoder binds a predicate to; for a node of `read`, the same object each time."""
        known = self._by_node.get(id(predicate))
        return self._bind(predicate) if known is None else known.bound

    def _forget(self) -> None:
        self._by_text, self._by_node, self._tests = {}, {}, {}

    def _conjunction(self, text: str) -> list[Known] | None:
        """The predicates that a text joins by ` and `; None for every other text."""
        pieces, known = pieces_of(text), self._by_text
        try:
            return [known[piece] for piece in pieces]
        except KeyError:
            return self._learned(pieces)

    def _learned(self, pieces: list[str]) -> list[Known] | None:
        found = []
        for piece in pieces:
            known = self._by_text.get(piece) or self._learn(piece)
            if known is None:
                return None
            found.append(known)
        return found

    def _read(self, found: re.Match[str]) -> Predicate | None:
        """What the parser takes for `read_simple`."""
        text = found.string[found.start(NAME) : found.end()]
        known = self._by_text.get(text) or self._learn(text)
        return read_simple(found) if known is None else known.predicate

    def _learn(self, text: str) -> Known | None:
        """A predicate from its text; None for what is none, or is not to be kept."""
        name, _, behind = text.partition(" ")
        test = self._tests.get(behind) if name in self._free else None
        if test is not None:
            predicate = make_predicate(name, test.op, test.value, None, None)
            known = Known(predicate, (name, test.kind), Bound(name, test.cuts, test.on_null))
        else:
            predicate = _predicate_of(text)
            known = None if predicate is None else self._bound(predicate)
            if known is None:
                return None
            if predicate.attr == name:
                self._note(behind, known)
        self._by_text[text] = self._by_node[id(known.predicate)] = known
        return known

    def _bound(self, predicate: Predicate) -> Known | None:
        try:
            return Known(predicate, (predicate.attr, requirement(predicate)), self._bind(predicate))
        except MatchwoodError:
            return None

    def _note(self, behind: str, known: Known) -> None:
        """What stands behind the name says the same of other attributes, if nothing else is known of them."""
        predicate, (attribute, kind), bound = known
        if bound.attribute == attribute and self._declared.type_of(attribute) is None:
            self._free.add(attribute)
            self._tests[behind] = _Test(predicate.op, predicate.value, kind, bound.cuts, bound.on_null)


def _predicate_of(text: str) -> Predicate | None:
    """The simple predicate that is all of a text, unless it is a pattern."""
    found = match_whole(text)
    if found is None or has_surrogate(text):
        return None
    attribute = plain_name(found[NAME])
    op, value = read_test(found)
    return None if attribute is None or op in PATTERNS else make_predicate(attribute, op, value, None, None)


def _uses(known: list[Known]) -> list[Use] | None:
    """The uses in the order of the text; None if an attribute has two, of which a rule has one."""
    uses = list(dict.fromkeys([each.use for each in known]))
    return uses if len({use[0] for use in uses}) == len(uses) else None
