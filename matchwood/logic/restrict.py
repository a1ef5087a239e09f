"""A form with some of its leaves taken for never true."""

from __future__ import annotations

from collections.abc import Callable

from matchwood.logic.builder import NEVER_TRUE, Answer, Builder
from matchwood.logic.form import AND, OR, Form
from matchwood.logic.leaf import Leaf
from matchwood.logic.numbering import form_below


def restricted(form: Form, kept: Callable[[Leaf], bool]) -> Form:
    """The form of the ways to satisfy this one that use only leaves that are kept."""
    if form.kinds[-1] not in (AND, OR) and not form.leaves:
        return form
    builder = Builder()
    answers: list[Answer] = [leaf if kept(leaf) else NEVER_TRUE for leaf in form.leaves]
    for kind, children in zip(form.kinds[len(answers) :], form.children[len(answers) :], strict=True):
        answers.append(builder.junction(kind, [answers[child] for child in children]))
    return form_below(builder, answers[-1])
