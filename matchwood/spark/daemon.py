"""What Spark forks Python workers from in a local session: a process that has Matchwood and its kernels loaded.

A worker of Spark's own imports for two seconds and loads machine code for one more, and every core has one, or several.
Forked from here, all of them have both at once, in memory that they share. Set `spark.python.daemon.module` to the name
of this file to have the same on executors where Matchwood is installed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile

import numpy as np
import pyarrow as pa
from pyspark import daemon, worker  # noqa: F401 - what a worker imports first

import matchwood
from matchwood.core import interpretations
from matchwood.matching import LEAST_COMPILED, in_words, index_part  # noqa: F401
from matchwood.sharding import open_shards
from matchwood.spark.build.shard_task import rule_reader
from matchwood.spark.build.small import SmallTask  # noqa: F401 - what tasks import when they arrive
from matchwood.spark.match.task import Task  # noqa: F401

MISTAKE = "n =>"
"""A rule that is rejected: what tells of such is loaded, too."""


def load_kernels() -> None:
    """Do once, in small, what tasks do with an index that has the usual engine.

    Where machine code was not kept, nobody waits for it here: it is left to those who need it.
    """
    with interpretations() as missing:
        matchwood.Index().insert_many({number: _rule(number) for number in range(10)})
    if not missing:
        _build_and_match()


def _build_and_match() -> None:
    count = LEAST_COMPILED + 1
    texts, absent = [MISTAKE, *map(_rule, range(1, count))], pa.nulls(count)
    rules = pa.record_batch([range(count), texts, absent, absent], names=["id", "expression", "weight", "weights"])
    index = matchwood.Index()
    index.insert_many(rule_reader([rules], "int64"), on_error="collect")
    with tempfile.TemporaryDirectory(prefix="matchwood-daemon-") as place:
        index.save(place)
        events = {"n": range(100), "x": [0.5] * 100, "s": ["a"] * 99 + [None], "t": [["u"]] * 100}
        list(open_shards(place).answers(pa.table(events)))


def _rule(number: int) -> str:
    """Rules of the kinds that most are of."""
    kinds = ("s in ('a', 'b')", "t one of ('u', 'v')", "not s like 'c%'", f"(x > {number}.5 xor s = 'd')", "s is null")
    return f"n between {number} and {number + 9} and {kinds[number % len(kinds)]}"


def load_quietly() -> None:
    """Whatever goes wrong here is told by the task that meets it. Standard output is for Spark alone."""
    with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(Exception):
        load_kernels()


def prepare_forks() -> None:
    """Workers are as independent as those that begin with nothing.

    NumPy's own random numbers would be the same in all of them; Python seeds its own anew. And each would look for
    garbage among all that is loaded, and have its own copy of it then.
    """
    os.register_at_fork(after_in_child=np.random.seed)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    load_quietly()
    prepare_forks()
    daemon.manager()
