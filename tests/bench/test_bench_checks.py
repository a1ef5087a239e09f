"""A benchmark whose answers are wrong, or that measures nothing, fails."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from matchwood.bench.frame import setup
from matchwood.bench.frame.encoded_rules import check, encoded
from matchwood.bench.frame.measure import (
    MeasuredMatching,
    Rounds,
    WrongAnswer,
    check_agreement,
    measure_engine,
    time_box,
)
from matchwood.bench.frame.setup import check_with_brute_force, check_with_oracle, insert_all, prepare, refuse_repeated
from matchwood.bench.own import bandwidth, core, linting, ranges, single
from matchwood.bench.papers.pst import access
from matchwood.bench.papers.pst import workloads as pstree_workloads
from matchwood.bench.peers import engines as peer_engines
from matchwood.bench.peers import experiment as peers
from matchwood.bench.peers import joins as peer_joins
from matchwood.bench.spark import experiment as spark
from matchwood.engines import Hits, engine_class
from matchwood.engines.registry import engine_names
from matchwood.index import Index
from matchwood.workloads.begen import begen
from matchwood.workloads.shared.base import Events, Workload
from matchwood.workloads.shared.brute import hits as brute_force


@pytest.fixture(scope="module")
def workload() -> Workload:
    return begen(rules=200, events=20, matching=0.05, seed=3)


def _without_one_hit(match: Callable[..., Hits]) -> Callable[..., Hits]:
    """An engine that forgets the first hit of each call."""

    def wrong(*arguments: Any) -> Hits:
        found = match(*arguments)
        return found._replace(offsets=np.maximum(found.offsets - 1, 0), units=found.units[1:])

    return wrong


def _without_any_hit(match: Callable[..., Hits]) -> Callable[..., Hits]:
    def wrong(*arguments: Any) -> Hits:
        found = match(*arguments)
        return found._replace(offsets=np.zeros_like(found.offsets), units=found.units[:0])

    return wrong


@pytest.mark.parametrize("name", ["scan", "counting"])
def test_an_engine_that_forgets_a_hit_fails_core(
    workload: Workload, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert core.measure("small", workload)
    engine = engine_class(name)
    monkeypatch.setattr(engine, "match", _without_one_hit(engine.match))
    with pytest.raises(WrongAnswer, match=r"the engines disagree|the oracle disagrees"):
        core.measure("small", workload)


def test_engines_that_forget_the_same_hits_fail_core(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare(workload, "counting")
    engine = prepared.rules._matcher.engine  # type: ignore[attr-defined]
    check_with_brute_force("counting", engine, prepared, workload)
    for kind in map(engine_class, {engine for engine, _ in core.ENGINES.values()}):
        monkeypatch.setattr(kind, "match", _without_one_hit(kind.match))
        monkeypatch.setattr(kind, "one_event", lambda engine, workspace: None)  # single events are then matched by it
    with pytest.raises(WrongAnswer, match=r"counting: event \d+ has \d+ hits"):
        check_with_brute_force("counting", engine, prepared, workload)
    with pytest.raises(WrongAnswer, match="the oracle disagrees about rule"):
        check_with_oracle(prepared.rules, workload, rules=2_000)


def test_a_check_of_some_events_matches_no_others(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow engine would take minutes for what nobody looks at."""
    prepared, given = prepare(workload, "scan"), encoded(workload)
    asked: list[int] = []
    real = engine_class("scan").match
    monkeypatch.setattr(
        engine_class("scan"),
        "match",
        lambda engine, events, first, workspace: (
            asked.append(events.count - first) or real(engine, events, first, workspace)
        ),
    )
    engine = engine_class("scan")(given.store)
    engine.rebuild()
    check("scan", engine, given, 3)
    check_with_brute_force("scan", prepared.rules._matcher.engine, prepared, workload, 3)  # type: ignore[attr-defined]
    assert asked == [1] * 6


