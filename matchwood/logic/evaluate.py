"""The verdict of a normal form on one event, in plain Python: for checks, not for matching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.logic.cuts import contains
from matchwood.logic.form import AND, OR, TRUE, Form
from matchwood.logic.leaf import Conjunction, Leaf


def evaluate(rule: Form | list[Conjunction], values: Mapping[str, Any]) -> bool:
    """Whether a form, or one of some conjunctions, holds; a value that is missing or None is NULL."""
    if isinstance(rule, Form):
        return _form_holds(rule, values)
    return any(all(leaf_holds(leaf, values) for leaf in row) for row in rule)


def leaf_holds(leaf: Leaf, values: Mapping[str, Any]) -> bool:
    value = values.get(leaf.attribute)
    return leaf.null if value is None else contains(leaf.cuts, value)


def _form_holds(form: Form, values: Mapping[str, Any]) -> bool:
    verdicts = [leaf_holds(leaf, values) for leaf in form.leaves]
    for kind, children in zip(form.kinds[len(verdicts) :], form.children[len(verdicts) :], strict=True):
        if kind == OR:
            verdicts.append(any(verdicts[child] for child in children))
        else:
            verdicts.append(kind in (AND, TRUE) and all(verdicts[child] for child in children))
    return verdicts[-1]
