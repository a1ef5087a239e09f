"""The hits that `bench update` expects are those of an index of the rules as they are after the change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import matchwood as mw
from matchwood.bench.spark.update_answers import UpdateAnswers
from matchwood.workloads import begen

RULES, CHANGED = 600, 80


@pytest.mark.parametrize("number", [1, CHANGED])
def test_the_hits_after_a_change(number: int) -> None:
    work = begen(rules=RULES + CHANGED, events=40, seed=3)
    texts, events = work.rules_table()["expression"].combine_chunks(), work.events_table()
    rows, new = np.random.default_rng(1).choice(RULES, number, replace=False), texts.slice(RULES, number)
    answers = UpdateAnswers(texts.slice(0, RULES), events)
    rules = np.array(texts.slice(0, RULES).to_pylist(), object)
    rules[rows] = new.to_pylist()
    index = mw.Index("counting")
    index.insert_many(pa.table({"id": np.arange(RULES), "expression": rules.tolist()}))
    lists = pa.array([index.match(event) for event in events.to_pylist()], pa.list_(pa.int64()))
    expected = answers.after(rows, new)
    assert len(expected) > 100
    assert np.array_equal(answers.found(lists), expected)
    assert number == 1 or not np.array_equal(expected, answers.after(rows[:0], new.slice(0, 0)))
