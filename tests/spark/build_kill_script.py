"""Builds one version, and then a second of two shards, one after the other. Whoever watches kills it in between."""

from __future__ import annotations

import sys

from quick_session import SETTINGS

from matchwood import spark as mws


def main(path: str) -> None:
    spark = mws.session(master="local[1]", spark_driver_memory="1g", **SETTINGS)
    mws.build(spark.createDataFrame([(1, "vip")], "id long, expression string"), path)
    rules = spark.range(0, 200_000, numPartitions=2).selectExpr("id", "concat('age > ', id) as expression")
    mws.build(rules, path, shards=2)


if __name__ == "__main__":
    main(sys.argv[1])
