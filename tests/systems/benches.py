"""The benchmarks that need servers, with the servers: `bench update` on S3 as well, and `bench stream` through Kafka.

python -m tests.systems.benches [SCALE [update|stream]]      as `make bench-systems` does; SCALE is full unless given

Sets everything up as `make test-systems` does, starts the servers over a temporary folder, and ends them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.systems.kafka.spark_with_kafka import JARS as CONNECTOR
from tests.systems.kafka.spark_with_kafka import PARTS, fetched
from tests.systems.kafka_broker import KafkaBroker
from tests.systems.lake import spark_with_lake as lake
from tests.systems.s3_server import BUCKET, NotAvailable, S3Server

_RUN = "import sys; from matchwood.commands.cli import main; sys.exit(main(sys.argv[1:]))"


def update(scale: str, home: Path) -> int:
    """1, 1,000 and 100,000 rules of a million change, on disk and on S3."""
    server = S3Server(home / "s3")
    try:
        where = {**server.environment, "MATCHWOOD_BENCH_STORE": f"s3://{BUCKET}/bench"}
        return bench("update", scale, {**os.environ, **where})
    finally:
        server.kill()


def stream(scale: str, home: Path) -> int:
    """From Spark's own source, and from Kafka to Kafka with the PySpark that the connector is for."""
    lake.set_up()
    jars = ",".join(
        map(str, sorted(fetched(CONNECTOR, PARTS, "connector of Spark for Kafka", alone=True).glob("*.jar")))
    )
    (home / "kafka").mkdir()
    with KafkaBroker(home / "kafka") as broker:
        where = {"MATCHWOOD_BENCH_KAFKA": broker.address, "PYSPARK_SUBMIT_ARGS": f"--jars {jars} pyspark-shell"}
        return bench("stream", scale, {**lake.environment(), **where})


def bench(name: str, scale: str, environment: dict[str, str]) -> int:
    command = [sys.executable, "-c", _RUN, "bench", "run", name, "--scale", scale]
    return subprocess.run(command, env=environment).returncode


BENCHES: dict[str, Callable[[str, Path], int]] = {"update": update, "stream": stream}


def main(scale: str = "full", *names: str) -> int:
    failed = 0
    for name in names or BENCHES:
        with tempfile.TemporaryDirectory(prefix="matchwood-systems-") as home:
            try:
                failed |= BENCHES[name](scale, Path(home))
            except NotAvailable as missing:
                print(missing, file=sys.stderr)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
