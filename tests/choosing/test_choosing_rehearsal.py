"""Rehearsals take turns: one at a time, and first the one that somebody waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from matchwood.choosing import rehearsal
from matchwood.choosing.rehearsal import SOME_TIME, SOON, WAITED_FOR, RehearsalTurns
from matchwood.core.turns import HERE

Order = list[str]


def _begun(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _wait_for(turns: RehearsalTurns, *waiting: int) -> None:
    """Until so many wait, by what they are for."""
    while turns._waiting != list(waiting):
        threading.Event().wait(0.001)


def _ended(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_those_who_wait_go_by_how_much_they_are_wanted() -> None:
    turns, order, threads = RehearsalTurns(), Order(), []

    def rehearse(name: str, purpose: int) -> None:
        with turns.turn(purpose):
            order.append(name)

    with turns.turn(SOME_TIME):
        for count, (name, purpose) in enumerate([("trial", SOME_TIME), ("beside", SOON), ("writer", WAITED_FOR)]):
            threads.append(_begun(lambda name=name, purpose=purpose: rehearse(name, purpose)))  # type: ignore[misc]
            _wait_for(turns, *[int(place + count >= 2) for place in range(3)])
        order.append("first trial")
    _ended(threads)
    assert order == ["first trial", "writer", "beside", "trial"]


def test_a_trial_stops_before_its_next_kernel_when_a_writer_comes() -> None:
    turns, order = RehearsalTurns(), Order()

    def write() -> None:
        with turns.turn(WAITED_FOR):
            order.append("writer")
            assert HERE.before_kernel is not None
            HERE.before_kernel()
            order.append("writer again")

    with turns.turn(SOME_TIME):
        assert HERE.before_kernel is not None
        HERE.before_kernel()
        order.append("trial")
        writer = _begun(write)
        _wait_for(turns, 1, 0, 0)
        HERE.before_kernel()
        order.append("trial again")
    _ended([writer])
    assert order == ["trial", "writer", "writer again", "trial again"]
    assert HERE.before_kernel is None


def test_a_writer_does_not_stop_for_anybody() -> None:
    turns, order = RehearsalTurns(), Order()

    def rehearse(purpose: int) -> None:
        with turns.turn(purpose):
            order.append("other")

    with turns.turn(WAITED_FOR):
        others = [_begun(lambda purpose=purpose: rehearse(purpose)) for purpose in range(3)]  # type: ignore[misc]
        _wait_for(turns, 1, 1, 1)
        assert HERE.before_kernel is not None
        HERE.before_kernel()
        order.append("first")
    _ended(others)
    assert order == ["first", "other", "other", "other"]


def test_a_rehearsal_that_fails_gives_its_turn_back() -> None:
    turns = RehearsalTurns()
    with pytest.raises(ZeroDivisionError), turns.turn(SOON):
        raise ZeroDivisionError
    with turns.turn(SOME_TIME):
        pass


def test_the_same_is_rehearsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_done", set())
    order = Order()
    for purpose in (SOME_TIME, WAITED_FOR):
        rehearsal.once(("what", "engine"), lambda: order.append("done"), purpose)
    assert order == ["done"]
