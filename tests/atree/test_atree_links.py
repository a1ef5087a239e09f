"""Links know both of their ends: a rule goes without a look at the other rules that share its predicates."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from atree_support import flat_rule, p, random_event, random_rule

import matchwood as mw
from matchwood.engines import ATree
from matchwood.engines.atree.layout import FAN, PARENTS
from matchwood.errors import CorruptSnapshot


def forms_of(index: mw.Index) -> ATree:
    return index._matcher.parts[-1].store  # type: ignore[attr-defined, no-any-return]


def shared_by_many(rules: int = 300) -> mw.Index:
    """Rules that all have one predicate in common, most of them as a child that they are not told by."""
    index = mw.Index("atree")
    index.insert_many({number: f"common > 0 and a{number} = 1" for number in range(rules)})
    return index


def common_leaf(tree: ATree) -> int:
    return int(np.argmax(tree.nodes.fields()[:, FAN]))


def test_a_deletion_moves_one_other_parent_of_a_shared_predicate() -> None:
    index = shared_by_many()
    tree = forms_of(index)
    leaf = common_leaf(tree)
    start, fan = (int(tree.nodes.fields()[leaf, field]) for field in (PARENTS, FAN))
    for rule in (0, 150, 7, 290):
        before = tree.nodes.columns["parents"].view()[start : start + fan].copy()
        del index[rule]
        now = tree.nodes.columns["parents"].view()[start : start + fan]
        assert int(tree.nodes.fields()[leaf, FAN]) == fan - 1
        assert np.count_nonzero(before[: fan - 1] != now[: fan - 1]) <= 1
        fan -= 1
        assert index.audit() == []


@pytest.mark.few
@pytest.mark.parametrize("make", [flat_rule, random_rule])
@pytest.mark.parametrize("options", [{}, {"zero_suppression": False}, {"on_demand": False}, {"binary": True}])
def test_links_are_sound_after_every_operation_and_after_opening(make: Any, options: Any, tmp_path: Path) -> None:
    rng = random.Random(31)
    index, oracle = mw.Index("atree", options=options), mw.Index("oracle")
    for step in range(60):
        number = rng.randrange(25)
        if number in index and rng.random() < 0.6:
            del index[number], oracle[number]
        else:
            index[number] = oracle[number] = make(rng)
        assert index.audit() == []
        if step % 20 == 10:
            index.save(tmp_path / str(step))
            index = mw.open(tmp_path / str(step))
            assert not forms_of(index).nodes.linked
        if step % 25 == 24:
            index.compact()
            assert index.audit() == []
    events = [random_event(rng) for _ in range(40)]
    assert index.match_many(events).to_pydict() == oracle.match_many(events).to_pydict()


def test_links_are_not_saved_and_found_again() -> None:
    tree = forms_of(shared_by_many())
    assert not {"seats", "entries"} & set(tree.arrays())
    known = {name: tree.nodes.columns[name].view().copy() for name in ("seats", "entries")}
    again = ATree()
    again.restore(tree.arrays(), tree.header())
    again.check()
    again.nodes.find_links()
    used = {"seats": len(tree.arrays()["children"]), "entries": len(tree.arrays()["parents"])}
    for name, length in used.items():
        found = again.nodes.columns[name].view()[:length]
        taken = found >= 0 if name == "entries" else np.ones(length, np.bool_)
        assert np.array_equal(found[taken], known[name][:length][taken])


@pytest.mark.parametrize("column", ["seats", "entries"])
def test_audit_sees_a_link_that_does_not_know_its_other_end(column: str) -> None:
    index = shared_by_many(20)
    columns = forms_of(index).nodes.columns
    columns[column].writable()[:] += 1
    assert any("does not know its other end" in problem for problem in index.audit())


def test_broken_links_are_refused_when_a_tree_is_changed() -> None:
    tree = forms_of(shared_by_many(20))
    arrays = {name: array.copy() for name, array in tree.arrays().items()}
    arrays["children"][0] = arrays["children"][2]
    again = ATree()
    again.restore(arrays, tree.header())
    again.check()
    with pytest.raises(CorruptSnapshot, match="parents and children do not name the same links"):
        again.nodes.reserve(1)


def test_the_table_of_a_tree_without_nodes_names_none() -> None:
    arrays, header = {name: array.copy() for name, array in ATree().arrays().items()}, ATree().header()
    arrays["table"][6] = 0
    again = ATree()
    again.restore(arrays, header)
    with pytest.raises(CorruptSnapshot, match="'table' holds values outside"):
        again.check()


def test_a_parent_that_keeps_a_node_is_asked_first_the_next_time() -> None:
    """`p1 and p2` is part of many rules and an operand of an or, which is found at once from the second deletion on."""
    index = mw.Index("atree")
    index[100] = p(1, 2, word="and")
    index.insert_many({number: f"{p(1, 2, word='and')} and a{number} = 1" for number in range(50)})
    index[101] = f"({p(1, 2, word='and')}) or {p(3)}"
    del index[100]
    for number in range(50):
        del index[number]
        assert index.audit() == []
    assert index.match({"p3": 1}) == [101]
