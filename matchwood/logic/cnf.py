"""Forms as an AND of clauses: the negated rows of the negated form's DNF."""

from __future__ import annotations

from matchwood.logic.dnf import dnf, expanded_size
from matchwood.logic.form import AND, Form
from matchwood.logic.leaf import Clause, negation
from matchwood.logic.negate import negate


def cnf_size(form: Form) -> int:
    """At most this many clauses; saturates like `dnf_size`."""
    return expanded_size(form, AND)


def cnf(form: Form, limit: int) -> list[Clause] | None:
    """The clauses in canonical order, or None when `cnf_size` exceeds the limit.

    An empty list is TRUE; an empty clause, then the only one, is FALSE.
    """
    rows = dnf(negate(form), limit) if cnf_size(form) <= limit else None
    return None if rows is None else sorted(tuple(map(negation, row)) for row in rows)
