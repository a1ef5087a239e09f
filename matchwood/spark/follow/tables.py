"""The tables that an index can follow: what `follow` asks of them, and which kind a name or a path is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pyspark.errors import AnalysisException, PySparkException

from matchwood.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDER = "_matchwood_order"
"""A column of feeds: twice the number of a change, and one more if the row is there after it."""


class TableState(NamedTuple):
    """A table as it is now: `identity` tells it from another of the same name, None for one without any version."""

    identity: str
    version: int | None


class FollowedTable(Protocol):
    """A table with versions, and a feed of what changed between them."""

    format: str
    name: str

    def state(self) -> TableState:
        """The newest version."""
        ...

    def at(self, version: int | None) -> DataFrame:
        """All rows of a version."""
        ...

    def is_known(self, version: int | None, newest: int | None) -> bool:
        """Whether a version is one that led to the newest."""
        ...

    def feed(self, after: int | None, until: int | None) -> DataFrame:
        """Rows that came and went between two versions, with their `ORDER`; NoFeed if the table has none."""
        ...


class NoFeed(Exception):
    """Why a table has no feed of its changes, and what gives it one."""


def table_name(table: str | os.PathLike[str]) -> str:
    """How SQL names a table that was given by its name, or a Delta table by its path.

    >>> table_name("shop.rules"), table_name("s3a://shop/rules"), table_name("delta.`/shop/rules`")
    ('shop.rules', 'delta.`s3a://shop/rules`', 'delta.`/shop/rules`')
    """
    if not isinstance(table, str | os.PathLike):
        raise InvalidArgument(f"table must be the name or path of a table (got {table!r:.80})")
    text = table if isinstance(table, str) else os.path.abspath(table)
    if "`" in text or not ("/" in text or "\\" in text):
        return text
    return f"delta.`{text}`"


def described_table(spark: SparkSession, name: str) -> Mapping[str, Any]:
    """What Spark tells of a table, by the words that DESCRIBE uses."""
    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except AnalysisException as error:
        raise InvalidArgument(f"{name} is no table that this session can read: {first_words(error)}") from error
    except PySparkException as error:
        needed = "Delta tables need io.delta:delta-spark and its settings (spark.sql.extensions, …) in the session"
        raise InvalidArgument(f"{name} cannot be read: {first_words(error)} ({needed})") from error
    return {row["col_name"]: row["data_type"] for row in reversed(rows)}


def first_words(error: Exception) -> str:
    """The first line of what an error says; of one that came from the JVM untranslated, of what that one says."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return next((line.partition("Exception: ")[2] for line in lines if "Exception: " in line), lines[0])