def test_no_hits_at_all_fail_core(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in map(engine_class, {engine for engine, _ in core.ENGINES.values()}):
        monkeypatch.setattr(kind, "match", _without_any_hit(kind.match))
    monkeypatch.setattr(core, "check_with_oracle", lambda *arguments: None)
    with pytest.raises(WrongAnswer, match="no event matched any rule"):
        core.measure("small", workload)


def test_agreement_is_about_hits_not_their_number(workload: Workload) -> None:
    prepared = prepare(workload, "counting")
    right = measure_engine(prepared.rules._matcher.engine, prepared.events, 0)  # type: ignore[attr-defined]
    check_agreement({"one": right, "other": right})
    with pytest.raises(WrongAnswer, match="the engines disagree: one has"):
        check_agreement({"one": right, "other": right._replace(checksum=right.checksum + 1)})
    with pytest.raises(WrongAnswer, match="one: no event matched any rule"):
        check_agreement({"one": MeasuredMatching(Rounds(5, 0, 1), 0, 0, 0)})


def test_a_checksum_sees_which_event_has_which_hit() -> None:
    from matchwood.bench.frame.measure import _checksums

    units = np.array([1, 2, 3], np.int32)
    sums = {
        tuple(_checksums(first, np.array(offsets), units).tolist())
        for first, offsets in [(0, [0, 1, 3]), (0, [0, 2, 3]), (1, [0, 1, 3])]
    }
    assert len(sums) == 3
    assert _checksums(0, np.array([0, 3]), units) == _checksums(0, np.array([0, 3]), units[::-1])


def test_a_rejected_rule_fails_the_run(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongAnswer, match="1 rule was rejected, the first: line 1, column 5"):
        insert_all(Index(), ["age > 5", "age => 5"])
    monkeypatch.setattr(Workload, "rules_text", lambda self: ["a1 = 5", "a1 = 'x'"])
    with pytest.raises(WrongAnswer, match="1 rule was rejected"):
        prepare(workload, "counting")


def test_a_repeated_event_fails_the_run(workload: Workload) -> None:
    with pytest.raises(WrongAnswer, match="two measured events are equal"):
        refuse_repeated([{"a": 1, "b": 2}, {"a": 1}, {"b": 2, "a": 1}])
    events = workload.events
    end = int(events.offsets[1])
    twice = Events(np.array([0, end, 2 * end]), np.tile(events.attributes[:end], 2), np.tile(events.values[:end], 2))
    with pytest.raises(WrongAnswer, match="two measured events are equal"):
        prepare(replace(workload, events=twice), "counting")


def test_a_repeated_event_fails_every_experiment_on_columns(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pstree, betree, hem and bandwidth take workloads by `encoded`, spark by `_case`, access makes its own events."""
    events, end = workload.events, int(workload.events.offsets[1])
    twice = Events(np.array([0, end, 2 * end]), np.tile(events.attributes[:end], 2), np.tile(events.values[:end], 2))
    again = replace(workload, events=twice)
    with pytest.raises(WrongAnswer, match="two measured events are equal"):
        encoded(again)
    monkeypatch.setattr(spark, "ads", lambda **settings: again)
    with pytest.raises(WrongAnswer, match="two measured events are equal"):
        spark._case("nowhere", "20 hits", "smoke", 20)
    monkeypatch.setattr(access, "_events", lambda random, count: [{"a0": 1}, {"a0": 1}])
    with pytest.raises(WrongAnswer, match="two measured events are equal"):
        access._prepared(10, 2)


def test_experiments_on_columns_fail_without_hits_or_with_wrong_ones(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = list(map(engine_class, engine_names("conjunctions")))
    for kind in kinds:
        monkeypatch.setattr(kind, "match", _without_any_hit(kind.match))
    for module in (pstree_workloads, bandwidth):
        monkeypatch.setattr(module, "check", lambda *arguments: None)
    with pytest.raises(WrongAnswer, match="no event matched any rule"):
        pstree_workloads.measure("small", workload, 0)
    with pytest.raises(WrongAnswer, match="no event matched any rule"):
        bandwidth.measure("small", workload, "smoke")
    monkeypatch.undo()
    wrong = engine_class("counting")
    monkeypatch.setattr(wrong, "match", _without_one_hit(wrong.match))
    for call in (
        lambda: pstree_workloads.measure("small", workload, 0),
        lambda: bandwidth.measure("s", workload, "smoke"),
    ):
        with pytest.raises(WrongAnswer, match=r"counting: event \d+ has"):
            call()


def test_events_that_match_nothing_fail_single(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    assert single.measure(workload, "scan")["hits_per_event"] > 0
    monkeypatch.setattr(single, "check_with_oracle", lambda *arguments: None)
    monkeypatch.setattr(Index, "match", lambda index, event: [])
    with pytest.raises(WrongAnswer, match="scan: no event matched any rule"):
        single.measure(workload, "scan")


def test_a_wrong_answer_fails_single(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    match = Index.match
    monkeypatch.setattr(Index, "match", lambda index, event: match(index, event)[1:])
    with pytest.raises(WrongAnswer, match="the oracle disagrees"):
        single.measure(workload, "counting")


def test_a_wrong_answer_to_the_empty_event_fails_single(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    match = Index.match
    monkeypatch.setattr(Index, "match", lambda index, event: match(index, event) if event else [0])
    with pytest.raises(WrongAnswer, match=r"the oracle disagrees about rule 0 .* and the empty event"):
        single.measure(workload, "counting")


def test_wrong_hits_fail_ranges() -> None:
    constants = np.array([3, 2, 5, 0])
    right = [[0, 2, 3], [0, 1, 2, 3]]
    ranges.check(constants, [1, 2], right)
    for wrong in ([[0, 2], right[1]], [[0, 1, 2], right[1]], [right[1], right[1]]):
        with pytest.raises(WrongAnswer, match="x = 1: "):
            ranges.check(constants, [1, 2], wrong)


def test_a_process_that_fails_fails_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongAnswer, match=r"nothing, bulk: .*there is no engine 'nothing'"):
        ranges._in_own_process("nothing", "bulk", 10)


def test_a_missed_finding_fails_lint() -> None:
    findings = pa.table({"id": [10, 11, 3], "problem": ["never", "always", "duplicate"]})
    linting.check(findings, 10, ["never", "always"])
    with pytest.raises(WrongAnswer, match="lint missed what was planted: duplicate"):
        linting.check(findings, 10, ["never", "always", "duplicate"])


def _one_peer(monkeypatch: pytest.MonkeyPatch, name: str, build: object) -> None:
    monkeypatch.setattr(peers, "JOINS", {})
    monkeypatch.setattr(peers, "_spark_sql", lambda *arguments: {"us_per_event": 1.0, "engine": "none"})
    monkeypatch.setattr(peers, "PEERS", {name: build})


def test_a_peer_with_other_answers_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    _one_peer(monkeypatch, "liar", lambda texts: lambda event: [0])
    with pytest.raises(WrongAnswer, match="liar gives other answers than Matchwood"):
        peers.measure("smoke", "begen 1%")


def test_peers_that_are_not_installed_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is measured and written all the same."""

    def build(texts: object) -> peer_engines.Matcher:
        raise ImportError("No module named 'zen'")

    @contextlib.contextmanager
    def no_spark() -> Iterator[object]:
        raise ImportError("No module named 'pyspark'")
        yield

    real = peers._spark_sql
    _one_peer(monkeypatch, "zen-engine", build)
    monkeypatch.setattr(peers, "_spark_sql", real)
    monkeypatch.setattr(peers, "session_for", no_spark)
    names = [row["engine"] for row in peers.measure("smoke", "begen 1%")]
    assert (len(names), names[0], names[-1]) == (6, "matchwood, batch", "matchwood, scan")
    told = capsys.readouterr().err
    assert "left out: Spark SQL, counting join is not installed: pip install 'matchwood[spark]'" in told
    assert "left out: zen-engine is not installed: pip install 'matchwood[bench]'" in told


def test_a_slow_peer_has_a_sample_of_rules_and_events(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = peer_engines.PEERS["zen-engine"]

    def build(texts: Sequence[str]) -> peer_engines.Matcher:
        matcher = plain(texts)
        return lambda event: (time.sleep(0.0005 * len(texts)), matcher(event))[1]

    _one_peer(monkeypatch, "slow", build)
    with time_box(0.66):
        row = peers.measure("smoke", "begen 1%")[-1]
    assert (row["engine"], 200 <= row["rules"] < 240) == ("slow", True)
    assert 2 <= row["events"] < 10
    assert row["us_per_event_all"] == pytest.approx(row["us_per_event"] * 300 / row["rules"], rel=0.01)


@pytest.mark.parametrize("name", peer_joins.JOINS)
def test_joins_find_what_brute_force_finds(name: str) -> None:
    work = begen(rules=300, events=25, dimensions=40, matching=0.05, expressiveness="high", cardinality=6, seed=3)
    query = peer_joins.JOINS[name](peer_joins.tables_of(work))
    for first, stop in ((0, 3), (3, 25)):
        found = query(first, stop)
        pairs = sorted(zip(found["event"].to_pylist(), found["rule"].to_pylist(), strict=True))
        hits = brute_force(work, range(first, stop))
        expected = [(event, rule) for event, rules in enumerate(hits) for rule in rules]
        assert pairs == expected


@pytest.mark.parametrize("name", peer_engines.PEERS)
def test_peers_read_every_operator_and_know_missing_attributes(name: str) -> None:
    texts = [
        "a = 1",
        "a in (1, 2)",
        "a between 1 and 3",
        "a not in (1, 2)",
        "a != 2",
        "a < 2",
        "a <= 1",
        "a > 1",
        "a >= 2",
    ]
    matcher = peer_engines.PEERS[name](texts)
    oracle = Index("oracle")
    oracle.insert_many(enumerate(texts))
    for event in ({"a": 1}, {"a": 2}, {"a": 5}, {"b": 1}, {}):
        assert matcher(event) == oracle.match(event)


def test_warm_up_touches_every_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    inner = setup.prepare
    monkeypatch.setattr(setup, "prepare", lambda workload, engine: seen.append(engine) or inner(workload, engine))
    assert setup.warm_up(["scan", "counting"]) > 0
    assert seen == ["scan", "counting"]
