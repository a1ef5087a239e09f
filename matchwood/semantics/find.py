"""What `find` means, in plain Python: sets of cells, and the definitions of TODS 2013 written out over them.

A conjunction is handed over as a mapping from attributes to (cuts, null): the places where membership changes, and
whether NULL is accepted. The places of all sets that are compared cut an attribute's domain into cells; a set of
values is the set of its cells, with None for NULL, and an attribute that is left out has the set {None}. So nothing is
computed with intervals, and each definition reads as it stands in the paper.

A pattern is an attribute of its own, named NUL, text, NUL, operator, NUL, pattern. A query that names texts one by one
tells what each pattern makes of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from matchwood.errors import LimitExceeded
from matchwood.language import Predicate
from matchwood.semantics.evaluation import evaluate_predicate

Accepted: TypeAlias = tuple[tuple[Any, ...], bool]
Row: TypeAlias = Mapping[str, Accepted]
Cells: TypeAlias = frozenset[int | None]
Box: TypeAlias = dict[str, Cells]

MOST_BOXES = 20_000
"""What may be left of a conjunction, in pieces, on the way to find out whether others cover it."""

NEIGHBOURS = 16
"""Texts that differ by trailing NULs alone are taken for single ones up to that many."""

_LEFT_OUT: Accepted = ((), True)
_TRUE_OR_FALSE = {(True,): ((1, 0),), (False,): ((), (1, 0)), (False, True): ((),), (): ()}


def is_found(semantics: str, rule: Sequence[Row], query: Sequence[Row]) -> bool:
    """Whether a rule answers a query, each given as its conjunctions.

    >>> age, us = ((20, 0), (31, 0)), (("US", 0), ("US\\0", 0))
    >>> is_found("implies", [{"age": (age, False), "country": (us, False)}], [{"age": (age, False)}])
    True
    >>> is_found("containment", [{"age": (age, False), "country": (us, False)}], [{"age": (age, False)}])
    False
    """
    patterns = {key.split("\0")[1] for row in rule for key in row if key.startswith("\0")}
    if semantics in ("stabbing_subscription", "stabbing_event", "implied_by"):
        query = [each for row in query for each in _apart(row, patterns)]
    return _SEMANTICS[semantics](rule, query)


# --------------------------------------------------------- rules and queries


def _stabbing_subscription(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return any(_stabs(own, _told(asked, own)) for own in rule for asked in query)


def _stabbing_event(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return any(_stabs(_facing(asked, own), own) for own in rule for asked in query)


def _symmetric(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return is_found("stabbing_subscription", rule, query) and is_found("stabbing_event", rule, query)


def _containment(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return all(any(_lies_in(own, asked) for asked in query) for own in rule)


def _enclosure(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return all(any(_lies_in(_facing(asked, own), own) for own in rule) for asked in query)


def _exact(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return _containment(rule, query) and _enclosure(rule, query)


def _implies(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    return all(_is_covered(own, query) for own in rule)


def _implied_by(rule: Sequence[Row], query: Sequence[Row]) -> bool:
    every = {attribute: accepted for own in rule for attribute, accepted in own.items()}
    return all(_is_covered(_told(asked, every), rule) for asked in query)


# ------------------------------------------------- one conjunction and another


def _stabs(one: Row, other: Row) -> bool:
    """For all predicates of the one there is a value that satisfies both it and the other's on that attribute."""
    pairs = (_cells_of([accepted, other.get(attribute, _LEFT_OUT)]) for attribute, accepted in one.items())
    return all(values & others for values, others in pairs)


def _lies_in(one: Row, other: Row) -> bool:
    """For all predicates of the one, all values that satisfy it satisfy the other's on that attribute."""
    pairs = (_cells_of([accepted, other.get(attribute, _LEFT_OUT)]) for attribute, accepted in one.items())
    return all(values <= others for values, others in pairs)


def _cells_of(sets: Sequence[Accepted]) -> list[Cells]:
    """Each set as cells; the one before the first place is numbered 0."""
    places = sorted({cut for cuts, _ in sets for cut in cuts if cut})
    starts = [(), *places]
    return [
        frozenset([*(cell for cell, start in enumerate(starts) if bisect_right(cuts, start) % 2), *[None][: int(null)]])
        for cuts, null in sets
    ]


# ------------------------------------------------------------ joint coverage


