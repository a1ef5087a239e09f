"""The one way from a tree to what the engines take: conjunctions, or the form of a rule that has too many.

Most rules are an AND of predicates, or an OR of a few such, and millions of them are loaded at once. They
go straight to their conjunctions: the form, its hash tables and its numbering cost three to ten times as
much, and lead to the same result.
"""

from __future__ import annotations

from collections.abc import Iterable

from matchwood.language import And, Expression, Predicate, Truth
from matchwood.logic.builder import NEVER_TRUE
from matchwood.logic.cnf import cnf
from matchwood.logic.conjunctions import canonical, of_leaves
from matchwood.logic.dnf import dnf
from matchwood.logic.form import ALWAYS, AND, NEVER, OR, Form, conjunction_form
from matchwood.logic.leaf import Bind, Clause, Clauses, Conjunction, Leaf
from matchwood.logic.normalise import answered, normalise
from matchwood.logic.numbering import form_below
from matchwood.logic.questions import IS_TRUE, Asked, about_operand, junction_of, leaf_of, of_predicate
from matchwood.logic.sizes import expanded

MOST_ROWS = 64
"""Direct conjunctions at most: absorption then compares all pairs, here and behind the form."""

MOST_VISITS = 1_000
"""Nodes looked at, and predicates gathered, before a shape is given up; shared nodes could be met without end."""


def dnf_of(expression: Expression, bind: Bind, limit: int) -> list[Conjunction] | Form:
    """The conjunctions of a rule in canonical order, or its form when there may be more than `limit`.

    `bind` is called for every predicate, whether or not it survives simplification.
    """
    if limit > 0 and type(expression) is And and _only_predicates(expression.operands):
        return _as_written(expression.operands, bind)
    shape = _or_of_ands(expression, min(limit, MOST_ROWS))
    if shape is not None:
        return _rows(shape, bind)
    builder, root = answered(expression, bind)
    if isinstance(root, Leaf) or root < 0:
        rows = dnf(form_below(builder, root), limit)
    else:
        rows = dnf(builder.rough(root), limit)
    return form_below(builder, root) if rows is None else rows


def smaller_of(
    expression: Expression, bind: Bind, limit: int, clauses_only: bool = False
) -> list[Conjunction] | Clauses | Form:
    """A rule as conjunctions or as clauses, whichever has fewer leaves, or its form when both are over `limit`.

    With `clauses_only`, clauses unless there are too many of them. Sizes are those told from the form. An OR of ANDs
    has as many leaves in its clauses at least, so that its form need not be made to find out.
    """
    if not clauses_only and limit > 0:
        if type(expression) is And and _only_predicates(expression.operands):
            return _as_written(expression.operands, bind)
        shape = _or_of_ands(expression, min(limit, MOST_ROWS))
        if shape is not None:
            return _rows(shape, bind)
    return smaller_of_form(normalise(expression, bind), limit, clauses_only)


def smaller_of_form(form: Form, limit: int, clauses_only: bool = False) -> list[Conjunction] | Clauses | Form:
    """The same of a rule whose form is known."""
    sums, products = expanded(form, OR), expanded(form, AND)
    if clauses_only or products.leaves < sums.leaves or sums.rows > limit:
        rows = cnf(form, limit)
        if rows is not None:
            return _with_constants(rows)
    conjunctions = dnf(form, limit)
    return form if conjunctions is None else conjunctions


def clauses_of_form(form: Form, limit: int) -> list[Conjunction] | Clauses | Form:
    """The clauses of a rule whose conjunctions are too many, or its form when these are over `limit` as well."""
    rows = cnf(form, limit)
    return form if rows is None else _with_constants(rows)


def _with_constants(rows: list[Clause]) -> list[Conjunction] | Clauses:
    """Clauses, or conjunctions if the rule is constant, or if no clause leaves a choice."""
    if rows == [()]:
        return []
    if all(len(row) == 1 for row in rows):
        return [tuple(sorted(leaf for row in rows for leaf in row))]
    return Clauses(rows)


def form_of_rule(expression: Expression, bind: Bind) -> Form:
    """The form of a rule, for whoever takes rules whole: as `normalise` makes it, but faster for ANDs of predicates."""
    if type(expression) is not And or not _only_predicates(expression.operands):
        return normalise(expression, bind)
    rows = _as_written(expression.operands, bind)
    if not rows:
        return NEVER
    (leaves,) = rows
    return conjunction_form(leaves) if leaves else ALWAYS


def _only_predicates(operands: Iterable[Expression]) -> bool:
    return set(map(type, operands)) == {Predicate}


def _as_written(predicates: Iterable[Expression], bind: Bind) -> list[Conjunction]:
    """The AND of some predicates; `_rows` gives the same at three times the cost."""
    answers = [of_predicate(bind(predicate), IS_TRUE) for predicate in predicates]  # type: ignore[arg-type]
    leaves = [answer for answer in answers if type(answer) is Leaf]
    if len({leaf[0] for leaf in leaves}) == len(answers):
        return [tuple(sorted(leaves))]
    row = None if NEVER_TRUE in answers else of_leaves(leaves)
    return [] if row is None else [row]


def _rows(shape: list[list[Asked]], bind: Bind) -> list[Conjunction]:
    rows = [of_leaves([leaf_of(bind(node), asked) for node, asked in row]) for row in shape]  # type: ignore[arg-type]
    return canonical(row for row in rows if row is not None)


def _or_of_ands(expression: Expression, most: int) -> list[list[Asked]] | None:
    """The predicates of a rule that is an OR of ANDs, with the questions asked of them; None for other shapes."""
    alternatives = _spread((expression, IS_TRUE), OR)
    if alternatives is None or len(alternatives) > most:
        return None
    shape = []
    for alternative in alternatives:
        row = _spread(alternative, AND)
        if row is None or not _only_predicates(node for node, _ in row):
            return None
        shape.append(row)
    return shape if sum(map(len, shape)) <= MOST_VISITS else None


def _spread(asked: Asked, junction: int) -> list[Asked] | None:
    """The questions that one question joins by `junction`, in the order of the text; None when there are too many."""
    members: list[Asked] = []
    pending = [asked]
    for _ in range(MOST_VISITS):
        if not pending:
            return members
        node, question = asked = pending.pop()
        passed = about_operand(node, question)
        if passed is not None:
            pending.append(passed)
        elif type(node) is not Truth and junction_of(node, question) == junction:
            pending.extend([(operand, question) for operand in node.operands[::-1]])
        else:
            members.append(asked)
    return None
