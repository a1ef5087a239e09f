"""The demo's answers, held against the oracle on a sample."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.errors import MatchwoodError
from matchwood.language import parse
from matchwood.semantics import evaluate

VIEWS, RULES = 30, 300


class Checked(NamedTuple):
    """How many pairs of a rule and an event were looked at, how many of them hit, and what a pair cost."""

    pairs: int
    hits: int
    us_per_pair: float


def check(rules: Mapping[str, str], views: pa.Table, hits: pa.Table, seed: int = 0) -> Checked:
    """Some views, each with all rules that hit it and some others, evaluated one by one in plain Python."""
    draw = np.random.default_rng(seed)
    names = list(rules)
    positions = np.unique(draw.integers(0, views.num_rows, VIEWS)).tolist()
    sample = [names[number] for number in draw.integers(0, len(names), RULES).tolist()]
    pairs = found = 0
    seconds = 0.0
    for position in positions:
        expected = _rules_of(hits, position)
        event = views.slice(position, 1).to_pylist()[0]
        trees = {name: parse(rules[name]) for name in {*sample, *expected}}
        started = time.perf_counter()
        true = {name for name, tree in trees.items() if evaluate(tree, event) is True}
        seconds += time.perf_counter() - started
        if true != expected:
            raise MatchwoodError(f"the demo's answers are wrong: view {position} and {sorted(true ^ expected)[0]}")
        pairs, found = pairs + len(trees), found + len(true)
    return Checked(pairs, found, 1e6 * seconds / pairs)


def _rules_of(hits: pa.Table, event: int) -> set[str]:
    return set(hits.filter(pc.equal(hits["event"], event))["rule"].to_pylist())
