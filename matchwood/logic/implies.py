"""Implication between rules, and rules that hold never or always.

A yes is always right. A no is exact for conjunctions, and otherwise as long as the case split ends within
its effort; beyond that it means "not found out".
"""

from __future__ import annotations

from typing import TypeAlias

from matchwood.logic.conjunctions import narrows
from matchwood.logic.dnf import dnf
from matchwood.logic.evaluate import evaluate
from matchwood.logic.form import FALSE, TRUE, Form
from matchwood.logic.leaf import Conjunction
from matchwood.logic.negate import conjoined, negate, negated_rows
from matchwood.logic.search import can_hold

Normal: TypeAlias = list[Conjunction] | Form
"""What `dnf_of` returns: conjunctions, or the form of a rule that has too many."""

EFFORT = 20_000
"""Node visits of one case split: some ten milliseconds."""

PAIRWISE = 1 << 21
"""Leaves compared at most when conjunctions are held against conjunctions one by one."""

_SMALL_DNF = 64


def implies(narrow: Normal, wide: Normal, effort: int = EFFORT) -> bool:
    """Whether every event that satisfies the first rule satisfies the second."""
    narrow, wide = _as_rows(narrow), _as_rows(wide)
    if narrow == wide:
        return True
    if isinstance(narrow, list):
        return _all_covered(narrow, wide, effort)
    if _size(narrow) + _size(wide) > effort:
        return False
    return can_hold(conjoined([narrow, _negated(wide)]), (), effort) is False


def _all_covered(conjunctions: list[Conjunction], wide: Normal, effort: int) -> bool:
    """Whether each conjunction implies a rule: a single one of its conjunctions, or else several together."""
    rows = wide if isinstance(wide, list) and len(conjunctions) * _size(wide) <= PAIRWISE else []
    rest = [each for each in conjunctions if not any(narrows(each, row) for row in rows)]
    if not rest:
        return True
    if (rows is wide and len(rows) < 2) or _size(wide) > effort:
        return False
    unwanted = _negated(wide)
    return all(can_hold(unwanted, each, effort) is False for each in rest)


def is_never(rule: Normal, effort: int = EFFORT) -> bool:
    """Whether no event satisfies the rule: exact for conjunctions, since none of them is empty."""
    rule = _as_rows(rule)
    if isinstance(rule, list):
        return not rule
    return can_hold(rule, (), effort) is False


def is_always(rule: Normal, effort: int = EFFORT) -> bool:
    """Whether every event satisfies the rule, the one without any attribute included."""
    rule = _as_rows(rule)
    if rule == [()]:
        return True
    if not evaluate(rule, {}) or _size(rule) > effort:
        return False
    return can_hold(_negated(rule), (), effort) is False


def _size(rule: Normal) -> int:
    """The nodes of a rule: what it costs to negate it, and to look at one case."""
    return len(rule.kinds) if isinstance(rule, Form) else sum(map(len, rule))


def _negated(rule: Normal) -> Form:
    return negate(rule) if isinstance(rule, Form) else negated_rows(rule)


def _as_rows(rule: Normal) -> Normal:
    """A form with a small DNF as that."""
    if not isinstance(rule, Form):
        return rule
    if rule.kinds[-1] in (TRUE, FALSE):
        return [()] if rule.kinds[-1] == TRUE else []
    rows = dnf(rule, _SMALL_DNF)
    return rule if rows is None else rows
