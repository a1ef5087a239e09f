"""From what a rule says to what an engine can index: normal forms, their sizes, and implication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports
from matchwood.logic import cuts
from matchwood.logic.binary import binary
from matchwood.logic.cnf import cnf, cnf_size
from matchwood.logic.conjunctions import narrows, of_leaves
from matchwood.logic.cuts import (
    EMPTY,
    FULL,
    START,
    Cut,
    CutSet,
    complement,
    contains,
    difference,
    intersection,
    is_subset,
    union,
    union_all,
)
from matchwood.logic.dnf import choices, dnf, dnf_size
from matchwood.logic.evaluate import evaluate
from matchwood.logic.form import ALWAYS, AND, FALSE, LEAF, NEVER, OR, TRUE, Form, conjunction_form
from matchwood.logic.implies import implies, is_always, is_never
from matchwood.logic.key import form_key
from matchwood.logic.leaf import Bind, Bound, Clause, Clauses, Conjunction, Leaf, accepts_only, is_empty, meet, meet_all
from matchwood.logic.negate import conjoined, form_of, negate, negated_rows
from matchwood.logic.normalise import normalise
from matchwood.logic.questions import IS_TRUE, of_predicate
from matchwood.logic.restrict import restricted
from matchwood.logic.route import clauses_of_form, dnf_of, form_of_rule, smaller_of, smaller_of_form
from matchwood.logic.search import can_hold
from matchwood.logic.unsuppressed import MOST_FLAT, unsuppressed

if TYPE_CHECKING:
    from matchwood.logic.columnar.expansion import (
        ANY_RULE,
        AS_FORMS,
        AS_WRITTEN,
        LARGEST_LIMIT,
        LEAF_BASE,
        NO_VERDICT,
        OR_OF_ANDS,
        UNKNOWN_ANSWER,
        VERDICT_FALSE,
        VERDICT_TRUE,
        ExpandedRules,
        PredicateColumns,
        RuleExpander,
    )
    from matchwood.logic.columnar.shapes import FormShapes
    from matchwood.logic.columnar.unions import united

__getattr__ = exports(__name__)

__all__ = [
    "ALWAYS",
    "AND",
    "ANY_RULE",
    "AS_FORMS",
    "AS_WRITTEN",
    "EMPTY",
    "FALSE",
    "FULL",
    "IS_TRUE",
    "LARGEST_LIMIT",
    "LEAF",
    "LEAF_BASE",
    "MOST_FLAT",
    "NEVER",
    "NO_VERDICT",
    "OR",
    "OR_OF_ANDS",
    "START",
    "TRUE",
    "UNKNOWN_ANSWER",
    "VERDICT_FALSE",
    "VERDICT_TRUE",
    "Bind",
    "Bound",
    "Clause",
    "Clauses",
    "Conjunction",
    "Cut",
    "CutSet",
    "ExpandedRules",
    "Form",
    "FormShapes",
    "Leaf",
    "PredicateColumns",
    "RuleExpander",
    "accepts_only",
    "binary",
    "can_hold",
    "choices",
    "clauses_of_form",
    "cnf",
    "cnf_size",
    "complement",
    "conjoined",
    "conjunction_form",
    "contains",
    "cuts",
    "difference",
    "dnf",
    "dnf_of",
    "dnf_size",
    "evaluate",
    "form_key",
    "form_of",
    "form_of_rule",
    "implies",
    "intersection",
    "is_always",
    "is_empty",
    "is_never",
    "is_subset",
    "meet",
    "meet_all",
    "narrows",
    "negate",
    "negated_rows",
    "normalise",
    "of_leaves",
    "of_predicate",
    "restricted",
    "smaller_of",
    "smaller_of_form",
    "union",
    "union_all",
    "united",
    "unsuppressed",
]
