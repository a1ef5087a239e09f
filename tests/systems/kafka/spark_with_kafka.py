"""Sessions of Spark that read and write Kafka topics and Delta tables: the PySpark of the lakehouse tests, more jars.

python -m tests.systems.kafka.spark_with_kafka      fetches the jars, as `make test-systems` does
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.systems.kafka_broker import SYSTEMS, NotAvailable, fetched
from tests.systems.lake import spark_with_lake as lake

CONNECTOR = "4.1.3"
JARS = SYSTEMS / f"spark-kafka-{CONNECTOR}"
PARTS = (
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{CONNECTOR}",
    # The one of the same version is not on every mirror; no test asks for tokens.
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)


def jars() -> list[Path]:
    """The connector for Kafka and Delta; NotAvailable if one of them cannot be had."""
    lacking = lake.missing()
    if lacking:
        raise NotAvailable(lacking)
    connector = fetched(JARS, PARTS, "connector of Spark for Kafka", alone=True)
    return sorted([*connector.glob("*.jar"), *lake.JARS.glob("jars/*delta*.jar")])


def kafka_session(warehouse: Path, master: str = "local[2]", **more: str) -> Any:
    """A session for small streams on one machine; `more` are settings of Spark, underscores for dots."""
    from matchwood import spark as mws

    settings = {
        "spark.jars": ",".join(map(str, jars())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(warehouse / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
    }
    return mws.session(master=master, **settings, **more)


if __name__ == "__main__":
    try:
        print(f"Spark's connector for Kafka: {fetched(JARS, PARTS, 'connector of Spark for Kafka', alone=True)}")
    except NotAvailable as missing:
        print(missing, file=sys.stderr)