def _is_covered(row: Row, others: Sequence[Row]) -> bool:
    """Whether each event of a conjunction satisfies one of the others: they are taken away from it, one by one."""
    (box, *boxes), every = _boxes([row, *others])
    left = [box]
    for other in boxes:
        left = [piece for each in left for piece in _outside(each, other, every)]
        if len(left) > MOST_BOXES:
            raise LimitExceeded(f"it takes more than {MOST_BOXES:,} pieces to find out whether it is covered")
    return not left


def _boxes(rows: Sequence[Row]) -> tuple[list[Box], Box]:
    """Conjunctions as cells, and all cells of each attribute."""
    boxes: list[Box] = [{} for _ in rows]
    every: Box = {}
    for attribute in {attribute for row in rows for attribute in row}:
        holders = [place for place, row in enumerate(rows) if attribute in row]
        found = _cells_of([*(rows[place][attribute] for place in holders), (((),), True)])
        every[attribute] = found.pop()
        for place, cells in zip(holders, found, strict=True):
            boxes[place][attribute] = cells
    return boxes, every


def _outside(box: Box, other: Box, every: Box) -> list[Box]:
    """The events of a box that another does not hold: those whose first failure is on each attribute in turn."""
    pieces, inside = [], dict(box)
    for attribute, values in other.items():
        own = inside.get(attribute, every[attribute])
        if own - values:
            pieces.append({**inside, attribute: own - values})
        if not own & values:
            break
        inside[attribute] = own & values
    return pieces


# ------------------------------------------------------------------ patterns


def _told(asked: Row, own: Row) -> Row:
    """The query's conjunction, with what it says of the rule's patterns by naming the texts."""
    return {**_verdicts(asked, own), **asked}


def _facing(asked: Row, own: Row) -> Row:
    """The same; but a text that the rule looks at by patterns only is compared through them."""
    verdicts = _verdicts(asked, own)
    looked_at = {key.split("\0")[1] for key in verdicts} - set(own)
    return {**verdicts, **{key: accepted for key, accepted in asked.items() if key not in looked_at}}


def _apart(row: Row, patterns: set[str]) -> list[Row]:
    """A conjunction for each text that one names and that patterns look at: which of them fit depends on it."""
    rows = [row]
    for attribute, (cuts, null) in row.items():
        texts = _texts(cuts) if attribute in patterns else None
        if texts is not None:
            single = [((((text, 0) if text else ()), (text + "\0", 0)), False) for text in texts]
            sides: list[Accepted] = [*single, *[_LEFT_OUT][: int(null)]]
            rows = [{**each, attribute: side} for each in rows for side in sides]
    return rows


def _verdicts(asked: Row, own: Row) -> dict[str, Accepted]:
    found: dict[str, Accepted] = {}
    for key in own:
        _, text, op, pattern = key.split("\0", 3) if key.startswith("\0") else ("", "", "", "")
        if key in asked or not op.endswith("like") or text not in asked:
            continue
        cuts, null = asked[text]
        texts = _texts(cuts)
        if texts is not None:
            verdicts = {_fits(op, pattern, each) for each in texts}
            found[key] = _TRUE_OR_FALSE[tuple(sorted(verdicts))], null
    return found


def _texts(cuts: Sequence[Any]) -> list[str] | None:
    """The texts of a set of single ones: after a text comes the same one with a NUL behind it."""
    if len(cuts) % 2:
        return None
    found: list[str] = []
    for low, high in zip(cuts[::2], cuts[1::2], strict=True):
        text, end = low[0] if low else "", high[0]
        if not isinstance(text, str) or not isinstance(end, str) or len(end) - len(text) > NEIGHBOURS:
            return None
        while text != end:
            if len(text) > len(end):
                return None
            found.append(text)
            text += "\0"
    return found


def _fits(op: str, pattern: str, text: str) -> bool:
    return evaluate_predicate(Predicate("text", op, pattern), {"text": text}) is True


_SEMANTICS: dict[str, Callable[[Sequence[Row], Sequence[Row]], bool]] = {
    "stabbing_subscription": _stabbing_subscription,
    "stabbing_event": _stabbing_event,
    "symmetric": _symmetric,
    "containment": _containment,
    "enclosure": _enclosure,
    "exact": _exact,
    "implies": _implies,
    "implied_by": _implied_by,
}
