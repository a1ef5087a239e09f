"""What Spark forks Python workers from in these tests: it has imported what tasks need, and loaded the kernels.

A worker imports for seconds and loads machine code for one more, and a task has a worker for each of its functions:
that took half of the time of these tests. In the long form, other masters (`test_spark_masters.py`) have Spark's own.
"""

from __future__ import annotations

import tempfile

import pandas as pd  # noqa: F401
from match_support import index_of, some_events, some_rules
from pyspark import daemon

import matchwood
from matchwood import spark


def load_kernels() -> None:
    """Those of the engine that indexes have if nothing is said, by doing once what tasks do."""
    rules, events = some_rules(20, seed=1), some_events(20, seed=2)
    with tempfile.TemporaryDirectory() as place:
        index_of(rules).save(place)
        opened = matchwood.open(place)
        opened.match_many(events)
        opened.top_many(events, 3)


if __name__ == "__main__":
    for package in (matchwood, spark):
        for name in package.__all__:
            getattr(package, name)
    load_kernels()
    daemon.manager()
