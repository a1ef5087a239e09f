"""The negation of a form: AND and OR change places, and every leaf accepts what it refused.

This is the plain negation of a two-valued question ("it is not so that the rule is TRUE"), which holds for NULL as
well; it is not the language's `not`.
"""

from __future__ import annotations

from collections.abc import Sequence

from matchwood.logic.builder import Answer, Builder, copied
from matchwood.logic.form import ALWAYS, AND, FALSE, NEVER, OR, TRUE, Form
from matchwood.logic.leaf import Conjunction, negation
from matchwood.logic.numbering import form_below


def negate(form: Form) -> Form:
    """The form that holds for exactly the events for which this one does not."""
    if form.kinds[-1] in (TRUE, FALSE):
        return NEVER if form.kinds[-1] == TRUE else ALWAYS
    builder = Builder()
    answers: list[Answer] = [negation(leaf) for leaf in form.leaves]
    for kind, children in zip(form.kinds[len(answers) :], form.children[len(answers) :], strict=True):
        answers.append(builder.junction(OR if kind == AND else AND, [answers[child] for child in children]))
    return form_below(builder, answers[-1])


def negated_rows(conjunctions: Sequence[Conjunction]) -> Form:
    """The form that holds when none of the conjunctions does."""
    builder = Builder()
    clauses = [builder.junction(OR, [negation(leaf) for leaf in conjunction]) for conjunction in conjunctions]
    return form_below(builder, builder.junction(AND, clauses))


def form_of(conjunctions: Sequence[Conjunction]) -> Form:
    """The form that holds when some conjunction does."""
    builder = Builder()
    rows = [builder.junction(AND, conjunction) for conjunction in conjunctions]
    return form_below(builder, builder.junction(OR, rows))


def conjoined(forms: Sequence[Form]) -> Form:
    """The form that holds when all the given ones do."""
    builder = Builder()
    return form_below(builder, builder.junction(AND, [copied(builder, form) for form in forms]))
