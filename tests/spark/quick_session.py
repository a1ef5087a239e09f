"""Settings of Spark for the short form of the tests; with MATCHWOOD_SOAK=1 Spark is as users have it."""

from __future__ import annotations

import os
from typing import Any

QUICK: dict[str, Any] = {
    # Tables of a few rows, each read once: compiling what Spark does with them takes longer than doing it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    # Nor are they worth a plan that is made anew after each of its stages: a fifth of the driver's CPU.
    "spark.sql.adaptive.enabled": "false",
    # Workers are forked from a process that has all they need: from one, for all functions have the same environment.
    "spark.python.daemon.module": "ready_daemon",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}

SETTINGS: dict[str, Any] = (
    {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    if os.environ.get("MATCHWOOD_SOAK") == "1"
    else QUICK
)
"""For every session that the tests of this room begin, here or in processes beside."""
