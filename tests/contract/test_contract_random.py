"""Random lives of an index: changes of every kind, in any order, answers checked in between."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests import strategies
from tests.cases import Workload
from tests.contract.engines import ENGINES
from tests.contract.twin import SCHEMA, Twin, check_workload, script

LIVES = 100 if os.environ.get("MATCHWOOD_SOAK") else 4


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_random_life(engine: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"life {seed}")
    types = SCHEMA if seed % 2 else None
    twin = Twin(engine, types, dnf_limit=rng.choice((1, 4, 256)))
    assert script(twin, rng, steps=60, path=tmp_path / "index", text_ids=seed % 3 == 0) > 100


def test_a_life_in_another_zone(engine: str, tmp_path: Path) -> None:
    twin = Twin(engine, timezone="America/New_York")
    assert script(twin, random.Random("zone"), steps=40, path=tmp_path / "index") > 50


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(work=strategies.workloads())
def test_any_workload(engine: str, work: Workload) -> None:
    check_workload(engine, work)


@settings(max_examples=15, deadline=None)
@given(work=strategies.workloads(rules=20, events=4))
def test_engines_agree_when_rules_come_one_by_one(work: Workload) -> None:
    twins = [Twin(engine) for engine in ENGINES]
    for number, rule in enumerate(work.rules):
        for twin in twins:
            twin.put(number % 7, rule)
    for twin in twins:
        twin.check(work.events)
