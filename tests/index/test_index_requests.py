"""Requests: what all rules and the best rules come to, whoever answers them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.errors import InvalidArgument
from matchwood.matching import ALL_RULES, BestRules
from matchwood.ranking import GivenWeights
from matchwood.rules import RuleRows

EVENTS, PLACES = np.array([0, 1, 0, 3]), np.array([3, 1, 0, 2])


def best(n: int) -> BestRules:
    return BestRules(n, GivenWeights(None, ()))


def test_hits_of_several_shards_come_by_event_and_id() -> None:
    offsets, places, scores = ALL_RULES.ordered(4, EVENTS, PLACES, np.empty(0))
    assert (offsets.tolist(), places.tolist(), scores) == ([0, 2, 3, 3, 4], [0, 3, 1, 2], None)


def test_the_best_hits_of_several_shards_come_by_score_and_ties_by_id() -> None:
    offsets, places, scores = best(1).ordered(4, EVENTS, PLACES, np.array([1.0, 5.0, 1.0, 2.0]))
    assert (offsets.tolist(), places.tolist()) == ([0, 1, 2, 2, 3], [0, 1, 2])
    assert scores is not None
    assert scores.tolist() == [1.0, 5.0, 2.0]


def test_no_hits_are_in_order() -> None:
    none = np.empty(0, np.int64)
    for request in (ALL_RULES, best(3)):
        found = request.ordered(2, none, none, np.empty(0))
        assert (found.offsets.tolist(), len(found.places)) == ([0, 0, 0], 0)


def test_rows_of_events_that_follow_each_other_are_joined_and_cut() -> None:
    first = RuleRows(4, np.array([0, 1]), np.array([7], np.int32), np.array([0.5]))
    second = RuleRows(5, np.array([0, 2, 3]), np.array([8, 9, 7], np.int32), np.array([3.0, 2.0, 1.0]))
    joined = RuleRows.joined(4, [first, second], most=2)
    assert (joined.first, joined.offsets.tolist(), joined.rows.tolist()) == (4, [0, 1, 3], [7, 8, 9])
    assert joined.scores is not None
    assert joined.scores.tolist() == [0.5, 3.0, 2.0]
    assert RuleRows.joined(4, []).count == 0


@pytest.mark.parametrize("engine", ["auto", "oracle"])
def test_both_kinds_of_result_have_their_columns_and_their_events(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many({"a": "x > 1", "b": "x > 1 and y = 2", "c": "x > 9"})
    events = [{"x": 2, "y": 2}, {"x": 0}, {"x": 2}]
    assert index.match_many(events).to_pylist() == [
        {"event": 0, "rule": "a"}, {"event": 0, "rule": "b"}, {"event": 2, "rule": "a"},
    ]  # fmt: skip
    ranked = index.top_many(events, n=1)
    assert ranked.schema.names == ["event", "rank", "rule", "score"]
    assert ranked.to_pylist() == [
        {"event": 0, "rank": 1, "rule": "b", "score": 2.0}, {"event": 2, "rank": 1, "rule": "a", "score": 1.0},
    ]  # fmt: skip
    for given in ([{"x": 1.0}], pa.array([{"x": 1.0}] * 4)):
        with pytest.raises(InvalidArgument, match="weights were given for"):
            index.top_many(events, weights=given)
