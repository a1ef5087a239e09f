"""The PS-Tree: the paper's examples, the same answers as sorted arrays, every link sound after every step."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import matchwood as mw
from matchwood.encoding.codes import BOTTOM_LABEL
from matchwood.encoding.spaces.keys import strings_of
from matchwood.encoding.spaces.pstree._audit_kernels import PROBLEMS
from matchwood.encoding.spaces.pstree._change_kernels import NODES
from matchwood.encoding.spaces.pstree._lookup_kernels import BITS, CHILD, DEPTH, EQUAL, GREATER, LESS, NEXT, PREV
from matchwood.encoding.spaces.pstree.tree import PSTree
from matchwood.encoding.spaces.sorted import SortedSpaces
from tests.conftest import SOAK

# ------------------------------------------------------------------ the paper


def spaces_of(tree: PSTree, domain: range) -> list[tuple[int, int]]:
    """The spaces as closed intervals of a domain of integers."""
    labels = [tree.locate(value) for value in domain]
    starts = [value for value, label, before in zip(domain, labels, [-1, *labels], strict=False) if label != before]
    return list(zip(starts, [*(start - 1 for start in starts[1:]), domain[-1]], strict=True))


def test_figure_1_two_spaces() -> None:
    """S1 in [0, 4] and S2 in [2, 4] make [0, 2) and [2, 4], here between what lies outside."""
    tree = PSTree("int")
    tree.add_many([0, 5])
    tree.add_many([2, 5])
    assert spaces_of(tree, range(-9, 10)) == [(-9, -1), (0, 1), (2, 4), (5, 9)]


def test_figure_2_five_spaces() -> None:
    tree = PSTree("int")
    tree.add_many([-5, 0])
    tree.add_many([1, 6])
    assert spaces_of(tree, range(-128, 128)) == [(-128, -6), (-5, -1), (0, 0), (1, 5), (6, 127)]
    assert tree.audit() == []


def test_section_4_4_merges_where_no_predicate_refers_to_the_boundary() -> None:
    """[20, 29] and [30, 60] both count 1 once S2 is gone; they merge since 30 is nobody's boundary any more."""
    tree, domain = PSTree("int"), range(1, 101)
    tree.add_many([20, 61])
    second = tree.add_many([30, 81])
    assert spaces_of(tree, domain) == [(1, 19), (20, 29), (30, 60), (61, 80), (81, 100)]
    tree.release_many(second)
    assert spaces_of(tree, domain) == [(1, 19), (20, 60), (61, 100)]
    assert tree.audit() == []


def test_equal_counts_alone_merge_nothing() -> None:
    """S3 begins where S1 ends: one predicate covers either side, and the boundary must stay."""
    tree = PSTree("int")
    tree.add_many([20, 30])
    tree.add_many([30, 61])
    other = tree.add_many([10, 80])
    tree.release_many(other)
    assert spaces_of(tree, range(1, 101)) == [(1, 19), (20, 29), (30, 60), (61, 100)]


@pytest.mark.parametrize(
    ("rule", "boundaries", "hits"),
    [
        ("x = 5", 2, [5]),
        ("x != 5", 2, [0, 1, 2, 3, 4, 6, 7]),
        ("x < 5", 1, [0, 1, 2, 3, 4]),
        ("x <= 5", 1, [0, 1, 2, 3, 4, 5]),
        ("x > 5", 1, [6, 7]),
        ("x >= 5", 1, [5, 6, 7]),
        ("x in (1, 5)", 4, [1, 5]),
        ("x not in (1, 5)", 4, [0, 2, 3, 4, 6, 7]),
        ("x between 1 and 5", 2, [1, 2, 3, 4, 5]),
    ],
)
def test_every_operator_comes_down_to_boundaries(rule: str, boundaries: int, hits: list[int]) -> None:
    index = mw.Index(options={"spaces": "pstree"}, schema={"x": "int"})
    index[1] = rule
    assert index.stats()["encoding"]["boundaries"] == boundaries
    assert [value for value in range(8) if index.match({"x": value})] == hits


