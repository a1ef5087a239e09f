"""What local sessions fork their workers from: it says nothing to Spark but its port, and never fails to begin."""

from __future__ import annotations

import subprocess
import sys

import pytest

from matchwood.core import loading
from matchwood.spark import daemon

session = sys.modules["matchwood.spark.session"]


def test_kernels_of_a_build_and_of_a_match_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second index of the same kinds nothing is left to load."""
    daemon.load_kernels()
    with loading(lambda found: pytest.fail(f"{found} is loaded late")):
        daemon.load_kernels()


def test_without_kept_code_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing:
        def __enter__(self) -> list[str]:
            return ["a kernel"]

        def __exit__(self, *given: object) -> None: ...

    monkeypatch.setattr(daemon, "interpretations", Missing)
    monkeypatch.setattr(daemon, "_build_and_match", lambda: pytest.fail("compiles"))
    daemon.load_kernels()


def test_a_failure_is_left_to_tasks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> None:
        print("for nobody")
        raise OSError("no space left")

    monkeypatch.setattr(daemon, "load_kernels", failing)
    daemon.load_quietly()
    assert capsys.readouterr().out == ""


def test_workers_of_one_process_draw_different_numbers_and_share_what_is_loaded() -> None:
    code = """if True:
        import gc, os, random
        import numpy as np
        from matchwood.spark import daemon
        daemon.prepare_forks()
        assert gc.get_freeze_count() > 10_000
        for _ in range(2):
            if (child := os.fork()) == 0:
                print(np.random.rand(), random.random(), flush=True)
                os._exit(0)
            os.waitpid(child, 0)
    """
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    numbers = told.split()
    assert len(set(numbers)) == len(numbers) == 4


@pytest.mark.long
def test_it_tells_spark_its_port_and_ends_with_it() -> None:
    command = [sys.executable, "-m", daemon.__name__, "pyspark.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int.from_bytes(process.stdout.read(4), "big")
        process.stdin.close()
        process.wait(60)
    assert 0 < port < 65_536


@pytest.mark.parametrize(
    ("settings", "is_ready"),
    [
        ({"spark.master": "local"}, True),
        ({"spark.master": "local[*]"}, True),
        ({"spark.master": "local[2, 3]"}, True),
        ({"spark.master": "local-cluster[2,1,1024]"}, False),
        ({"spark.master": "spark://host:7077"}, False),
        ({"spark.master": "local[*]", "spark.remote": "local[2]"}, False),
        ({"spark.master": "local", "spark.executor.pyspark.memory": "1g"}, False),
        ({"spark.master": "local", "spark.pyspark.python": "/opt/other/bin/python"}, False),
        ({"spark.master": "local", "spark.pyspark.python": sys.executable}, True),
    ],
)
def test_workers_are_forked_ready_where_matchwood_is_sure_to_be(settings: dict[str, str], is_ready: bool) -> None:
    expected = {"spark.python.daemon.module": daemon.__name__} if is_ready and sys.platform == "linux" else {}
    assert session._ready_workers(settings) == expected
