"""What Spark forks Python workers from in these tests: it has imported what tasks need.

A worker imports for seconds, and a task has a worker for each of its functions: that took half of the time of these
tests. Those that run elsewhere (`test_spark_masters.py`) have Spark's own daemon.
"""

from __future__ import annotations

import pandas as pd  # noqa: F401
from pyspark import daemon

import matchwood
from matchwood import spark

if __name__ == "__main__":
    for package in (matchwood, spark):
        for name in package.__all__:
            getattr(package, name)
    daemon.manager()