# ------------------------------------------------------- against sorted arrays

ELEMENTS: dict[str, Any] = {
    "bool": st.integers(0, 2),
    "int": st.integers(-(2**63), 2**63 - 1) | st.integers(-40, 40),
    "date": st.integers(-(2**31), 2**31),
    "timestamp": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats() | st.integers(-(2**63), 2**63 - 1) | st.integers(2**60, 2**60 + 300) | st.integers(-9, 9),
    "double": st.floats(),
    "string": st.text(st.sampled_from("ab\0é日\U0010ffff"), max_size=24)
    | st.integers(0, 40).map(lambda length: "prefix of some length, the same" + "x" * length),
}


@pytest.mark.parametrize("kind", ELEMENTS)
def test_locate_equals_that_of_sorted_arrays(kind: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(ELEMENTS[kind], min_size=1, max_size=40), st.data())
    def check(elements: list[Any], data: st.DataObject) -> None:
        tree, arrays = PSTree(kind), SortedSpaces(kind)
        one_by_one = data.draw(st.booleans())
        batches = [[element] for element in elements] if one_by_one else [elements]
        for batch in batches:
            assert tree.add_many(batch).tolist() == arrays.add_many(batch).tolist()
            assert tree.audit() == []
        asked = elements + data.draw(st.lists(ELEMENTS[kind], max_size=20))
        expected = [arrays.locate(element) for element in asked]
        assert [tree.locate(element) for element in asked] == expected
        if kind == "string":
            column = strings_of([text.encode() for text in asked])
            assert tree.locate_many(column).tolist() == expected
        gone = data.draw(st.permutations(range(len(elements))))
        for place in gone:
            tree.release_many(np.array([tree.locate(elements[place])], np.int32))
            assert tree.audit() == []
        assert len(tree) == 0
        assert tree.locate(elements[0]) == BOTTOM_LABEL

    check()


def test_everything_removed_leaves_one_space_and_nothing_else() -> None:
    empty = PSTree("string").stats()["bytes"]
    tree = PSTree("string")
    words = [f"{'word' * (number % 50)}{number}" for number in range(5_000)]
    labels = tree.add_many(words)
    tree.release_many(labels[::2])
    assert tree.audit() == []
    tree.release_many(labels[1::2])
    assert (len(tree), tree.stats()["bytes"], tree.audit()) == (0, empty, [])
    assert {tree.locate(word) for word in words[:50]} == {BOTTOM_LABEL}


# ------------------------------------------------------------------- extremes


def test_long_strings_need_no_more_nodes_than_boundaries() -> None:
    shared = "long " * 20_000
    texts = [shared[:length] for length in range(0, 100_000, 997)] + [shared + str(step) for step in range(50)]
    tree = PSTree("string")
    labels = tree.add_many(texts)
    assert tree.audit() == []
    assert tree._tree.state[NODES] <= len(texts) + 1
    assert [tree.locate(text) for text in texts] == labels.tolist()
    assert tree.locate(shared + "49") > tree.locate(shared + "48") > tree.locate(shared)
    assert tree.stats()["bytes"] < 1.1 * sum(map(len, texts))


def test_a_million_distinct_constants_at_once() -> None:
    """In the short form a hundred thousand."""
    values = np.random.default_rng(4).random(1_000_000 if SOAK else 100_000)
    tree = PSTree("number")
    labels = tree.add_many(values.tolist())
    assert (np.diff(labels[np.argsort(values)]) > 0).all()
    assert tree.audit() == []
    assert tree.locate_many(values).tolist() == labels.tolist()
    assert tree.stats()["bytes"] < 120 * len(values)
    tree.release_many(labels)
    assert (len(tree), tree.stats()["bytes"]) == (0, PSTree("number").stats()["bytes"])


