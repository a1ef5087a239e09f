"""Rules in blocks: the same whoever makes them, as often true as in one piece, and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from matchwood.commands.cli import main
from matchwood.errors import InvalidArgument
from matchwood.workloads import GENERATORS, generate
from matchwood.workloads.catalogue import rules_block, settings_of
from matchwood.workloads.shared import blocks
from matchwood.workloads.shared.blocks import Block, blocks_of
from matchwood.workloads.shared.brute import hits

SETTINGS: dict[str, dict[str, Any]] = {
    "begen": {"rules": 1_000, "events": 40, "matching": 0.05},
    "abegen": {"rules": 250, "events": 40, "dimensions": 60},
    "hem": {"rules": 250, "events": 40, "attributes": 3},
    "contracts": {"rules": 250, "events": 40, "dimensions": 200},
    "ads": {"rules": 1_000, "events": 60, "matching": 0.002},
    "ads_arbitrary": {"rules": 1_000, "events": 40, "matching": 0.01},
    "query_logs": {"rules": 250, "events": 10, "words": 2_000},
    "qgrams": {"rules": 250, "events": 10},
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a hundred rules, so that small workloads have several."""
    monkeypatch.setattr(blocks, "BLOCK", 100)


def test_every_generator_is_tested() -> None:
    assert set(SETTINGS) == set(GENERATORS)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_workload_is_its_blocks(name: str, small_blocks: None) -> None:
    given = SETTINGS[name]
    whole, chosen = generate(name, seed=3, **given), settings_of(name, {"seed": 3, **given})
    parts = blocks_of(given["rules"])
    assert len(parts) == -(-given["rules"] // 100)
    made = [rules_block(name, chosen, part) for part in reversed(parts)]
    assert pa.concat_tables(made[::-1]).equals(whole.rules_table().cast(made[0].schema))
    assert len(set(whole.rules_text())) > given["rules"] / 4, "blocks do not repeat each other"
    assert sum(map(len, hits(whole, range(10)))) > 0


SHARES: dict[str, dict[str, Any]] = {
    "begen": {"matching": 0.05},
    "abegen": {"matching": 0.004, "rules": 4_000, "dimensions": 200},
    "hem": {"matching": 0.02, "rules": 2_000},
    "contracts": {"matching": 0.3},
    "ads": {"matching": 0.002},
    "ads_arbitrary": {"matching": 0.01},
    "query_logs": {"matching": 0.02, "rules": 4_000, "events": 40},
    "qgrams": {"matching": 0.01, "rules": 2_000, "events": 40},
}


@pytest.mark.parametrize("name", GENERATORS)
def test_as_many_rules_match_as_asked_for(name: str, small_blocks: None) -> None:
    """Also in blocks, each of which knows the settings alone; and another share makes other rules."""
    given = {**SETTINGS[name], **SHARES[name], "seed": 3}
    work, chosen = generate(name, **given), settings_of(name, given)
    found = sum(map(len, hits(work, range(work.events.count))))
    assert 0.5 < found / work.events.count / work.rules.count / given["matching"] < 1.6
    part = blocks_of(given["rules"])[1]
    texts = work.rules_text()[part.first : part.first + part.count]
    assert rules_block(name, chosen, part)["expression"].to_pylist() == texts
    given["matching"] *= 0.6
    assert generate(name, **given).rules_text() != work.rules_text()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("abegen", {"matching": 0.5}, "matching=0.5 is out of reach: it can be from .* to .* .other children"),
        ("abegen", {"matching": 0.01, "depth": 1}, "matching needs rules of depth 2 or more"),
        ("query_logs", {"matching": 0.9}, "matching=0.9 is out of reach: it can be from"),
        ("query_logs", {"matching": 0.01, "exponent": 0.2}, "exponent=0.2 makes .* match .give exponent or matching"),
        ("query_logs", {"exponent": 3}, "exponent must be from 0.0 to 1.5"),
        ("qgrams", {"matching": 0.9}, "matching=0.9 is out of reach: it can be from"),
        ("qgrams", {"matching": 2}, "matching must be between 0 and 1"),
        ("hem", {"matching": 1}, "matching must be between 0 and 1"),
        ("hem", {"matching": 0.1, "width": 0.5}, "match with probability 0.125, not 0.1 .give width or matching"),
    ],
)
def test_a_share_out_of_reach_is_told(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        generate(name, **{**SETTINGS[name], **settings})


@pytest.mark.parametrize("name", GENERATORS)
def test_no_event_occurs_twice(name: str) -> None:
    work = generate(name, seed=3, **SETTINGS[name])
    assert len({tuple(sorted(event.items())) for event in work.events_dicts()}) == work.events.count


def test_joined_trees_mean_what_their_texts_say(small_blocks: None) -> None:
    from matchwood.index import Index

    work = generate("ads_arbitrary", seed=3, **SETTINGS["ads_arbitrary"])
    index = Index("oracle")
    index.insert_many(work.rules_table())
    for event, found in zip(work.events_dicts()[:4], hits(work, range(4)), strict=True):
        assert index.match(event) == found.tolist()


def test_blocks_are_nearly_equal_and_deal_all_places() -> None:
    found = blocks_of(250_001)
    assert [part.count for part in found] == [83_334, 83_334, 83_333]
    assert sorted(np.concatenate([part.dealt(250_001) for part in found]).tolist()) == list(range(250_001))
    assert blocks_of(1) == [Block(0, 1, 0, 1)]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="there is no generator 'x'"):
        generate("x")
    with pytest.raises(InvalidArgument, match="begen has no setting 'size'"):
        generate("begen", size=5)
    with pytest.raises(InvalidArgument, match="matching must be above 0"):
        settings_of("begen", {"matching": 0})


def test_the_command_writes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], small_blocks: None
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["generate", "begen", "r.jsonl", "--rules", "250", "--events", "9", "--seed", "4", "--set", "matching=0.1"]
    assert main([*call, "--events-file", "e.parquet", "--set", "distribution=uniform"]) == 0
    assert "r.jsonl: 250 rules of begen in" in capsys.readouterr().out
    work = generate("begen", rules=250, events=9, seed=4, matching=0.1)
    rows = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
    assert [(row["id"], row["expression"]) for row in rows] == list(enumerate(work.rules_text()))
    assert pa.parquet.read_table("e.parquet").to_pylist() == work.events_table().to_pylist()
    for wrong in (["--set", "matching"], ["--master", "local"], ["--spark", "--events-file", "e.csv"]):
        assert main([*call, *wrong]) == 2
    assert main(["generate", "begen", "r.csv", "--set", "size=3"]) == 1
    assert "begen has no setting 'size'" in capsys.readouterr().err
    assert not Path("r.csv").exists()
