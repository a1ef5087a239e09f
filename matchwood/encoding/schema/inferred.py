"""The type of every attribute: as declared, otherwise the join of what all live rules ask of it.

Uses are counted, so the type depends on which rules are live and not on the order in which they came.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from matchwood.encoding.schema.declared import read_schema
from matchwood.encoding.schema.requirements import described, literal_advice, requirement, shown
from matchwood.encoding.schema.types import FAMILIES
from matchwood.errors import TypeConflict
from matchwood.language import Expression, Predicate

Use: TypeAlias = tuple[str, str]
"""An attribute, and the kind that one rule asks it to be; `any` when the rule only tests it for NULL."""


class Settled(NamedTuple):
    """A kind that an attribute has before any rule is live, and in words who says so."""

    kind: str
    by: str


class Schema:
    """Declared and inferred types.

    >>> from matchwood.language import parse
    >>> schema = Schema({"age": "int"})
    >>> uses = schema.check(parse("age > 5 and city = 'Rome'"), "r1")
    >>> schema.add(uses, "r1")
    >>> schema.kind("age"), schema.kind("city")
    ('int', 'string')
    >>> schema.check(parse("city > 5"), "r2")
    Traceback (most recent call last):
    matchwood.errors.TypeConflict: rule 'r2': 'city' must be string, as in rule 'r1' \
