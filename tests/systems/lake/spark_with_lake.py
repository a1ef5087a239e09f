"""A PySpark that Delta and Iceberg both have jars for, and sessions with those jars.

python -m tests.systems.lake.spark_with_lake      sets both up below .systems, as `make test-systems` does

The newest PySpark is ahead of what the two are made for, so an older one that Matchwood supports is installed beside
it: put its folder before all others (PYTHONPATH) and run the tests of this room.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SPARK, DELTA, ICEBERG = "4.1", "4.4.0", "1.12.0"
SYSTEMS = Path(__file__).parents[3] / ".systems"
HOME = SYSTEMS / f"pyspark-{SPARK}"
JARS = SYSTEMS / f"jars-{SPARK}-{DELTA}-{ICEBERG}"
PACKAGES = (
    f"io.delta:delta-spark_{SPARK}_2.13:{DELTA}",
    f"org.apache.iceberg:iceberg-spark-runtime-{SPARK}_2.13:{ICEBERG}",
)
_SET_UP = f"`make test-systems` sets up PySpark {SPARK} with Delta {DELTA} and Iceberg {ICEBERG}"


def missing() -> str | None:
    """What is not there that the tests need; None if all is."""
    try:
        import pyspark
    except ImportError:
        return f"PySpark is not installed ({_SET_UP})"
    if not pyspark.__version__.startswith(f"{SPARK}."):
        return f"Delta {DELTA} and Iceberg {ICEBERG} are for PySpark {SPARK}, this is {pyspark.__version__} ({_SET_UP})"
    if not list(JARS.glob("jars/*delta-spark*.jar")) or not list(JARS.glob("jars/*iceberg*.jar")):
        return f"the jars of Delta and Iceberg are not there ({_SET_UP}, if it can download them)"
    return None


def lake_session(warehouse: Path, **more: Any) -> Any:
    """A session in which `spark_catalog` has Delta tables and `ice` Iceberg tables, below a folder."""
    from matchwood import spark as mws

    jars = {"spark.jars": ",".join(map(str, sorted(JARS.glob("jars/*.jar"))))}
    return mws.session(master="local[2]", **settings(warehouse), **jars, **more)


def settings(warehouse: Path) -> dict[str, str]:
    """As the docs of both have them; and what makes tests on one machine quick."""
    delta, iceberg = "io.delta.sql.DeltaSparkSessionExtension", "org.apache.iceberg.spark.extensions"
    return {
        "spark.sql.extensions": f"{delta},{iceberg}.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(warehouse / "ice"),
        "spark.sql.warehouse.dir": str(warehouse / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.ui.enabled": "false",
    }


def set_up() -> None:
    if not (HOME / "pyspark").exists():
        wanted = [f"pyspark=={SPARK}.*"]
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(HOME), *wanted])
    if not list(JARS.glob("jars/*.jar")):
        code = f"from tests.systems.lake.spark_with_lake import resolve; resolve({str(JARS)!r})"
        subprocess.run([sys.executable, "-c", code], env=environment(), stderr=subprocess.DEVNULL)
    told = subprocess.run([sys.executable, "-m", __spec__.name, "missing"], env=environment(), capture_output=True)
    print(told.stdout.decode().strip())


def environment() -> dict[str, str]:
    """The environment in which Python finds that PySpark."""
    paths = [str(HOME), str(SYSTEMS.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def resolve(folder: str) -> None:
    """Have Spark download the jars into a folder."""
    from matchwood import spark as mws

    mws.session(master="local[1]", **{"spark.jars.packages": ",".join(PACKAGES), "spark.jars.ivy": folder}).stop()


if __name__ == "__main__":
    if sys.argv[1:] == ["missing"]:
        print(missing() or f"PySpark {SPARK} with Delta and Iceberg: {HOME}, {JARS}")
    else:
        set_up()
