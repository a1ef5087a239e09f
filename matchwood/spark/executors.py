"""Whether the executors have the same Matchwood as the driver, asked before a job fails for want of it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import matchwood
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.spark.jobs import described
from matchwood.spark.supported import check_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("matchwood", "numpy", "numba", "pyarrow")
_COLUMNS = "host string, name string, version string"


def check_executors(spark: SparkSession, tasks: int = 16) -> dict[str, dict[str, str | None]]:
    """The versions of Python, Matchwood and its libraries on each host; an error if they are not the driver's.

    `tasks`  the number of tasks; Spark decides where they run, so give several times the number of executors

    Other versions of NumPy, Numba and PyArrow than the driver's are reported, but are not an error.
    """
    if isinstance(tasks, bool) or not isinstance(tasks, int) or tasks < 1:
        raise InvalidArgument(f"tasks must be a whole number of at least 1 (got {tasks!r:.80})")
    check_server(spark)
    with described(spark, "what is installed on the executors"):
        rows = spark.range(0, tasks, numPartitions=tasks).mapInArrow(_asking(PACKAGES), _COLUMNS).distinct().collect()
    found: dict[str, dict[str, str | None]] = {}
    for row in rows:
        found.setdefault(row["host"], {})[row["name"]] = row["version"]
    wrong = [(host, told) for host, every in sorted(found.items()) if (told := _differs(every))]
    if wrong:
        (host, told), others = wrong[0], len(wrong) - 1
        where = f"{host} and {others} more hosts" if others else host
        raise MatchwoodError(
            f"the executors do not run what the driver does: {told} on {where} (docs/spark-executors.md shows how to "
            "install it there)"
        )
    return found


def _differs(found: dict[str, str | None]) -> str:
    """What of it is not as on the driver, in words."""
    python, own = ".".join(platform.python_version_tuple()[:2]), matchwood.__version__
    theirs = ".".join((found["python"] or "").split(".")[:2])
    if theirs != python:
        return f"Python {theirs} instead of {python}"
    if found["matchwood"] is None:
        return "no Matchwood"
    return "" if found["matchwood"] == own else f"Matchwood {found['matchwood']} instead of {own}"


def _asking(packages: tuple[str, ...]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that is pickled with all it needs: where Matchwood is missing, nothing of it can be imported."""

    def ask(batches: Iterable[Any]) -> Iterator[Any]:
        import platform
        from importlib import metadata

        import pyarrow

        list(batches)
        versions: dict[str, str | None] = {"python": platform.python_version()}
        for name in packages:
            try:
                versions[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                versions[name] = None
        try:
            import matchwood

            versions["matchwood"] = matchwood.__version__
        except ImportError:
            versions["matchwood"] = None
        hosts = [platform.node()] * len(versions)
        arrays = [pyarrow.array(each, pyarrow.string()) for each in (hosts, list(versions), list(versions.values()))]
        yield pyarrow.record_batch(arrays, names=["host", "name", "version"])

    return ask