def test_one_by_one_touches_no_more_with_a_hundred_thousand() -> None:
    """Insertion moves nothing; a node more at most, and the path down is no longer than a key has elements."""
    tree = PSTree("int")
    tree.add_many(list(range(0, 10**6, 10)))
    moved, nodes = tree.counters["moved"], int(tree._tree.state[NODES])
    for element in range(5, 50_005, 10):
        tree.add_many([element])
    assert len(tree) == 105_000
    assert tree.counters["moved"] - moved <= 2 * 105_000
    assert int(tree._tree.state[NODES]) - nodes <= 5_000
    assert tree._tree.writing.nodes[:, DEPTH].max() < 16


# -------------------------------------------------------------------- auditing


def damaged(column: int, row: int, value: int, part: str) -> list[str]:
    tree = PSTree("int")
    tree.add_many(list(range(0, 4_000, 7)))
    getattr(tree._tree.writing, part)[row, column] = value
    return tree.audit()


@pytest.mark.parametrize(
    ("part", "row", "column", "value", "problem"),
    [
        ("leaves", 5, NEXT, 9, 0),
        ("leaves", 5, PREV, 9, 1),
        ("nodes", 3, LESS, 77, 2),
        ("nodes", 3, GREATER, 77, 3),
        ("nodes", 3, BITS, 1, 4),
        ("nodes", 3, EQUAL, 9, 5),
        ("nodes", 3, 1, 12345, 6),
        ("nodes", 0, CHILD + 3, -1, 7),
    ],
)
def test_the_audit_finds_broken_links(part: str, row: int, column: int, value: int, problem: int) -> None:
    assert PROBLEMS[problem] in damaged(column, row, value, part)


def test_the_audit_finds_broken_counts_and_labels() -> None:
    tree = PSTree("int")
    labels = tree.add_many([1, 2, 3])
    tree._tree.leaves[2, 6] = 0
    tree._tree.leaves[3, 5] = labels[0]
    assert tree.audit() == ["labels of boundaries are not increasing", "a boundary has no references"]


@pytest.mark.parametrize("wrong", [[1, 1], [2, 1], [1, -1], [2**62, 2]])
def test_saved_boundaries_out_of_order_are_refused(wrong: list[int]) -> None:
    saved = {"primary": np.array(wrong), "labels": np.array([1, 2], np.int32), "counts": np.array([1, 1], np.int32)}
    with pytest.raises(mw.CorruptSnapshot, match="not in order"):
        PSTree("int", {**saved, "observed": np.empty(0, np.float32)}).locate(1)


@pytest.mark.parametrize("wrong", [["b", "a"], ["ab", "a"], ["same beginning, b", "same beginning, a"], ["", ""]])
def test_saved_strings_out_of_order_are_refused(wrong: list[str]) -> None:
    texts = strings_of([text.encode() for text in wrong])
    saved = {"labels": np.array([1, 2], np.int32), "counts": np.array([1, 1], np.int32), **texts._asdict()}
    with pytest.raises(mw.CorruptSnapshot, match="not in order"):
        PSTree("string", {**saved, "observed": np.empty(0, np.float32)}).locate("a")


def test_a_long_life() -> None:
    rng, held = random.Random(8), list[tuple[float, int]]()
    tree = PSTree("number")
    pool = [
        rng.choice((rng.random(), rng.randrange(2**62, 2**62 + 2_000), -rng.random() * 1e300)) for _ in range(3_000)
    ]
    pool += [math.nan, math.inf, -math.inf, 0]
    for step in range(400):
        if rng.random() < 0.55 or not held:
            added = [rng.choice(pool) for _ in range(rng.choice((1, 3, 200)))]
            labels = tree.add_many(added).tolist()
            for old, new in tree.relabellings:
                follow = dict(zip(old.tolist(), new.tolist(), strict=True))
                held = [(value, follow[label]) for value, label in held]
            tree.relabellings.clear()
            held += zip(added, labels, strict=True)
        else:
            rng.shuffle(held)
            count = rng.choice((1, 3, 150))
            tree.release_many(np.array([label for _, label in held[:count]], np.int32))
            held = held[count:]
        assert tree.audit() == []
        if step % 20 == 0:
            assert [tree.locate(value) for value, _ in held] == [label for _, label in held]
