"""Forms as an OR of conjunctions: the size is estimated on the DAG before anything is expanded."""

from __future__ import annotations

from matchwood.logic.conjunctions import canonical, of_leaves, product
from matchwood.logic.form import AND, OR, TRUE, Form
from matchwood.logic.leaf import Conjunction

SATURATED = 1 << 62
"""Sizes stop growing here: a chain of xor would have 2**9999 conjunctions."""


def dnf_size(form: Form) -> int:
    """At most this many conjunctions; saturates at SATURATED."""
    return expanded_size(form, OR)


def expanded_size(form: Form, sums: int) -> int:
    """The number of rows when nodes of the kind `sums` collect rows, and those of the other kind multiply them."""
    sizes: list[int] = [1] * len(form.leaves)
    for kind, children in zip(form.kinds[len(sizes) :], form.children[len(sizes) :], strict=True):
        if kind == sums:
            sizes.append(min(sum(sizes[child] for child in children), SATURATED))
        elif kind in (AND, OR):
            sizes.append(_saturating_product([sizes[child] for child in children]))
        else:
            sizes.append(1 if (kind == TRUE) == (sums == OR) else 0)
    return sizes[-1]


def _saturating_product(factors: list[int]) -> int:
    total = 1
    for factor in factors:
        total = min(total * factor, SATURATED)
    return total


def dnf(form: Form, limit: int) -> list[Conjunction] | None:
    """The conjunctions in canonical order, or None when `dnf_size` exceeds the limit."""
    if dnf_size(form) > limit:
        return None
    rows: list[list[Conjunction]] = [[(leaf,)] for leaf in form.leaves]
    for kind, children in zip(form.kinds[len(rows) :], form.children[len(rows) :], strict=True):
        if kind == AND:
            rows.append(_products(form, rows, children))
        elif kind == OR:
            rows.append(list(dict.fromkeys(row for child in children for row in rows[child])))
        else:
            rows.append([()] if kind == TRUE else [])
    return canonical(rows[-1])


def _products(form: Form, rows: list[list[Conjunction]], children: tuple[int, ...]) -> list[Conjunction]:
    """Every way to take one row from each child; the leaves first, then the shortest lists."""
    leaf_count = len(form.leaves)
    base = of_leaves(form.leaves[child] for child in children if child < leaf_count)
    products = [] if base is None else [base]
    for factors in sorted((rows[child] for child in children if child >= leaf_count), key=len):
        pairs = (product(left, right) for left in products for right in factors)
        products = list(dict.fromkeys(pair for pair in pairs if pair is not None))
    return products
