"""One writer, many readers: each answer is that of some moment between two changes."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import matchwood
from tests.conftest import SOAK


@pytest.mark.long(4)
def test_every_answer_is_a_prefix_of_the_writes(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    rules, broken, done = 500 if SOAK else 20, [], threading.Event()

    def read() -> None:
        last = 0
        while not done.is_set():
            for found in (index.match({"x": 1}), index.match_many([{"x": 1}])["rule"].to_pylist()):
                if found != list(range(len(found))) or len(found) < last:
                    broken.append(found)
                last = len(found)
            done.wait(0.0 if SOAK else 0.001)  # otherwise the writer waits for the interpreter most of the time

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(rules):
        index[number] = f"x = 1 or y = {number}"
    done.set()
    for reader in readers:
        reader.join()
    assert broken == []
    assert index.match({"x": 1}) == list(range(rules))


@pytest.mark.long(4)
def test_several_threads_answer_as_one(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index.insert_many((rule, f"x > {rule} or (y < {rule % 7} and z = {rule % 3})") for rule in range(40))
    table = pa.table({"x": list(range(100)), "y": [None, 3] * 50, "z": [0, 1, 2, None] * 25})
    expected, best = index.match_many(table), index.top_many(table, n=3)
    assert expected.num_rows > 1_000
    for threads in (2, 3, 8, None):
        assert index.match_many(table, threads=threads).equals(expected)
        assert index.match_batches(table, threads=threads).read_all().equals(expected)
        assert index.top_many(table, n=3, threads=threads).equals(best)
