"""`bench update` on a real object store: what travels is counted, and it is in proportion to the change."""

from __future__ import annotations

import pytest

from matchwood.bench.registry import EXPERIMENTS, SMOKE
from tests.systems.s3_server import BUCKET, S3Server

pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")
pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_updates_are_counted(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCHWOOD_BENCH_STORE", f"s3://{BUCKET}/bench")
    rows = EXPERIMENTS["update"].run(SMOKE)["rows"]
    assert [(row["place"], row["changed"]) for row in rows] == [
        (place, changed) for place in ("disk", "object store") for changed in (1, 50)
    ]
    for row in rows[2:]:
        assert row["checked"] is True
        assert row["requests"] > row["fetch_requests"] > 0
        assert 0 < row["written"] < row["bytes_index"]
        assert 0 < row["fetched"] < row["bytes_index"]
    assert sum(row["requests"] for row in rows[2:]) <= sum(s3.counts().values())
