"""How large an index will be, told from its rules' texts, and into how many shards it goes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_A_RULE, BYTES_A_CHARACTER = 150, 4
"""Rounded up from what snapshots take: 631 bytes for an ads rule of 177 characters, 474 for a BEGen rule of 113."""

WORKER_BYTES = 4 * 2**30
"""What a Python worker may take where Spark sets no limit (spark.executor.pyspark.memory)."""

BUILDING = 4
"""While it is built, a shard takes so many times its final size: 80,000 ads rules, 48 MB in the end, took 219 MB."""

_UNITS = {"": 2**20, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class RuleTotals(NamedTuple):
    """How many rules a table has, and the bytes of their texts."""

    rules: int
    text: int

    def plus(self, rules: int, text: int) -> RuleTotals:
        return RuleTotals(self.rules + rules, self.text + text)


def totals_of(rules: DataFrame) -> RuleTotals:
    """What all rules come to; one pass over them."""
    found = rules.agg(F.count("*").alias("rules"), F.sum(F.octet_length("expression")).alias("text")).collect()[0]
    return RuleTotals(found["rules"], found["text"] or 0)


def shards_for(totals: RuleTotals, spark: SparkSession) -> int:
    """One shard, until it would not fit a worker."""
    return max(1, -(-estimated_bytes(totals) // shard_bytes(spark)))


def estimated_bytes(totals: RuleTotals) -> int:
    """What an index of such rules takes."""
    return BYTES_A_RULE * totals.rules + BYTES_A_CHARACTER * totals.text


def shard_bytes(spark: SparkSession) -> int:
    """The size of a shard that a worker can build."""
    return _worker_bytes(spark) // BUILDING


def _worker_bytes(spark: SparkSession) -> int:
    given = spark.conf.get("spark.executor.pyspark.memory", None)
    return bytes_of(given) if given else WORKER_BYTES


def bytes_of(text: str) -> int:
    """A size as Spark spells it.

    >>> bytes_of("2g"), bytes_of("512mb"), bytes_of("100")
    (2147483648, 536870912, 104857600)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([bkmgt]?)b?\s*", text.lower())
    return int(found[1]) * _UNITS[found[2]] if found else WORKER_BYTES
