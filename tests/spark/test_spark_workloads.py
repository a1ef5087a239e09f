"""The papers' generators on Spark: row for row the rules of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matchwood.commands.cli import main
from matchwood.errors import InvalidArgument
from matchwood.workloads import GENERATORS, generate, rules_on_spark
from matchwood.workloads.shared import blocks

SIZES: dict[str, dict[str, Any]] = {
    "begen": {"rules": 700},
    "abegen": {"rules": 250, "dimensions": 60},
    "hem": {"rules": 250, "events": 40, "attributes": 3},
    "contracts": {"rules": 250, "dimensions": 200},
    "ads": {"rules": 700},
    "ads_arbitrary": {"rules": 700, "matching": 0.005},
    "query_logs": {"rules": 250, "words": 2_000},
    "qgrams": {"rules": 250},
}


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors are told their blocks, so it is enough that the driver makes them small."""
    monkeypatch.setattr(blocks, "BLOCK", 100)


@pytest.mark.long(2)
@pytest.mark.parametrize("name", GENERATORS)
def test_executors_make_the_same_rules(spark: Any, name: str) -> None:
    settings = {"events": 20, "seed": 3, **SIZES[name]}
    rows = rules_on_spark(spark, name, **settings).orderBy("id").collect()
    assert [tuple(row) for row in rows] == list(enumerate(generate(name, **settings).rules_text()))


def test_what_cannot_be_made_is_refused_before_spark_is_asked() -> None:
    with pytest.raises(InvalidArgument, match=r"matching=0\.9 cannot be reached"):
        rules_on_spark(None, "ads", rules=700, matching=0.9)  # type: ignore[arg-type]


def test_the_command_lets_executors_write(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "rules")
    assert main(["generate", "begen", path, "--rules", "700", "--events", "20", "--seed", "3", "--spark"]) == 0
    rows = spark.read.parquet(path).orderBy("id").collect()
    assert [tuple(row) for row in rows] == list(enumerate(generate("begen", rules=700, events=20, seed=3).rules_text()))
