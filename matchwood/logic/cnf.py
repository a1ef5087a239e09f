"""Forms as an AND of clauses: the negated rows of the negated form's DNF."""

from __future__ import annotations

from matchwood.logic.dnf import dnf
from matchwood.logic.form import AND, Form
from matchwood.logic.leaf import Clause, negation
from matchwood.logic.negate import negate
from matchwood.logic.sizes import expanded


def cnf_size(form: Form) -> int:
    """At most this many clauses; saturates like `dnf_size`."""
    return expanded(form, AND).rows


def cnf(form: Form, limit: int) -> list[Clause] | None:
    """The clauses in canonical order, None as for `dnf`.

    An empty list is TRUE; an empty clause, then the only one, is FALSE.
    """
    rows = dnf(negate(form), limit)
    return None if rows is None else sorted(tuple(map(negation, row)) for row in rows)
