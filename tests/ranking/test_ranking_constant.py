"""Ranking by constant weights alone, and weights that stay when a rule's text is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from tests.index.test_index_versions import publish_shards

RULES: list[tuple[str, str, dict[str, Any]]] = [
    ("low", "age >= 18 and country = 'US' and vip", {"weight": 0.5, "weights": {"country": {"US": 9.0}, "age": 3.0}}),
    ("bid", "age >= 18", {"weight": 2.5}),
    ("either", "age > 100 or country in ('US', 'CA')", {"weight": 2.5, "weights": {"country": 4.0}}),
    ("free", "country = 'US'", {}),
    ("deep", " and ".join(f"(a{n} = 1 or country = 'US')" for n in range(9)), {"weight": 1.25}),
    ("never", "age < 0", {"weight": 99.0}),
]
EVENT = {"age": 20, "country": "US", "vip": True}
BEST = [("bid", 2.5), ("either", 2.5), ("deep", 1.25), ("low", 0.5), ("free", 0.0)]


@pytest.mark.parametrize("engine", ["oracle", "scan", "kindex", "atree"])
def test_a_bid_of_two_and_a_half_scores_two_and_a_half(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many(RULES, on_error="raise")
    assert index.top(EVENT, weight="only") == BEST
    assert index.top(EVENT, n=2, weight="only") == BEST[:2]
    assert index.top(EVENT, n=1) != BEST[:1]
    found = index.top_many([EVENT, {"age": 30}], n=3, weight="only")
    assert found["rule"].to_pylist() == ["bid", "either", "deep", "bid"]
    assert found["score"].to_pylist() == [2.5, 2.5, 1.25, 2.5]


def test_shards_rank_by_constants_too(tmp_path: Path) -> None:
    publish_shards(tmp_path, "age >= 18", "country = 'US'")
    index = mw.open(tmp_path)
    assert index.top(EVENT, weight="only") == [("r0", 0.0), ("r1", 0.0)]
    assert index.top_many([EVENT], weight="only")["score"].to_pylist() == [0.0, 0.0]


def test_what_cannot_be_meant() -> None:
    index = mw.Index()
    with pytest.raises(mw.InvalidArgument, match=r"weight must be 'added' or 'only' \(got 2.5\)"):
        index.top(EVENT, weight=2.5)  # type: ignore[arg-type]
    with pytest.raises(mw.InvalidArgument, match="constant weights alone: leave weights= out"):
        index.top_many([EVENT], weights={"age": 2.0}, weight="only")


@pytest.mark.parametrize("engine", ["oracle", "scan"])
def test_a_replaced_text_keeps_its_weights(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many(RULES, on_error="raise")
    before = index.top(EVENT, weight="only")
    index["bid"] = "age >= 19"
    index["low"] = "country = 'US' and age >= 20"
    assert index.top(EVENT, weight="only") == before
    assert dict(index.top(EVENT))["low"] == 9.0 + 3.0 + 0.5
    index.insert_many([("bid", "age >= 18")], on_duplicate="replace")
    assert dict(index.top(EVENT, weight="only"))["bid"] == 0.0
    del index["low"]
    index["low"] = "country = 'US'"
    assert dict(index.top(EVENT))["low"] == 1.0
