"""Reasons: what keeps a rule from being TRUE, against a plain definition on every combination of verdicts."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from matchwood.insight.explain.blame import reasons, tally, verdicts_of
from matchwood.insight.explain.flat import FlatTree
from matchwood.insight.explain.truth import ANY, FALSE, NULL, TRUE, VERDICTS, possible, preimage, swap
from matchwood.language import And, Expression, Or, Predicate, Xnor, Xor, parse
from tests.cases import expression
from tests.pools import palettes

LETTERS = {"T": TRUE, "F": FALSE, "N": NULL}


def tables(count: int) -> list[np.ndarray]:
    """Every combination of the verdicts of so many predicates, one array a predicate."""
    every = list(itertools.product(VERDICTS, repeat=count))
    return [np.array([row[number] for row in every], np.uint8) for number in range(count)]


def plain_reasons(tree: FlatTree, verdicts: tuple[int, ...]) -> set[int]:
    """The definition, one event at a time: what is wanted goes down from the root."""
    found = tree.evaluated(verdicts)
    waiting = [(len(tree.nodes) - 1, TRUE)]
    blamed: set[int] = set()
    while waiting:
        position, wanted = waiting.pop()
        verdict, node = found[position], tree.nodes[position]
        if not wanted or verdict & wanted:
            continue
        if not node.operands:
            blamed.add(tree.number[position] if isinstance(node, Predicate) else len(tree.predicates))
        for operand in tree.operands[position]:
            waiting.append((operand, plain_wanted(node, verdict, wanted, found[operand])))
    return blamed


def plain_wanted(node: Expression, verdict: int, wanted: int, operand: int) -> int:
    if isinstance(node, Or):
        return swap(plain_wanted(And(node, node), swap(verdict), swap(wanted), swap(operand)))
    if isinstance(node, And):
        if verdict == FALSE:
            return wanted if wanted == TRUE else TRUE | NULL
        if verdict == NULL and wanted & TRUE:
            return wanted if wanted == TRUE or operand == NULL else 0
        return wanted
    if isinstance(node, Xor | Xnor):
        if verdict == NULL:
            return TRUE | FALSE if operand == NULL else 0
        return (swap(operand) if swap(verdict) & wanted else 0) | wanted & NULL
    return preimage(node, wanted)


@pytest.mark.parametrize("seed", range(40))
def test_all_events_at_once_as_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    tree = FlatTree(expression(rng, palettes(rng), leaves=rng.randint(1, 5)))
    arrays = tables(len(tree.predicates))
    events = 3 ** len(tree.predicates)
    found = verdicts_of(tree, arrays, events)
    blamed = reasons(tree, found)
    for event, verdicts in enumerate(itertools.product(VERDICTS, repeat=len(tree.predicates))):
        assert [int(masks[event]) for masks in found] == tree.evaluated(verdicts)
        assert set(np.flatnonzero(blamed[:, event])) == plain_reasons(tree, verdicts)


@pytest.mark.parametrize(
    ("rule", "verdicts", "blamed"),
    [
        ("a = 1 and b = 1 and c = 1", "TFT", {1}),
        ("a = 1 and b = 1 and c = 1", "FTN", {0, 2}),
        ("a = 1 and (b = 1 or c = 1)", "TFN", {1, 2}),
        ("a = 1 and (b = 1 or c = 1)", "FNT", {0}),
        ("not a = 1 and b = 1", "TT", {0}),
        ("not (a = 1 or b = 1)", "TN", {0, 1}),
        ("not (a = 1 and b = 1)", "TT", {0, 1}),
        ("a = 1 xor b = 1", "NT", {0}),
        ("a = 1 xor b = 1", "TT", {0, 1}),
        ("(a = 1 and b = 1) is not true", "TT", {0, 1}),
        ("(a = 1) is unknown", "T", {0}),
        ("(a = 1 and b = 1) is not unknown", "NT", {0}),
        ("a = 1 and false", "F", {0, 1}),
        ("a = 1 or true", "F", set()),
        ("(a = 1 and b = 1) or (a = 1 and c = 1)", "FTT", {0}),
    ],
)
def test_reasons_by_hand(rule: str, verdicts: str, blamed: set[int]) -> None:
    tree = FlatTree(parse(rule))
    arrays = [np.array([LETTERS[letter]], np.uint8) for letter in verdicts]
    assert set(np.flatnonzero(reasons(tree, verdicts_of(tree, arrays, 1))[:, 0])) == blamed


def test_a_single_reason_is_all_that_is_missing() -> None:
    """In a rule where no predicate occurs twice, TRUE is within reach of the only reason."""
    for rule in ("a = 1 and not (b = 1 or c = 1)", "(a = 1 xor b = 1) and c = 1", "(a = 1 or b = 1) is true and c = 1"):
        tree = FlatTree(parse(rule))
        arrays = tables(3)
        blamed = reasons(tree, verdicts_of(tree, arrays, 27))
        alone = np.flatnonzero(blamed.sum(axis=0) == 1)
        assert len(alone) > 3
        for event in alone:
            masks = [int(array[event]) for array in arrays]
            masks[int(np.argmax(blamed[:, event]))] = ANY
            assert tree.evaluated(masks)[-1] & TRUE


def test_the_tally() -> None:
    blamed = np.array([[True, True, False, True, True], [False, True, True, False, False], [False] * 4 + [True]])
    verdicts = [
        np.array([FALSE, FALSE, TRUE, NULL, NULL], np.uint8),
        np.array([TRUE, FALSE, NULL, TRUE, TRUE], np.uint8),
    ]
    counts = {name: column.tolist() for name, column in tally(blamed, verdicts).items()}
    assert counts == {"alone_false": [1, 0], "alone_null": [1, 1], "among_several": [2, 1]}


def test_a_rule_ten_thousand_levels_deep() -> None:
    tree = FlatTree(parse("not (" * 9_999 + "a = 1" + ")" * 9_999))
    verdicts = [np.array([TRUE, FALSE, NULL], np.uint8)]
    assert reasons(tree, verdicts_of(tree, verdicts, 3)).tolist() == [[True, False, True], [False] * 3]
    assert possible(tree.nodes[1], [TRUE]) == FALSE
