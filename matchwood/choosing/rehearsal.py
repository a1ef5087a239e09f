"""Small lives of indexes, which call the kernels of an engine before an index that others wait for does.

Whatever a kernel still needs, loading or compiling, is done on an index that nobody else knows. So no lock of a real
one is held meanwhile: neither when a second thread begins to use an index, nor by a trial.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numba
import pyarrow as pa

from matchwood.choosing.auto import AutoMatcher
from matchwood.choosing.features import features_of
from matchwood.choosing.trial import Trial
from matchwood.core import BESIDE, before_kernels
from matchwood.engines import ALWAYS_UNITE, NEVER_UNITE, Workspace
from matchwood.errors import MatchwoodError
from matchwood.matching import LEAST_COMPILED, SampleShares

if TYPE_CHECKING:
    from matchwood.index import Index

RULES, EVENTS = 600, 96
"""Enough for long lists, cuts and clusters; and for the sample that a trial needs."""

SIMPLE = 8
"""Shapes of rules that stand in an engine's own part: the others have too many conjunctions."""

IN_COLUMNS = (0, 1, 2, 3, 4, 6, 7)
"""Shapes that every engine over conjunctions reads as columns."""

_done: set[tuple[str, ...]] = set()
"""What has been rehearsed in this process."""


WAITED_FOR, SOON, SOME_TIME = range(3)
"""What a rehearsal is for: somebody waits for it; calls that are interpreted until then; a trial that may come."""


class RehearsalTurns:
    """One rehearsal at a time: two would compile in turns, and share the interpreter lock with all who match.

    The one that is wanted most goes first. Another that is under way stops before its next kernel, and goes on after.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Nobody has the turn, nobody waits: as in a process that was just forked."""
        self._turn = threading.Condition()
        self._waiting = [0, 0, 0]
        """How many wait, by what they are for."""
        self._is_taken = False

    @contextlib.contextmanager
    def turn(self, purpose: int) -> Iterator[None]:
        """The turn of one rehearsal."""
        self._take(purpose)
        try:
            with before_kernels(functools.partial(self._let_others_go_first, purpose)):
                yield
        finally:
            self._give_up()

    def _take(self, purpose: int) -> None:
        with self._turn:
            self._waiting[purpose] += 1
            try:
                self._turn.wait_for(lambda: not self._is_taken and not any(self._waiting[:purpose]))
            finally:
                self._waiting[purpose] -= 1
            self._is_taken = True

    def _give_up(self) -> None:
        with self._turn:
            self._is_taken = False
            self._turn.notify_all()

    def _let_others_go_first(self, purpose: int) -> None:
        if any(self._waiting[:purpose]):
            self._give_up()
            self._take(purpose)


_TURNS = RehearsalTurns()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_TURNS.begin_anew)


def once(key: tuple[str, ...], rehearse: Callable[[], None], purpose: int = WAITED_FOR) -> None:
    """Rehearse something, unless this process has; whoever asks for the same meanwhile waits."""
    if key in _done or numba.config.DISABLE_JIT:
        return
    with _TURNS.turn(purpose):
        if key not in _done:
            # Options may refuse a rule of ours: what was to be loaded until then is, and nobody asked for the rule.
            with contextlib.suppress(MatchwoodError):
                rehearse()
            _done.add(key)


def get_ready(index: Index, what: str | None = None, beside: bool | None = None) -> None:
    """Have what a call needs compiled or loaded before it takes a lock, if several threads use the index.

    `what`    one of `REHEARSALS`; None for a call that leaves its turn for what is missing (`core/turns.py`)
    `beside`  do not wait for it: what is not there yet is interpreted; by default, if the index is small
    """
    if index._only_user is None:
        index._only_user = threading.get_ident()
    if not index._shared:
        if index._only_user == threading.get_ident():
            return
        index._shared = True
    if isinstance(index._matcher, AutoMatcher):
        index._matcher.shared = True
    if what is None or what in index._rehearsed or index._read_only or index._rehearses:
        return
    if index._lock.is_reading():
        return
    engine, spaces = index._matcher.setting, index._encoder.vocabulary.spaces.name
    if engine != "oracle":
        key = (what, engine, repr(sorted(index._options.items())), spaces)
        rehearsed = functools.partial(once, key, lambda: REHEARSALS[what](index._rehearsal(engine)))
        if key not in _done and (index._little_turn is not None if beside is None else beside):
            BESIDE.ask(key, functools.partial(rehearsed, SOON))
            return
        rehearsed()
    index._rehearsed |= {what}


def rule(number: int) -> str:
    """One of ten shapes: all types and operators, conjunctions, disjunctions, clauses and expressions."""
    few, some, day = number % 3, number % 50, f"2026-01-{1 + number % 28:02d}"
    shapes = (
        f"n = {few} and x between {some} and {some + 20}",
        f"n = {some} and s in ('a{few}', 'b') and x < {number / 3}",
        f"x >= {number / 7} and v and n between {number} and {number + 9}",
        f"s like 'a{some}%' and n != {few}",
        f"tags one of ('t{few}', 'u') and m.k = {few}",
        f"(n = {some} or s = 'a{few}') and (x > {some} or v)",
        f"t >= timestamp '{day}' or d < date '{day}'",
        f"s is null or n > {number}",
        " and ".join(f"(p{place} = {few} or q{place} = {some})" for place in range(10)),
        " xor ".join(f"p{place} = {few + place % 2}" for place in range(12)),
    )
    return shapes[number % len(shapes)]