(got a comparison with a number: city > 5)
    """

    def __init__(self, declared: Any = None, strict: bool = False) -> None:
        self.declared = read_schema(declared)
        self.strict = bool(strict)
        self.find_witness: Callable[[str, str, Collection[Any]], Any] | None = None
        """Finds the id of a live rule with that use but for some, for messages; None where there is nobody to ask."""
        self.settled: dict[str, Settled] = {}
        """Kinds that rules to come are held against: by events' columns, or by most rules of a batch. Never saved."""
        self.version = 0
        """Grows whenever the kind of an attribute may have changed."""
        self._counts: dict[Use, int] = {}
        self._kinds: dict[str, str] = {}
        self._witnesses: dict[Use, Any] = {}

    def requirement(self, predicate: Predicate) -> str:
        """The kind of attribute that a predicate needs."""
        return requirement(predicate)

    def requirements(self, expression: Expression) -> list[Use]:
        """What an expression that was checked before asks of its attributes: what `check` returned then."""
        uses: dict[str, str] = {}
        for predicate in predicates(expression):
            kind = requirement(predicate)
            if kind != "any" or predicate.attr not in uses:
                uses[predicate.attr] = kind
        return list(uses.items())

    def kind(self, attribute: str) -> str:
        """The attribute's type: declared, inferred, or `any`."""
        declared = self.declared.type_of(attribute)
        return self._kinds.get(attribute, "any") if declared in (None, "any") else declared

    def types(self) -> dict[str, str]:
        """The kinds of all attributes that are declared by name or that live rules compare with something."""
        return {**self.declared.types, **{name: self.kind(name) for name in self._kinds}}

    def names(self) -> set[str]:
        """All attributes that are declared by name or that live rules name."""
        return {*self.declared.types, *(name for name, _ in self._counts)}

    def check(
        self, expression: Expression, rule_id: Any = None, replaced: Iterable[Use] = (), where: str = "rule"
    ) -> list[Use]:
        """What a rule asks of its attributes, if that agrees with the declarations and all live rules.

        `replaced` are the uses of the rule that this one would replace: they no longer count.
        `where` says for messages what the expression is, if it is no rule with an id.
        """
        where = where if rule_id is None else f"rule {rule_id!r}"
        gone = frozenset(replaced)
        uses: dict[str, str] = {}
        for predicate in predicates(expression):
            kind = requirement(predicate, where)
            attribute = predicate.attr
            known = uses.get(attribute)
            if known is None or known != kind or self.declared.types or self.declared.maps:
                self.check_declared(predicate, kind, where)
            if kind == "any":
                uses.setdefault(attribute, kind)
            elif known != kind:
                if known is not None and known != "any":
                    raise _conflict(predicate, kind, where, f"{known}, as earlier in the rule")
                self._check_live(predicate, kind, where, gone, rule_id)
                uses[attribute] = kind
        return list(uses.items())

    def allows(self, use: Use) -> bool:
        """Whether no live rule is against a use, nor what is settled."""
        if use[1] == "any":
            return True
        settled = self.settled.get(use[0])
        return self._kinds.get(use[0], use[1]) == use[1] and (settled is None or settled.kind == use[1])

    def is_decided(self, attribute: str) -> bool:
        """Whether the attribute's kind no longer depends on which rule comes first."""
        return attribute in self._kinds or attribute in self.settled

    def add(self, uses: Iterable[Use], rule_id: Any = None) -> None:
        """Count the uses of a rule that is live from now on."""
        counts = self._counts
        for use in uses:
            count = counts.get(use, 0)
            counts[use] = count + 1
            if not count:
                if use[1] != "any":
                    self._kinds[use[0]] = use[1]
                    self.version += 1
                if rule_id is not None:
                    self._witnesses[use] = rule_id

    def add_all(self, uses: Iterable[tuple[Use, int, Any]]) -> None:
        """Count uses so many times each, and note the rule that is the first to have them."""
        for use, count, rule_id in uses:
            self.add((use,), rule_id)
            self._counts[use] += count - 1

    def remove(self, uses: Iterable[Use], rule_id: Any = None) -> None:
        """Count the uses of a rule that is no longer live."""
        counts = self._counts
        for use in uses:
            count = counts[use] - 1
            if rule_id is None or self._witnesses.get(use) == rule_id:
                self._witnesses.pop(use, None)
            if count:
                counts[use] = count
                continue
            del counts[use]
            if self._kinds.get(use[0]) == use[1]:
                del self._kinds[use[0]]
                self.version += 1

    def remove_all(self, uses: Iterable[tuple[Use, int]]) -> None:
        """Count uses of rules that are no longer live so many times each."""
        for use, count in uses:
            self._counts[use] -= count - 1
            self.remove((use,))

    def copy(self) -> Schema:
        """The same types to try changes on: what is added to or removed from the copy changes nothing here."""
        copied = Schema(strict=self.strict)
        copied.declared, copied.find_witness, copied.version = self.declared, self.find_witness, self.version
        copied.settled = dict(self.settled)
        copied._counts, copied._kinds, copied._witnesses = dict(self._counts), dict(self._kinds), dict(self._witnesses)
        return copied

    def follow(self, other: Schema) -> None:
        """Know what the other one does by now."""
        self._counts, self._kinds, self._witnesses = dict(other._counts), dict(other._kinds), dict(other._witnesses)
        self.version += 1

    def counts(self) -> dict[Use, int]:
        """How many live rules have each use, to be saved."""
        return dict(self._counts)

    def restore(self, counts: dict[Use, int]) -> None:
        """Take over saved counts."""
        self._counts = dict(counts)
        self._kinds = {attribute: kind for attribute, kind in counts if kind != "any"}
        self._witnesses = {}
        self.version += 1

    def check_declared(self, predicate: Predicate, kind: str, where: str = "rule") -> None:
        """TypeConflict when a predicate, which needs that kind, contradicts the declarations."""
        declared = self.declared.type_of(predicate.attr)
        if declared is None:
            self._check_undeclared(predicate, where)
        elif kind not in ("any", FAMILIES[declared]) and declared != "any":
            raise _conflict(predicate, kind, where, f"{declared}, as declared")

    def _check_undeclared(self, predicate: Predicate, where: str) -> None:
        name = predicate.attr
        if name in self.declared.structs or name in self.declared.maps:
            got = f"a struct or map as a whole: {shown(predicate)}"
            raise TypeConflict(name, where=where, got=got, expected=f"one field of it, such as {name}.key")
        if self.strict:
            near = difflib.get_close_matches(name, self.declared.types, n=3)
            advice = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            got = "an attribute that is not"
            raise TypeConflict(name, where=where, got=got, expected=f"declared, as strict_schema asks{advice}")

    def _check_live(self, predicate: Predicate, kind: str, where: str, gone: frozenset[Use], rule_id: Any) -> None:
        attribute = predicate.attr
        settled = self.settled.get(attribute)
        if settled is not None and settled.kind != kind:
            raise _conflict(predicate, kind, where, f"{settled.kind}, {settled.by}")
        live = self._kinds.get(attribute)
        if live is None or live == kind:
            return
        others = self._counts[attribute, live] - ((attribute, live) in gone)
        if others:
            by = as_in(self._witness((attribute, live), rule_id), others)
            raise _conflict(predicate, kind, where, f"{live}, {by}")

    def _witness(self, use: Use, replaced: Any) -> str:
        """A live rule with a use, in words, other than the replaced one.

        The search looks at every rule, so what it found is kept.
        """
        witness = self._witnesses.get(use)
        if (witness is None or witness == replaced) and self.find_witness is not None:
            witness = self.find_witness(*use, (replaced,))
            if witness is not None:
                self._witnesses[use] = witness
        return "another rule" if witness is None or witness == replaced else f"rule {witness!r}"


def as_in(witness: str, count: int) -> str:
    """How many rules say so, of which one is named.

    >>> as_in("rule 'a'", 1), as_in("rule 'a'", 1_000)
    ("as in rule 'a'", "as in rule 'a' and 999 other rules")
    """
    more = count - 1
    return f"as in {witness}" + (f" and {more:,} other rule{'s' * (more > 1)}" if more else "")


def predicates(expression: Expression) -> Iterator[Predicate]:
    """Every predicate of an expression, in the order in which they are written."""
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        if node.operands:
            stack.extend(reversed(node.operands))
        elif isinstance(node, Predicate):
            yield node


def _conflict(predicate: Predicate, kind: str, where: str, expected: str) -> TypeConflict:
    got = described(predicate, kind) + literal_advice(predicate, expected)
    return TypeConflict(predicate.attr, where=where, got=got, expected=expected)
