"""Calls that cannot be meant, told before any job runs: what was given, and what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from matchwood import spark as mws
from matchwood.errors import InvalidArgument

PANDAS = pd.DataFrame({"id": [1], "expression": ["x = 1"]})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: mws.build(PANDAS, "x"),
            r"rules must be a Spark DataFrame \(got a DataFrame of pandas\): write spark\.createDataFrame\(rules\); ",
        ),
        (
            lambda: mws.update(pa.table({"id": [1]}), "x"),
            r"\(got a Table of pyarrow\): write spark\.createDataFrame\(rules",
        ),
        (lambda: mws.build([("a", "x = 1")], "x"), r"\(got a list\): write spark\.createDataFrame\(rules\)$"),
        (
            lambda: mws.match("x.parquet", "index"),
            r"events must be a Spark DataFrame \(got the text 'x.parquet'\): write spark\.read\.parquet\('x\.",
        ),
        (lambda: mws.match(Path("x.csv.gz"), "index"), r"write spark\.read\.csv\('x\.csv\.gz'\)"),
        (lambda: mws.match("events", "index"), r"write spark\.table\('events'\) or spark\.read\.parquet\('events'\)"),
        (lambda: mws.diff(PANDAS, "index", 1, 2, key="id"), "events must be a Spark DataFrame"),
        (lambda: mws.explain(PANDAS, "index", rules=[1], key="id"), "events must be a Spark DataFrame"),
        (lambda: mws.why_not(PANDAS, "index", rules=[1]), "events must be a Spark DataFrame"),
        (lambda: mws.verify(PANDAS, PANDAS, PANDAS, key="id"), "events must be a Spark DataFrame"),
        (lambda: mws.match_stream(PANDAS, "index", print), "events must be a Spark DataFrame"),
    ],
)
def test_what_is_no_frame_of_spark(call: Any, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        call()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "spark_executorEnv_MY_VAR",
            r"may be 'spark\.executorEnv\.MY\.VAR' or 'spark\.executorEnv\.MY_VAR': write the name as Spark has it, "
            r"session\(\*\*\{'spark\.executorEnv\.MY_VAR': …\}\)",
        ),
        ("spark_kubernetes_executor_label_my_team", r"'spark\.kubernetes\.executor\.label\.my_team'"),
        ("driver_memory", "is no setting of Spark"),
    ],
)
def test_settings_whose_underscores_may_be_their_own(name: str, told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        mws.session(**{name: "x"})
