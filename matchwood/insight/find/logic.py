"""One rule and one query, decided on their normal forms: for rules that the compiled walk leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from matchwood.insight.find.forms import decided_form
from matchwood.insight.find.pairs import encloses, is_contained, stabs_event, stabs_subscription
from matchwood.insight.find.points import sources_of, verdicts
from matchwood.insight.find.query import Query
from matchwood.insight.find.search import surely_can_hold
from matchwood.logic import Conjunction, Form, narrows, negated_rows


def is_found(rule: list[Conjunction] | Form, query: Query) -> bool:
    """Whether the rule answers the query; LimitExceeded where that cannot be found out with reasonable effort."""
    if query.semantics == "symmetric":
        return all(
            _single(rule, query._replace(semantics=each)) for each in ("stabbing_subscription", "stabbing_event")
        )
    if query.semantics == "exact":
        return all(_single(rule, query._replace(semantics=each)) for each in ("containment", "enclosure"))
    return _single(rule, query)


def _single(rule: list[Conjunction] | Form, query: Query) -> bool:
    if isinstance(rule, Form):
        return decided_form(rule, query.facing(sources_of(leaf.attribute for leaf in rule.leaves)))
    asked = query.facing(sources_of(leaf.attribute for row in rule for leaf in row))
    return _DEFINITIONS[query.semantics](rule, asked.rows)


def _some_with_some(relation: Callable[[Conjunction, Conjunction], bool]) -> Callable[..., bool]:
    return lambda rule, query: any(relation(own, asked) for own in rule for asked in query)


def _contained(rule: Sequence[Conjunction], query: Sequence[Conjunction]) -> bool:
    """Every one of the rule's lies in some single one of the query's."""
    return all(any(is_contained(own, asked) for asked in query) for own in rule)


def _enclosing(rule: Sequence[Conjunction], query: Sequence[Conjunction]) -> bool:
    """Some single one of the rule's lies around each of the query's."""
    return all(any(encloses(own, asked) for own in rule) for asked in query)


def _implying(rule: Sequence[Conjunction], query: Sequence[Conjunction]) -> bool:
    return all(_is_covered(own, query) for own in rule)


def _implied(rule: Sequence[Conjunction], query: Sequence[Conjunction]) -> bool:
    keys = {leaf.attribute for row in rule for leaf in row}
    return all(_is_covered(with_verdicts(asked, keys), rule) for asked in query)


def with_verdicts(row: Conjunction, keys: Iterable[str]) -> Conjunction:
    """A query's conjunction together with what it says of a rule's patterns."""
    told = verdicts(row, keys)
    return tuple(sorted((*row, *told))) if told else row


def _is_covered(narrow: Conjunction, rows: Sequence[Conjunction]) -> bool:
    """Whether a conjunction implies a disjunction: one of its members, or several together."""
    if any(narrows(narrow, row) for row in rows):
        return True
    return len(rows) > 1 and not surely_can_hold(negated_rows(rows), narrow)


_DEFINITIONS: dict[str, Callable[..., bool]] = {
    "stabbing_subscription": _some_with_some(stabs_subscription),
    "stabbing_event": _some_with_some(stabs_event),
    "containment": _contained,
    "enclosure": _enclosing,
    "implies": _implying,
    "implied_by": _implied,
}
