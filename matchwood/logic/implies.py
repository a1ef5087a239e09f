"""Implication between rules, and rules that hold never or always.

A yes is always right. A no is exact for conjunctions, and otherwise as long as the case split ends within
its effort; beyond that it means "not found out".
"""

from __future__ import annotations

from typing import TypeAlias

from matchwood.logic.builder import conjoined
from matchwood.logic.conjunctions import narrows
from matchwood.logic.dnf import dnf
from matchwood.logic.form import FALSE, TRUE, Form
from matchwood.logic.leaf import Conjunction
from matchwood.logic.negate import negate, negated_rows
from matchwood.logic.search import can_hold

Normal: TypeAlias = list[Conjunction] | Form
"""What `dnf_of` returns: conjunctions, or the form of a rule that has too many."""

EFFORT = 20_000
"""Node visits of one case split: some ten milliseconds."""

_SMALL_DNF = 64


def implies(narrow: Normal, wide: Normal, effort: int = EFFORT) -> bool:
    """Whether every event that satisfies the first rule satisfies the second."""
    narrow, wide = _as_rows(narrow), _as_rows(wide)
    if isinstance(narrow, Form):
        return can_hold(conjoined([narrow, _negated(wide)]), (), effort) is False
    rows = wide if isinstance(wide, list) else []
    rest = [each for each in narrow if not any(narrows(each, row) for row in rows)]
    if not rest:
        return True
    if isinstance(wide, list) and len(wide) < 2:
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
    if isinstance(rule, Form):
        return can_hold(negate(rule), (), effort) is False
    if () in rule:
        return True
    if not any(all(leaf.null for leaf in row) for row in rule):
        return False
    return can_hold(negated_rows(rule), (), effort) is False


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
