"""How batches come in: in which order, with how much room, and what the sketches of nodes rule out."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from atree_support import flat_rule, random_rule
from numpy.typing import NDArray

import matchwood as mw
from matchwood.engines import ATree
from matchwood.engines.atree.construction import insert as atree_entry
from matchwood.engines.atree.construction._entry_kernels import enter
from matchwood.engines.atree.construction._height_kernels import measure_heights, order_by_height
from matchwood.engines.atree.layout import AND, KIND_MASK, OR, STAMP, STEPS
from matchwood.engines.shared.views import read_only


def forms_of(index: mw.Index) -> ATree:
    return index._matcher.parts[-1].store  # type: ignore[attr-defined, no-any-return]


def inserted(rules: Iterable[str], options: dict[str, Any] | None = None) -> mw.Index:
    """An index that took all rules as one batch."""
    index = mw.Index("atree", options=options or {})
    index.insert_many(dict(enumerate(rules)))
    return index


def content(tree: ATree) -> dict[str, list[Any]]:
    """All of a tree but what tells how it came about: the size of its table, stamps, steps."""
    state = tree.nodes.state.copy()
    state[[STAMP, STEPS]] = 0
    arrays = {name: array.tolist() for name, array in tree.arrays().items() if name != "table"}
    return arrays | {"state": state.tolist()}


def random_batch(rng: np.random.Generator, leaves: int, inner: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Offsets and children of inner nodes that come after their children."""
    lists = [rng.integers(0, leaves + node, rng.integers(1, 9)) for node in range(inner)]
    return np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int32)


@pytest.mark.parametrize("inner", [1, 2, 300])
def test_a_batch_comes_from_the_lowest_and_smallest_on(inner: int) -> None:
    leaves = 40
    offsets, items = random_batch(np.random.default_rng(inner), leaves, inner)
    expected = np.zeros(inner, np.int64)
    for node in range(inner):
        below = items[offsets[node] : offsets[node + 1]] - leaves
        expected[node] = 1 + max((expected[each] for each in below if each >= 0), default=0)
    heights, order = np.empty(inner, np.int32), np.empty(inner, np.int32)
    offsets, items = read_only(offsets, np.int64), read_only(items, np.int32)
    highest, widest = measure_heights(offsets, items, leaves, heights)
    assert heights.tolist() == expected.tolist()
    assert (highest, widest) == (expected.max(), np.diff(offsets).max())
    starts = np.empty(max(highest, widest) + 2, np.int64)
    order_by_height(offsets, heights, highest, widest, starts, np.empty(inner, np.int32), order)
    assert order.tolist() == np.lexsort((np.diff(offsets), expected)).tolist()


@pytest.mark.parametrize("options", [{}, {"self_adjust": False}, {"unique": False}, {"binary": True}])
def test_room_that_is_short_again_and_again_changes_nothing(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(21)
    rules = [random_rule(rng, attributes=20) for _ in range(300)]
    plain = forms_of(inserted(rules, options))
    calls: list[int] = []

    def counted(*arguments: Any) -> int:
        calls.append(enter(*arguments))
        return calls[-1]

    monkeypatch.setattr(atree_entry, "_room", lambda tree, leaves, inner: min(inner, 1))
    monkeypatch.setattr(atree_entry, "_LINKS", 1)
    monkeypatch.setattr(atree_entry, "enter", counted)
    short = forms_of(inserted(rules, options))
    assert len(calls) > 10
    assert calls == sorted(calls)
    assert short.audit() == []
    assert content(short) == content(plain)


def test_a_batch_takes_room_for_what_is_new_in_it() -> None:
    """Equal rules in great number are one: not even their table has room for all of them."""
    rules = [f"a{number % 50} = 1 and (b = 1 or c{number % 40} = 2)" for number in range(20_000)]
    tree = forms_of(inserted(rules))
    assert len(tree.nodes.columns["ids"]) < 10_000
    assert len(tree.nodes.columns["table"]) < 40_000


def operands_of(tree: ATree, node: int) -> set[int]:
    """The operands of a node, children of its kind read as theirs."""
    fields, children, kinds = tree.nodes.fields(), tree.nodes.columns["children"].view(), tree.nodes.kinds()
    found: set[int] = set()
    waiting = [node]
    while waiting:
        first, size = fields[waiting.pop(), 1:3].tolist()
        for child in children[first : first + size].tolist():
            if kinds[child] == kinds[node]:
                waiting.append(child)
            else:
                found.add(child)
    return found


def sketched(tree: ATree, kind: int, operands: Iterable[int]) -> int:
    """What a sketch is to be."""
    ids = tree.nodes.columns["ids"].view()
    sketch = 1 << (31 if kind == OR else 30)
    for operand in operands:
        sketch |= 1 << ((int(ids[operand]) >> 32) * 30 >> 32)
    return sketch


@pytest.mark.parametrize("make", [flat_rule, random_rule])
def test_sketches_tell_the_operands_whatever_happens_to_a_tree(make: Any) -> None:
    rng = random.Random(22)
    index = inserted(make(rng) for _ in range(200))
    for number in range(200, 260):
        index[number] = make(rng)
        del index[number - 190]
    for _ in range(2):
        tree = forms_of(index)
        kinds, sketches = tree.nodes.kinds() & KIND_MASK, tree.nodes.tree().sketches
        inner = tree.nodes.inner().tolist()
        assert len(inner) > 20
        assert {kinds[node] for node in inner} == {AND, OR}
        for node in inner:
            assert sketches[node] == sketched(tree, kinds[node], operands_of(tree, node))
        index.compact()  # gives nodes other numbers


@pytest.mark.parametrize("options", [{}, {"zero_suppression": False}])
def test_a_tree_grows_the_same_without_sketches(options: Any) -> None:
    """A tree that was opened has none of what it held then; all the same it finds every part."""
    rng = random.Random(23)
    rules = [make(rng) for make in (flat_rule, random_rule) for _ in range(150)]
    rng.shuffle(rules)
    known, unknown = inserted(rules[:200], options), inserted(rules[:200], options)
    forms_of(unknown).nodes.tree().sketches[:] = 0
    for index in (known, unknown):
        for number, rule in enumerate(rules[200:], 200):
            index[number] = rule
    assert content(forms_of(known)) == content(forms_of(unknown))
    assert known.audit() == []
