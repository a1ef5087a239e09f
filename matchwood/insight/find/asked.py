"""`index.find` on any matcher: by the compiled walk over conjunctions, or by definition over the oracle's trees."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

from matchwood.errors import LimitExceeded
from matchwood.insight.find.copy import Copy
from matchwood.insight.find.query import FIND_LIMIT, Query
from matchwood.insight.find.rows import decided, find_rows
from matchwood.language import Expression
from matchwood.logic import Conjunction, Form, dnf_of
from matchwood.matching import EngineMatcher, Matcher, OracleMatcher
from matchwood.semantics import find as oracle_find

_copies: weakref.WeakKeyDictionary[EngineMatcher, Copy] = weakref.WeakKeyDictionary()
"""The conjunctions of matchers that keep expressions or clauses, once somebody has asked for them."""


def found_rows(matcher: Matcher, query: Query) -> NDArray[np.int32]:
    """The rows of the rules that answer a query, in rule order. Nothing that `stats` or `save` tell changes."""
    if isinstance(matcher, OracleMatcher):
        rows = [row for row, tree in matcher.trees() if _is_found(matcher, row, tree, query)]
        return np.array(rows, dtype=np.int32)
    assert isinstance(matcher, EngineMatcher)
    if matcher.holds_conjunctions:
        return find_rows(matcher, query)
    return _copies.setdefault(matcher, Copy()).find_rows(matcher, query)


def _is_found(matcher: OracleMatcher, row: int, tree: Expression, query: Query) -> bool:
    """By the definitions, written out; but a rule of too many conjunctions for them by logic."""
    rule, rule_id = dnf_of(tree, matcher.encoder.bind, FIND_LIMIT), matcher.table.id_list(np.array([row]))[0]
    if isinstance(rule, Form):
        return decided(rule_id, rule, query)
    try:
        return oracle_find.is_found(query.semantics, [*map(_row, rule)], [*map(_row, query.rows)])
    except LimitExceeded as error:
        raise LimitExceeded(f"rule {rule_id!r} cannot be compared with the query: {error}") from None


def _row(conjunction: Conjunction) -> oracle_find.Row:
    return {leaf.attribute: (leaf.cuts, leaf.null) for leaf in conjunction}
