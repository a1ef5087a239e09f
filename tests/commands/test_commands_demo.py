"""The demo: it runs at any size, draws what it found, and notices wrong answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from matchwood.demo import audience, checking
from matchwood.demo.picture import by_age, histogram
from matchwood.errors import MatchwoodError
from matchwood.index import Index


def test_the_demo_from_rules_to_a_picture(folder: Path, run: Any) -> None:
    done = run("demo", "--embedded", "--rules", "2,000", "--events", "500", "-o", "out")
    assert done.status == 0
    for step in range(1, 7):
        assert re.search(rf"^{step}\. ", done.out, re.MULTILINE)
    assert "2,000 inserted, 0 replaced, 2 rejected" in done.out
    assert "campaign-typo: line 1, column 5" in done.out
    assert ": all agree." in done.out
    hits = pa_parquet.read_table("out/hits.parquet")
    assert f"{hits.num_rows:,} hits" in done.out
    assert hits.num_rows > 100


def test_the_picture_shows_the_figures(folder: Path, run: Any) -> None:
    run("demo", "--embedded", "--rules", "2000", "--events", "500", "-o", "out")
    hits = pa_parquet.read_table("out/hits.parquet")
    page = Path("out/demo.html").read_text()
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    values = [
        [float(value.replace(",", "")) for value in re.findall(r"font-size='12'>([\d.,]+)<", chart)] for chart in charts
    ]
    assert sum(values[0]) == 500
    counts = np.unique(hits["rule"].to_numpy(), return_counts=True)[1]
    assert values[2] == sorted(counts.tolist(), reverse=True)[:8]


@pytest.mark.parametrize(("rules", "events"), [(1, 1), (1, 30), (50, 1)])
def test_the_demo_at_the_smallest_sizes(folder: Path, run: Any, rules: int, events: int) -> None:
    assert run("demo", "--embedded", "--rules", rules, "--events", events).status == 0
    assert Path("demo-output/demo.html").is_file()


def test_wrong_answers_fail_the_demo(folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    match_many = Index.match_many
    monkeypatch.setattr(Index, "match_many", lambda index, events: match_many(index, events).slice(200))
    done = run("demo", "--embedded", "--rules", "3000", "--events", "200")
    assert done.status == 1
    # On a slow machine lines of progress come first.
    assert done.err.splitlines()[-1].startswith("matchwood: the demo's answers are wrong: view ")
    assert not Path("demo-output/demo.html").exists()


def test_the_check_notices_a_missing_and_an_invented_hit() -> None:
    rules = {"a": "age > 50", "b": "age < 50"}
    views = pa.table({"age": [20, 80]})
    right = pa.table({"event": [0, 1], "rule": ["b", "a"]})
    assert checking.check(rules, views, right).hits == 2
    for wrong in (right.slice(1), pa.concat_tables([right, pa.table({"event": [0], "rule": ["a"]})])):
        with pytest.raises(MatchwoodError, match="view 0 and"):
            checking.check(rules, views, wrong)


def test_the_same_seed_gives_the_same_data() -> None:
    assert audience.campaigns(20) == audience.campaigns(20) != audience.campaigns(20, seed=2)
    assert audience.page_views(20).equals(audience.page_views(20))
    assert not audience.page_views(20).equals(audience.page_views(20, seed=3))


def test_the_classes_of_the_picture() -> None:
    assert histogram(np.array([0, 0, 1, 1_000])) == [
        ("0", 2.0), ("1", 1.0), ("2 to 4", 0.0), ("5 to 9", 0.0), ("10 to 19", 0.0), ("20 to 49", 0.0),
        ("50 to 99", 0.0), ("100 to 199", 0.0), ("200 to 499", 0.0), ("500 to 999", 0.0), ("1,000 or more", 1.0),
    ]  # fmt: skip
    assert by_age(np.array([2, 4, 0]), pa.chunked_array([[21, 29, None]])) == [("unknown", 0.0), ("20 to 29", 3.0)]
