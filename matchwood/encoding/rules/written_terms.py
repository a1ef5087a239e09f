"""The predicates of rules in columns, as they were written: what scores are made of, and conjunctions do not tell.

A rule that is taken AS_WRITTEN is an AND of predicates and negations, or an OR of ANDs of predicates, each of which is
one of its conjunctions. Such ANDs are its *terms*, and what is negated stands in none. So what its predicates are, in
which order, and in which term each stands, says all about the tree that a score depends on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.rules.predicate_book import PredicateBook
from matchwood.language import RuleTrees
from matchwood.logic import ExpandedRules

NO_LEAF = -1
"""In the place of the leaf of a predicate that is never true, or that nobody has asked about."""


class WrittenTerms(NamedTuple):
    """The predicates of rules in the order of the texts; of rules that are not taken, none.

    `ends`        where those of each rule end
    `attributes`  the number of each one's attribute, as the rules' uses have it
    `operators`   the place of its operator in OPERATORS
    `leaves`      what it accepts: the number of a leaf, or NO_LEAF
    `terms`       in which of its rule's terms it stands, -1 if in none
    `row_terms`   which of its rule's terms each conjunction is
    """

    ends: NDArray[np.int64]
    attributes: NDArray[np.int32]
    operators: NDArray[np.int8]
    leaves: NDArray[np.int32]
    terms: NDArray[np.int32]
    row_terms: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        book: PredicateBook,
        trees: RuleTrees,
        predicates: NDArray[np.int32],
        expanded: ExpandedRules,
    ) -> WrittenTerms:
        """Those of the rules that were expanded, which were taken AS_WRITTEN."""
        every = cls(
            trees.predicate_ends,
            book.names_of()[predicates],
            book.operators(predicates),
            book.true_leaves(predicates),
            expanded.terms,
            expanded.row_terms,
        )
        return every.only(expanded.counts >= 0)

    def only(self, taken: NDArray[np.bool_]) -> WrittenTerms:
        """The predicates of some rules; the others have none. Conjunctions stay as they are."""
        sizes = np.diff(self.ends, prepend=0)
        if (taken | (sizes == 0)).all():
            return self
        kept = np.repeat(taken, sizes)
        return WrittenTerms(
            np.cumsum(np.where(taken, sizes, 0)),
            self.attributes[kept],
            self.operators[kept],
            self.leaves[kept],
            self.terms[kept],
            self.row_terms,
        )
