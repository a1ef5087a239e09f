"""The examples of the A-Tree paper, its figures reconstructed from what the text says of them."""

from __future__ import annotations

import pytest
from atree_support import by_rule, p, says, tree_of, true

import matchwood as mw

FIRST = f"({p(1, 2, 3)}) and {p(4)} and ({p(5, 6)})"
SECOND = f"({p(5, 6)}) and ({p(7, 8)})"


def figure_4() -> mw.Index:
    return tree_of({"first": FIRST, "second": SECOND})


def test_two_rules_share_a_subexpression() -> None:
    """4.1, Fig. 4: eight leaves, three i-nodes, two r-nodes; P5 or P6 has two parents."""
    index = figure_4()
    stats = index.stats()
    assert (stats["nodes"], stats["levels"], stats["nodes_by_level"]) == (13, 3, [8, 3, 2])
    roots = by_rule(index)
    (shared,) = set(roots["first"].children) & set(roots["second"].children)
    node = next(node for node in index.nodes() if node.number == shared)
    assert (says(index, shared), node.uses, node.level) == (("or", frozenset({"p5 = 1", "p6 = 1"})), 2, 2)


def test_the_order_of_operands_does_not_matter() -> None:
    """4.2.1: both spellings have the same id."""
    index = tree_of({1: FIRST, 2: f"{p(4)} and ({p(3, 2, 1)}) and ({p(6, 5)})"})
    assert index.stats()["units"] == 1
    assert by_rule(index)[1].uses == 2


def test_a_new_expression_is_reorganised() -> None:
    """4.2.2: P1 or P2 or P3 or P4 becomes (P1 or P2 or P3) or P4, with one new node and two links."""
    index = figure_4()
    before = index.stats()
    index["new"] = p(1, 2, 3, 4)
    after = index.stats()
    assert (after["nodes"] - before["nodes"], after["edges"] - before["edges"]) == (1, 2)
    inner = ("or", frozenset({"p1 = 1", "p2 = 1", "p3 = 1"}))
    assert says(index, by_rule(index)["new"].number) == ("or", frozenset({inner, "p4 = 1"}))
    assert (index.audit(), after["covered"], after["links_saved"]) == ([], 1, 2)


def test_covers_may_overlap() -> None:
    """4.2.2: (P1 and P2 and P3) and (P3 and P4)."""
    index = tree_of({1: p(1, 2, 3, word="and"), 2: p(3, 4, word="and"), 3: p(1, 2, 3, 4, word="and")})
    roots = by_rule(index)
    assert set(roots[3].children) == {roots[1].number, roots[2].number}
    assert index.match(true(1, 2, 3, 4)) == [1, 2, 3]
    assert index.match(true(1, 2, 4)) == []


def test_the_index_adjusts_itself() -> None:
    """4.2.3: (P1 or P2 or P3) and P4 becomes a child of the first rule, and takes two of its links."""
    index = figure_4()
    before = index.stats()
    index["new"] = f"({p(1, 2, 3)}) and {p(4)}"
    after = index.stats()
    assert (after["nodes"] - before["nodes"], after["edges"] - before["edges"]) == (1, 2 - 2 + 1)
    roots = by_rule(index)
    assert roots["new"].number in roots["first"].children
    assert (len(roots["first"].children), roots["first"].level, roots["new"].uses) == (2, 4, 2)
    assert (index.audit(), after["adopted"]) == ([], 1)


def test_a_deleted_expression_hands_its_children_over() -> None:
    """4.2.4: the node goes although another has it for a child, and the tree is as before it came."""
    index = figure_4()
    before, first = index.stats(), says(index, by_rule(index)["first"].number)
    index["new"] = f"({p(1, 2, 3)}) and {p(4)}"
    del index["new"]
    after = index.stats()
    assert index.audit() == []
    assert [after[key] for key in ("nodes", "edges", "levels")] == [before[key] for key in ("nodes", "edges", "levels")]
    assert says(index, by_rule(index)["first"].number) == first
    assert index.match(true(1, 4, 5)) == ["first"]


def test_what_another_rule_uses_stays() -> None:
    index = figure_4()
    del index["first"]
    assert says(index, by_rule(index)["second"].number) == (
        "and",
        frozenset({("or", frozenset({"p5 = 1", "p6 = 1"})), ("or", frozenset({"p7 = 1", "p8 = 1"}))}),
    )
    assert (index.stats()["nodes"], index.audit()) == (7, [])
    del index["second"]
    assert (index.stats()["nodes"], index.stats()["edges"], index.audit()) == (0, 0, [])


RUN = {
    "S1": FIRST,
    "S2": SECOND,
    "S3": p(1, 2, 3, 4),
    "S4": f"({p(1, 2, 3, 4)}) and {p(5)}",
    "S5": p(5, 6),
    "S6": f"not ({p(7, 8)})",
}
"""5.3: six rules of four levels over P1 to P8; P9 and P10 are the negations of P7 and P8."""


@pytest.mark.parametrize("zero_suppression", [True, False])
def test_the_run_of_the_matching_example(zero_suppression: bool) -> None:
    """Only P1, P9 and P10 are true. P1 reaches an or, and that S3, an or on the third level; P9 reaches S6."""
    index = tree_of(RUN, zero_suppression=zero_suppression)
    assert index.stats()["levels"] == 4
    assert index.match(true(1, of=8)) == ["S3", "S6"]
    work = index.stats()["matching"]
    if zero_suppression:
        # Two or nodes told, and one and evaluated: S6, whose other child is asked on demand.
        assert (work["candidates"], work["verified"], work["matched"]) == (3, 1, 2)
    else:
        assert work["candidates"] > 3
