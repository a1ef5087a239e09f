"""From what a rule says to what an engine can index: normal forms, their sizes, and implication."""

from matchwood.logic import cuts
from matchwood.logic.cnf import cnf, cnf_size
from matchwood.logic.dnf import dnf, dnf_size
from matchwood.logic.evaluate import evaluate
from matchwood.logic.form import AND, FALSE, LEAF, OR, TRUE, Form
from matchwood.logic.implies import implies, is_always, is_never
from matchwood.logic.key import form_key
from matchwood.logic.leaf import Bind, Bound, Clause, Conjunction, Leaf
from matchwood.logic.negate import form_of, negate
from matchwood.logic.normalise import normalise
from matchwood.logic.route import dnf_of

__all__ = [
    "AND",
    "FALSE",
    "LEAF",
    "OR",
    "TRUE",
    "Bind",
    "Bound",
    "Clause",
    "Conjunction",
    "Form",
    "Leaf",
    "cnf",
    "cnf_size",
    "cuts",
    "dnf",
    "dnf_of",
    "dnf_size",
    "evaluate",
    "form_key",
    "form_of",
    "implies",
    "is_always",
    "is_never",
    "negate",
    "normalise",
]
