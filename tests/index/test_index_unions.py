"""An index whose engine matches by unions of runs of spaces: whole lives of it, held against the oracle."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numba
import pytest

import matchwood as mw

RULES, STEPS = (150, 8) if not numba.config.DISABLE_JIT else (25, 4)
UNITING = ["counting", "hem"]


def constraint(rng: random.Random, name: str, finer: int) -> str:
    """One that most events fulfil; `finer` makes boundaries between those of before."""
    value = rng.randint(0, 40) + rng.randint(0, 2**finer) / 2**finer
    kinds = [
        f"{name} != {value}",
        f"{name} not in ({value}, {value + 1}, {value + 7})",
        f"{name} in ({', '.join(str(value + step) for step in range(12))})",
        f"({name} > {value / 3} or {name} is null)",
        f"{name} < {value + 15}",
        f"{name} between {value / 2} and {value + 20}",
        f"{name} is null",
        f"not ({name} > {value + 10} and {name} < {value + 12})",
    ]
    return rng.choice(kinds)


def rule(rng: random.Random, finer: int) -> str:
    names = rng.sample(["a", "b", "c", "d", "e"], rng.randint(0, 3))
    return " and ".join(constraint(rng, name, finer) for name in names) or "true"


def event(rng: random.Random) -> dict[str, Any]:
    names = [name for name in "abcde" if rng.random() < 0.8]
    return {name: rng.choice([None, rng.randint(0, 42), rng.randint(0, 80) / 2]) for name in names}


@pytest.mark.long(1)
@pytest.mark.few
@pytest.mark.parametrize("engine", UNITING)
@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
def test_a_life_with_unions(engine: str, spaces: str, tmp_path: Path) -> None:
    rng = random.Random(f"{engine} {spaces}")
    index: Any = mw.Index(engine, options={"unions": "always", "spaces": spaces})
    oracle: Any = mw.Index("oracle")
    for step in range(STEPS):
        rules = {rng.randint(0, 3 * RULES): rule(rng, 3 * step) for _ in range(RULES // 2 if step else RULES)}
        for each in (index, oracle):
            each.insert_many(rules, on_duplicate="replace")
        for number in rng.sample(sorted(oracle), 10):
            del index[number], oracle[number]
        if step % 3 == 2:
            index.compact()
        if step % 4 == 3:
            index.save(tmp_path / "saved")
            index = mw.open(tmp_path / "saved")
        events = [event(rng) for _ in range(25)]
        wanted = [sorted(oracle.match(each)) for each in events]
        found = index.match_many(events)
        pairs = sorted(zip(found["event"].to_pylist(), found["rule"].to_pylist(), strict=True))
        assert pairs == [(place, number) for place, numbers in enumerate(wanted) for number in numbers]
        assert [sorted(index.match(each)) for each in events] == wanted
        assert sum(map(len, wanted)) > 0.1 * len(oracle) * len(events)
    assert index.stats()["unions"]["bytes"] > 0
