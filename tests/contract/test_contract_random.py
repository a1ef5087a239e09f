"""Random lives of an index: changes of every kind, in any order, answers checked in between."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings

from matchwood.semantics.evaluation import evaluate
from tests import strategies
from tests.cases import Workload
from tests.conftest import SOAK
from tests.contract.twin import SCHEMA, Twin, check_workload, oracle_answers, script

LIVES, STEPS = (100, 60) if SOAK else (2, 24)
EXAMPLES = 1_000 if SOAK else 20


@pytest.mark.long(5)
@pytest.mark.few
@pytest.mark.parametrize("seed", range(LIVES))
def test_a_random_life(engine: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"life {seed}")
    types = SCHEMA if seed % 2 else None
    twin = Twin(engine, types, dnf_limit=rng.choice((1, 4, 256)))
    assert script(twin, rng, steps=STEPS, path=tmp_path / "index", text_ids=seed % 3 == 0) > (100 if SOAK else 50)


@pytest.mark.long(3)
def test_a_life_in_another_zone(engine: str, tmp_path: Path) -> None:
    twin = Twin(engine, timezone="America/New_York")
    assert script(twin, random.Random("zone"), steps=40 if SOAK else 15, path=tmp_path / "index") > 30


def test_any_workload(engines: list[str]) -> None:
    """Thousands of pairs from hypothesis, on all engines; the shares of TRUE and NULL are counted."""
    seen: Counter[bool | None] = Counter()

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(strategies.workloads())
    def agree(work: Workload) -> None:
        answers = oracle_answers(work)
        for engine in engines:
            check_workload(engine, work, answers=answers)
        seen.update(evaluate(rule, event) for rule in work.rules for event in work.events)

    agree()
    assert seen.total() > 30 * EXAMPLES
    assert seen[True] >= 0.30 * seen.total()
    assert seen[None] >= 0.15 * seen.total()


def test_rules_that_come_one_by_one(engines: list[str]) -> None:
    """Each replaces the one seven before it."""

    @settings(max_examples=100 if SOAK else 8, deadline=None)
    @given(work=strategies.workloads(rules=20, events=4))
    def agree(work: Workload) -> None:
        for twin in map(Twin, engines):
            for number, rule in enumerate(work.rules):
                twin.put(number % 7, rule)
            twin.check(work.events)

    agree()
