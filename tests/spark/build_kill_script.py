"""Builds one version, begins to build a second, and tells when that is half done. Whoever reads it kills it then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from matchwood import spark as mws


def main(path: str) -> None:
    spark = mws.session(master="local[2]", spark_driver_memory="1g")
    mws.build(spark.createDataFrame([(1, "vip")], "id long, expression string"), path)
    marker = f"{path}.half"

    def stuck(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            # The shard of one task is written by now; the other rules keep theirs waiting.
            if batch.column("id")[0].as_py() == 0:
                Path(marker).touch()
                time.sleep(600)

    rules = spark.range(0, 2000, numPartitions=2).selectExpr("id", "concat('age > ', id) as expression")
    mws.build(rules.mapInArrow(stuck, rules.schema), path, shards=2)


if __name__ == "__main__":
    main(sys.argv[1])
