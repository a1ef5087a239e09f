"""What `bench spark` makes of jobs in other processes: those that take too long, and those that answer wrongly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from matchwood.bench.frame.measure import WrongAnswer, time_box
from matchwood.bench.registry import EXPERIMENTS
from matchwood.bench.spark import cluster, jobs_apart

LATE = "import time; print('{\"row\": 1}', flush=True); time.sleep(600)"
WRONG = "print('{\"row\": 1}'); raise SystemExit('no memory left')"


def instead(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have jobs run a script."""
    real = subprocess.Popen

    def popen(command: list[str], **settings: Any) -> Any:
        return real([sys.executable, "-c", script], **settings)

    monkeypatch.setattr(subprocess, "Popen", popen)


def test_a_job_that_takes_too_long_told_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, LATE)
    with time_box(3.0):
        assert jobs_apart.on_cluster("engine", "nowhere", "scan", 900.0) == [{"row": 1}]


def test_a_job_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, WRONG)
    with pytest.raises(WrongAnswer, match=r"the job 'engine' failed:\s+no memory left"):
        jobs_apart.on_cluster("engine", "nowhere", "scan", 900.0)


def told(hits: dict[Any, int], cells: int) -> jobs_apart.RunJob:
    """A job that has time for so many cells."""

    def run(what: str, home: str, detail: str, seconds: float) -> list[dict[str, Any]]:
        done = [{"engine": detail, "strategy": strategy, "top": top} for strategy, top in cluster.CELLS[:cells]]
        return [{**cell, "hits": hits[cell["top"]], "seconds": 2.0, "build_s": 1.0, "bytes": 9} for cell in done]

    return run


def test_cells_that_did_not_fit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_expected", lambda *given: (700, 500))
    rows = cluster.by_engine("smoke", str(tmp_path), told({None: 700, cluster.TOP: 500}, cells=4))
    assert [row["engine"] for row in rows] == ["auto"] * 6 + ["kindex"] * 6
    assert [row.get("timeout") for row in rows[:6]] == [None] * 4 + [cluster.ENGINE_BOX["smoke"]] * 2
    assert rows[5]["workload"] == "2 executors, partitioned, top 10"
    assert rows[0]["us_per_event"] == 2e6 / cluster.EVENTS["smoke"]


def test_other_hits_fail_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_expected", lambda *given: (700, 500))
    with pytest.raises(WrongAnswer, match="auto by broadcast, top 10: 700 hits"):
        cluster.by_engine("smoke", str(tmp_path), told({None: 700, cluster.TOP: 700}, cells=2))


def test_parts_run_by_name() -> None:
    assert [part.name for part in EXPERIMENTS["spark"].parts("full")] == [
        "one machine",
        "2 executors",
        "large",
        "begen on Spark",
    ]
