"""From what a rule says to what an engine can index: normal forms, their sizes, and implication."""

from matchwood.logic import cuts
from matchwood.logic.binary import binary
from matchwood.logic.cnf import cnf, cnf_size
from matchwood.logic.dnf import dnf, dnf_size
from matchwood.logic.evaluate import evaluate
from matchwood.logic.form import ALWAYS, AND, FALSE, LEAF, NEVER, OR, TRUE, Form
from matchwood.logic.implies import implies, is_always, is_never
from matchwood.logic.key import form_key
from matchwood.logic.leaf import Bind, Bound, Clause, Clauses, Conjunction, Leaf
from matchwood.logic.negate import form_of, negate
from matchwood.logic.normalise import normalise
from matchwood.logic.route import dnf_of, form_of_rule, smaller_of, smaller_of_form
from matchwood.logic.unsuppressed import unsuppressed

__all__ = [
    "ALWAYS",
    "AND",
    "FALSE",
    "LEAF",
    "NEVER",
    "OR",
    "TRUE",
    "Bind",
    "Bound",
    "Clause",
    "Clauses",
    "Conjunction",
    "Form",
    "Leaf",
    "binary",
    "cnf",
    "cnf_size",
    "cuts",
    "dnf",
    "dnf_of",
    "dnf_size",
    "evaluate",
    "form_key",
    "form_of",
    "form_of_rule",
    "implies",
    "is_always",
    "is_never",
    "negate",
    "normalise",
    "smaller_of",
    "smaller_of_form",
    "unsuppressed",
]
