"""What it takes to delete a rule that shares a predicate with all others: the same, however many there are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from matchwood.bench.frame.measure import WrongAnswer, timed
from matchwood.bench.frame.memory import bytes_of_index
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.setup import insert_all
from matchwood.bench.papers.atree.building import matcher_of
from matchwood.index import Index

RULES = {
    "smoke": (100, 200),
    "quick": (2_000, 20_000),
    "full": (20_000, 100_000, 400_000),
    "paper": (20_000, 100_000, 400_000),
}
SECTION = "deletion"
DELETED = 1_000
"""Rules that are deleted one by one, at most half of them."""

EVENTS = 100
ATTRIBUTES = 1_000
"""Over which the rules' own predicates are spread, so that none has more values than a rule costs to encode."""


def deletion_parts(scale: str) -> list[ExperimentPart]:
    return [
        ExperimentPart(
            f"one predicate in {rules:,} rules", partial(measure, rules), (FigurePlace(SECTION, "rules", rules),)
        )
        for rules in RULES[scale]
    ]


def measure(rules: int) -> list[dict[str, Any]]:
    """A row for rules that are `common > 0` and a predicate of their own, which is the one that each listens to."""
    index = Index("atree")
    build_s, _ = timed(lambda: insert_all(index, [_text(number) for number in range(rules)]))
    some = np.random.default_rng(3).permutation(rules)[: min(DELETED, rules // 2)].tolist()
    index.pop(some[0])  # what is compiled, or found on the first change, is no part of a deletion
    delete_s, _ = timed(lambda: [index.pop(rule) for rule in some[1:]])
    stats, us_per_event, hits = index.stats(), *_matched(index, rules, some)
    return [
        {
            "engine": "atree",
            "workload": f"one predicate in {rules:,} rules",
            "rules": rules,
            "events": min(2 * EVENTS, rules, ATTRIBUTES) // 2,
            "build_s": round(build_s, 3),
            "us_per_event": us_per_event,
            "hits_per_event": hits,
            "us_per_delete": round(1e6 * delete_s / (len(some) - 1), 2),
            "us_per_delete_tree": _tree_deletions(index, len(some)),
            **bytes_of_index(stats),
            "checked": True,
        }
    ]


def _tree_deletions(index: Index, count: int) -> float:
    """Microseconds that the tree itself takes to free a unit; the index cannot be used afterwards."""
    tree = matcher_of(index).engine
    units = np.random.default_rng(4).permutation(np.flatnonzero(tree.alive))[:count].astype(np.int32)[:, None]
    for unit in units:
        tree.drop(unit)
    seconds, _ = timed(lambda: [tree.free(unit) for unit in units])
    if problems := tree.audit():
        raise WrongAnswer(f"atree: {problems[0]}")
    return round(1e6 * seconds / len(units), 2)


def _text(number: int) -> str:
    return f"common > 0 and a{number % ATTRIBUTES} = {number // ATTRIBUTES}"


def _matched(index: Index, rules: int, gone: list[int]) -> tuple[float, float]:
    """Microseconds an event, from its dict on, and its hits: the rule that it is made for, unless that is gone."""
    events = [{"common": 1, f"a{number}": 0} for number in range(min(2 * EVENTS, rules, ATTRIBUTES))]
    half = len(events) // 2
    index.match_many(events[half:])  # what is compiled or read for the first time
    seconds, hits = timed(lambda: index.match_many(events[:half]))
    expected = [number for number in range(half) if number not in set(gone)]
    if len(index) != rules - len(gone) or hits["rule"].to_pylist() != expected:
        raise WrongAnswer(f"atree: {len(index):,} rules are left of {rules:,}, or the wrong ones")
    return round(1e6 * seconds / half, 2), len(expected) / half
