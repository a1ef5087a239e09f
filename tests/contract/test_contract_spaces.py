"""The contract with the other predicate spaces: engines see labels only, so one engine tells for all."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import matchwood
from tests import strategies
from tests.cases import Workload, workloads
from tests.conftest import SOAK
from tests.contract.test_contract_together import EVENTS, LINES
from tests.contract.twin import SCHEMA, Twin, script

ENGINE, OPTIONS = "counting", {"spaces": "pstree"}


def made(types: dict[str, str] | None = None, **settings: Any) -> Twin:
    return Twin(ENGINE, types, options=OPTIONS, **settings)


def test_the_option_is_kept(tmp_path: Path) -> None:
    twin = made()
    twin.put(1, "x = 1")
    assert twin.index.stats()["encoding"]["spaces"] == "pstree"
    twin.reopen(tmp_path / "index")
    assert twin.index.stats()["encoding"]["spaces"] == "pstree"


@pytest.mark.parametrize("types", [SCHEMA, None], ids=["declared", "inferred"])
def test_every_rule_together(types: dict[str, str] | None) -> None:
    for work in workloads(seed=5, count=6 if SOAK else 2, rules=80, events=20):
        twin = made(types)
        twin.put_many(list(enumerate(work.rules)))
        twin.check(work.events)
        assert twin.index.audit() == []


def test_all_kinds_of_predicates() -> None:
    twin = made()
    for line in LINES:
        twin.put(line, line)
    assert twin.check(EVENTS) > 700


@pytest.mark.parametrize("seed", range(4))
def test_a_random_life(seed: int, tmp_path: Path) -> None:
    """Changes one by one and in bulk, compaction, snapshots opened and changed."""
    twin = made(SCHEMA if seed % 2 else None, dnf_limit=(1, 256)[seed // 2])
    assert script(twin, random.Random(f"tree {seed}"), steps=60 if SOAK else 24, path=tmp_path / "index") > (
        100 if SOAK else 50
    )


@settings(max_examples=250 if SOAK else 10, deadline=None)
@given(work=strategies.workloads())
def test_any_workload(work: Workload) -> None:
    twin = made()
    twin.put_many(list(enumerate(work.rules)))
    twin.check(work.events)


def test_labels_that_run_out_rebuild_the_engine() -> None:
    """Each new constant halves the same gap, from alternating sides, which no choice of labels survives."""
    twin, low, high = made(), 0, 2**120
    for step in range(100):
        middle = (low + high) // 2
        twin.put(step, f"y < '{middle:032x}'")
        low, high = (middle, high) if step % 2 else (low, middle)
    assert twin.index.stats()["encoding"]["relabelled"] >= 1
    assert twin.check([{"y": f"{low:032x}"}, {"y": f"{high:032x}"}, {"y": "0"}, {"y": "1"}]) > 100
    assert twin.index.audit() == []


def test_nothing_is_left_when_all_is_deleted() -> None:
    index = matchwood.Index(ENGINE, options=OPTIONS)
    empty = index.stats()
    index.insert_many((number, f"x >= {number} and name != 'n{number}'") for number in range(5_000))
    index.clear()
    index.compact()
    left = index.stats()
    assert left["encoding"]["boundaries"] == 0
    for name in ("bytes_index", "bytes_verify", "bytes_text"):
        assert left[name] == empty[name]
    assert index.audit() == []