def event(number: int) -> dict[str, Any]:
    """An event with a value of every type."""
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number % 40)
    found: dict[str, Any] = {"n": number % 60, "x": number / 2, "v": number % 2 == 0, "s": f"a{number % 9}"}
    found |= {"t": moment, "d": date(2026, 1, 1 + number % 28), "tags": [f"t{number % 4}"], "m": {"k": number % 3}}
    return found | {f"p{place}": number % 3 for place in range(12)} | {"q1": number % 50}


def rehearse_changes(index: Any, identity: Callable[[int], Any] = str) -> None:
    """All that a service does to an index: rules come and go, alone and many at once, while events are matched."""
    _insert(index, identity)
    rehearse_matching(index)
    for number in range(RULES, RULES + 20):
        index[identity(number)] = rule(number)
        index[identity(number)] = rule(number + 1)
        index.match(event(number))
    for number in range(0, RULES, 37):
        del index[identity(number)]
    rehearse_matching(index)
    _rehearse_unions(index)
    with index._changing(), index._storing():
        index._matcher.reconsider()
    index.compact()
    index.match(event(1))


def rehearse_loading(index: Any, identity: Callable[[int], Any] = str) -> None:
    """A load that is large enough to be read as columns, once into an empty index and once into one with rules."""
    simple = [number for number in range(3 * LEAST_COMPILED) if number % 10 in IN_COLUMNS]
    for place in (0, LEAST_COMPILED):
        index.insert_many({identity(number): rule(number) for number in simple[place : place + LEAST_COMPILED]})
    index.match(event(1))


def rehearse_reading(index: Any) -> None:
    """What threads do that only match: the index has no rules yet."""
    _insert(index, str)
    rehearse_matching(index)
    _rehearse_unions(index)


def _insert(index: Any, identity: Callable[[int], Any]) -> None:
    """All shapes of rules; before some stand beside the first part, one event goes its short way."""
    for beside in (False, True):
        index.insert_many({identity(number): rule(number) for number in range(RULES) if _is_beside(number) == beside})
        index.match(event(0))


def _is_beside(number: int) -> bool:
    return number % 10 >= SIMPLE


def rehearse_matching(index: Any) -> None:
    """Events one by one and many at once, as dicts and as columns."""
    events = [event(number) for number in range(EVENTS)]
    index.match(events[0])
    index.match_many(events)
    columns = pa.Table.from_pylist(events)
    index.match_many(columns)
    index.match_many(columns.select(["n", "x", "v", "p0"]))


def _rehearse_unions(index: Any) -> None:
    """Unions of runs of spaces, which are not worth it for so few rules and events."""
    engine = index._matcher.engine
    if engine.unites and engine.settings["unions"] != NEVER_UNITE:
        united: Any = type(engine)(engine.store, {**engine.settings, "unions": ALWAYS_UNITE})
        united.rebuild()
        united.match(index._matcher.ledger.sample.frozen(), 0, Workspace())


def rehearse_ranking(index: Any, identity: Callable[[int], Any] = str) -> None:
    """The best rules, by weights of rules and of events."""
    weights = {"weight": 2.0, "weights": {"n": 0.5, "s": {"a1": 3.0}}}
    index.insert_many([(identity(number), rule(number), weights) for number in range(RULES)])
    index.top(event(1), 3)
    index.top_many([event(number) for number in range(EVENTS)], 3, weights={"n": 2.0})
    index[identity(0)] = rule(1)
    del index[identity(1)]
    index.top(event(2), 3)
    _rehearse_unions(index)


REHEARSALS: dict[str, Callable[[Any], None]] = {
    "changes": rehearse_changes,
    "loading": rehearse_loading,
    "ranking": rehearse_ranking,
    "reading": rehearse_reading,
}
"""By what a call does."""


def rehearse_features(index: Any) -> None:
    """What `auto` looks at before a trial; the index has none of its own."""
    rehearse_reading(index)
    matcher: AutoMatcher = index._matcher
    for history in (None, SampleShares(matcher.ledger.sample.frozen())):
        features_of(matcher.parts[0].store, history)


def rehearse_trial(index: Any, name: str, options: Mapping[str, Any]) -> None:
    """A trial of one engine and all that follows when it is taken; the index chooses, and has no rules yet."""
    rehearse_features(index)
    matcher: AutoMatcher = index._matcher
    trial = Trial(matcher.parts[0].store.copy(), matcher.ledger.sample.frozen(), (name,), options, matcher.epoch)
    for number in range(0, RULES, 97):
        del index[str(number)]
        index[f"new {number}"] = f"{rule(number)} or n = {number}"
    best = trial.run(matcher.match_now(trial, index._lock.reading))
    if best is not None:
        trial.catch_up(best, matcher.parts[0].store)
        matcher.adopt(best)
        for number in range(1, 20):
            index[str(number)] = rule(number + 1)
            index.match(event(number))
            del index[str(number)]
        rehearse_matching(index)
        _rehearse_unions(index)
