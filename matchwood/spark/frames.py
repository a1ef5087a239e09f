"""Whether what was given is a DataFrame of Spark, and what to write when it is something else."""

from __future__ import annotations

import os
from typing import Any

from matchwood.errors import InvalidArgument, kind_in_words
from matchwood.spark.supported import check_server

_READERS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc"}


def checked_frame(frame: Any, what: str) -> None:
    """InvalidArgument unless this is a DataFrame of Spark, classic or Connect; `what` is the argument's name."""
    if hasattr(frame, "sparkSession") and hasattr(frame, "schema"):
        check_server(frame.sparkSession)
        return
    raise InvalidArgument(f"{what} must be a Spark DataFrame (got {_shown(frame)}): write {_instead(frame, what)}")


def _shown(frame: Any) -> str:
    if isinstance(frame, str | os.PathLike):
        return f"the text {os.fspath(frame)!r:.80}"
    module = type(frame).__module__
    library = "pyspark.pandas" if module.startswith("pyspark.pandas") else module.split(".")[0]
    return f"{kind_in_words(frame)} of {library}" if library != "builtins" else kind_in_words(frame)


def _instead(frame: Any, what: str) -> str:
    if isinstance(frame, str | os.PathLike):
        path = str(os.fspath(frame))
        ending = os.path.splitext(path.removesuffix(".gz"))[1].lower()
        if not ending and "/" not in path:
            return f"spark.table({path!r}) or spark.read.parquet({path!r})"
        return f"spark.read.{_READERS.get(ending, 'parquet')}({path!r})"
    if type(frame).__module__.startswith("pyspark.pandas"):
        return f"{what}.to_spark()"
    alone = "; in one process, without Spark, mw.Index() takes it as it is" if hasattr(frame, "columns") else ""
    return f"spark.createDataFrame({what}){alone}"
