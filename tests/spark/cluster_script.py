"""A job under real executors, for the test that kills one of them: `cluster_script.py HOME`.

HOME has `in`, the events, and `index`. The job touches HOME/running once a task has begun, and its tasks do not end
before HOME/killed is there, so that the kill always comes in their middle.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as sf
from quick_session import SETTINGS

from matchwood import spark as mws


def main(home: str) -> None:
    os.environ["SPARK_WORKER_DIR"] = f"{home}/workers"
    session = mws.session(
        master="local-cluster[2,1,1024]",
        spark_driver_memory="1g",
        spark_executor_memory="512m",
        **SETTINGS,
    )

    @sf.arrow_udf("bigint")
    def waiting(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        Path(home, "running").touch()
        end = time.monotonic() + 120
        while not Path(home, "killed").exists() and time.monotonic() < end:
            time.sleep(0.05)
        yield from batches

    events = session.read.parquet(f"{home}/in").repartition(4)
    hits = mws.match(events, f"{home}/index", keep=["id"]).withColumn("id", waiting("id"))
    hits.write.parquet(f"{home}/out")
    session.stop()
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
