"""What the other tests of this room rely on: the server keeps the conditions of a put, also for many at once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.systems.s3_server import BUCKET, S3Server

obstore = pytest.importorskip("obstore", reason="obstore is not installed (the extra `objects`)")


@pytest.fixture
def store(s3: S3Server) -> Any:
    return obstore.store.from_url(f"s3://{BUCKET}/conditions")


def _winners(count: int, put: Any) -> list[int]:
    won: list[int] = []

    def one(number: int) -> None:
        try:
            put(number)
            won.append(number)
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
            pass

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_of_many_that_create_one_wins(store: Any) -> None:
    won = _winners(12, lambda number: obstore.put(store, "new", b"%d" % number, mode="create"))
    assert len(won) == 1
    assert bytes(obstore.get(store, "new").bytes()) == b"%d" % won[0]


def test_of_many_that_replace_one_state_one_wins(store: Any) -> None:
    tag = obstore.put(store, "old", b"old")["e_tag"]
    won = _winners(12, lambda number: obstore.put(store, "old", b"%d" % number, mode={"e_tag": tag}))
    assert len(won) == 1
    assert bytes(obstore.get(store, "old").bytes()) == b"%d" % won[0]


def test_requests_are_counted_and_survive_a_kill(s3: S3Server, store: Any) -> None:
    obstore.put(store, "counted", b"12345")
    s3.kill()
    s3.start()
    assert bytes(obstore.get(store, "counted").bytes()) == b"12345"
    assert s3.counts() == {"PutObject": 1, "GetObject": 1}
    assert s3.fetched() == 5
