"""What `find` means, in plain Python: sets of cells, and the definitions of TODS 2013 written out over them.

A conjunction is handed over as a mapping from attributes to (cuts, null): the places where membership changes, and
whether NULL is accepted. All places of both sides cut an attribute's domain into cells; a set of values is the set of
its cells, with None for NULL, and an attribute that is left out has the set {None}. So nothing is computed with
intervals, and each definition reads as it stands in the paper.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from matchwood.errors import LimitExceeded

Accepted: TypeAlias = tuple[tuple[Any, ...], bool]
Row: TypeAlias = Mapping[str, Accepted]
Cells: TypeAlias = frozenset[int | None]
Box: TypeAlias = dict[str, Cells]

MOST_BOXES = 20_000
"""What may be left of a conjunction, in pieces, on the way to find out whether others cover it."""

_LEFT_OUT: Cells = frozenset([None])


def is_found(semantics: str, rule: Sequence[Row], query: Sequence[Row]) -> bool:
    """Whether a rule answers a query, each given as its conjunctions.

    >>> age, us = ((20, 0), (31, 0)), (("US", 0), ("US ", 0))
    >>> is_found("implies", [{"age": (age, False), "country": (us, False)}], [{"age": (age, False)}])
    True
    >>> is_found("containment", [{"age": (age, False), "country": (us, False)}], [{"age": (age, False)}])
    False
    """
    domain = _domain([*rule, *query])
    own, asked = ([_box(row, domain) for row in rows] for rows in (rule, query))
    return _SEMANTICS[semantics](own, asked, domain)


def _domain(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """For each attribute the places where some set begins or ends; the cell before the first one is numbered 0."""
    places: dict[str, set[Any]] = {}
    for row in rows:
        for attribute, (cuts, _) in row.items():
            places.setdefault(attribute, set()).update(cut for cut in cuts if cut)
    return {attribute: sorted(found) for attribute, found in places.items()}


def _box(row: Row, domain: Mapping[str, list[Any]]) -> Box:
    return {attribute: _cells(accepted, domain[attribute]) for attribute, accepted in row.items()}


def _cells(accepted: Accepted, places: list[Any]) -> Cells:
    cuts, null = accepted
    starts = [(), *places]
    inside = [cell for cell, start in enumerate(starts) if bisect_right(cuts, start) % 2 == 1]
    return frozenset([*inside, *([None] if null else [])])


# ------------------------------------------------- one conjunction and another


def _stabs(one: Box, other: Box) -> bool:
    """For all predicates of the one there is a value that satisfies both it and the other's on that attribute."""
    return all(values & other.get(attribute, _LEFT_OUT) for attribute, values in one.items())


def _lies_in(one: Box, other: Box) -> bool:
    """For all predicates of the one, all values that satisfy it satisfy the other's on that attribute."""
    return all(values <= other.get(attribute, _LEFT_OUT) for attribute, values in one.items())


# --------------------------------------------------------- rules and queries


def _stabbing_subscription(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return any(_stabs(own, asked) for own in rule for asked in query)


def _stabbing_event(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return any(_stabs(asked, own) for own in rule for asked in query)


def _symmetric(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return _stabbing_subscription(rule, query, domain) and _stabbing_event(rule, query, domain)


def _containment(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return all(any(_lies_in(own, asked) for asked in query) for own in rule)


def _enclosure(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return all(any(_lies_in(asked, own) for own in rule) for asked in query)


def _exact(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return _containment(rule, query, domain) and _enclosure(rule, query, domain)


def _implies(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return all(_is_covered(own, query, domain) for own in rule)


def _implied_by(rule: list[Box], query: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    return all(_is_covered(asked, rule, domain) for asked in query)


def _is_covered(box: Box, others: list[Box], domain: Mapping[str, list[Any]]) -> bool:
    """Whether each event of a conjunction satisfies one of the others: they are taken away from it, one by one."""
    left = [box]
    for other in others:
        left = [piece for each in left for piece in _outside(each, other, domain)]
        if len(left) > MOST_BOXES:
            raise LimitExceeded(f"it takes more than {MOST_BOXES:,} pieces to find out whether it is covered")
    return not left


def _outside(box: Box, other: Box, domain: Mapping[str, list[Any]]) -> list[Box]:
    """The events of a box that another does not hold: those whose first failure is on each attribute in turn."""
    pieces, inside = [], dict(box)
    for attribute, values in other.items():
        every = frozenset([None, *range(len(domain[attribute]) + 1)])
        own = inside.get(attribute, every)
        if own - values:
            pieces.append({**inside, attribute: own - values})
        if not own & values:
            break
        inside[attribute] = own & values
    return pieces


_SEMANTICS: dict[str, Callable[[list[Box], list[Box], Mapping[str, list[Any]]], bool]] = {
    "stabbing_subscription": _stabbing_subscription,
    "stabbing_event": _stabbing_event,
    "symmetric": _symmetric,
    "containment": _containment,
    "enclosure": _enclosure,
    "exact": _exact,
    "implies": _implies,
    "implied_by": _implied_by,
}
