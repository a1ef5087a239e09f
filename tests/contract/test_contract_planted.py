"""The suite is worth something only if it fails when it should: bugs planted in every engine are found."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import matchwood.matching.oracle_matcher as reference
from matchwood.choosing.auto import AutoMatcher
from matchwood.encoding import Encoder
from matchwood.encoding.codes import EncodedConjunctions
from matchwood.encoding.rules.binding import Binder
from matchwood.engines import engine_class
from matchwood.engines.atree.leaves import LeafLists
from matchwood.engines.base import Hits
from matchwood.language.tree import Predicate
from matchwood.rules import RuleRows
from tests.conftest import SOAK
from tests.contract.engines import ENGINES
from tests.contract.restless import TURNS, make_restless
from tests.contract.twin import Twin, script

Patch = pytest.MonkeyPatch
STEPS = 40 if SOAK else 24
"""Of the life in which bugs are found, and none without them."""


def _lost(hits: Hits) -> Hits:
    """Without the last hit of the call."""
    offsets = hits.offsets.copy()
    offsets[offsets == offsets[-1]] = max(0, offsets[-1] - 1)
    return hits._replace(offsets=offsets, units=hits.units[:-1])


def _lost_row(found: RuleRows) -> RuleRows:
    """Without the last rule of an event."""
    return found._replace(offsets=np.minimum(found.offsets, max(0, len(found.rows) - 1)), rows=found.rows[:-1])


def _invented(hits: Hits) -> Hits:
    """With unit 0 as a hit of the first event, if it is none."""
    if 0 in hits.units[: hits.offsets[1]]:
        return hits
    return hits._replace(offsets=hits.offsets + (np.arange(len(hits.offsets)) > 0), units=np.insert(hits.units, 0, 0))


def _wrap(patch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace a method by one that is given the original first."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **options: change(original, *args, **options))


def _closed(original: Callable[..., Any], binder: Binder, predicate: Predicate) -> Any:
    """An open bound taken for a closed one."""
    taken = Predicate(predicate.attr, "<=", predicate.value) if predicate.op == "<" else predicate
    return original(binder, taken)


def _without_null(original: Callable[..., Any], *args: Any, **options: Any) -> EncodedConjunctions:
    """The bit `accepts NULL` forgotten."""
    encoded: EncodedConjunctions = original(*args, **options)
    return encoded._replace(accepts_null=np.zeros_like(encoded.accepts_null))


def _not_indexed(patch: Patch, kind: Any) -> None:
    """The last of many units forgotten, or, where units are whole expressions, the last of many leaves."""
    if kind.unit_kind == "conjunctions":
        _wrap(patch, kind, "insert", lambda insert, self, units: insert(self, units[:-1] if len(units) > 1 else units))
    else:
        _wrap(
            patch,
            LeafLists,
            "add",
            lambda add, *args: add(*args[:-1], args[-1][:-1] if len(args[-1]) > 1 else args[-1]),
        )


COMPILED: dict[str, Callable[[Patch, Any], None]] = {
    "a hit is lost": lambda patch, kind: _wrap(patch, kind, "match", lambda match, *args: _lost(match(*args))),
    "a hit is invented": lambda patch, kind: _wrap(patch, kind, "match", lambda match, *args: _invented(match(*args))),
    "a unit is not indexed": _not_indexed,
    "an open bound is closed": lambda patch, kind: _wrap(patch, Binder, "bind", _closed),
    "NULL is not accepted": lambda patch, kind: _wrap(patch, Encoder, "_encode", _without_null),
}
ORACLE: dict[str, Callable[[Patch, Any], None]] = {
    "a hit is lost": lambda patch, kind: _wrap(patch, kind, "rows_of", lambda rows, *args: _lost_row(rows(*args))),
    "NULL counts as true": lambda patch, kind: patch.setattr(reference, "evaluate", _null_is_true),
}
_evaluate = reference.evaluate


def _null_is_true(*args: Any) -> bool:
    return _evaluate(*args) is not False


def _bugs() -> Mapping[str, tuple[str, str]]:
    named = [(engine, bug) for engine in ENGINES for bug in (ORACLE if engine == "oracle" else COMPILED)]
    return {f"{engine}: {bug}": (engine, bug) for engine, bug in named}


@pytest.mark.parametrize("planted", _bugs().values(), ids=_bugs().keys())
def test_a_planted_bug_is_found(planted: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, bug = planted
    if engine == "oracle":
        ORACLE[bug](monkeypatch, reference.OracleMatcher)
    elif engine == "auto":
        # In every engine that gets a turn: how long a trial took decides which of them matches what.
        make_restless(monkeypatch)
        for name in TURNS:
            COMPILED[bug](monkeypatch, engine_class(name))
    else:
        COMPILED[bug](monkeypatch, engine_class(engine))
    with pytest.raises(AssertionError):
        script(Twin(engine), random.Random("planted"), STEPS)


def test_without_a_bug_none_is_found(engines: list[str]) -> None:
    for engine in engines:
        assert script(Twin(engine), random.Random("planted"), STEPS) > (100 if SOAK else 50)


def test_engines_change_in_the_middle_of_a_life(monkeypatch: pytest.MonkeyPatch) -> None:
    make_restless(monkeypatch)
    seen: set[str] = set()
    _wrap(monkeypatch, AutoMatcher, "adopt", lambda adopt, self, built: (adopt(self, built), seen.add(self.name)))
    twin = Twin("auto")
    script(twin, random.Random("planted"), STEPS)
    assert seen >= set(TURNS)
    assert twin.index.stats()["choice"]["changes"] > len(TURNS)


def test_the_checker_tells_order_apart() -> None:
    twin = Twin(ENGINES[0])
    for rule_id in ("b", "a"):
        twin.put(rule_id, "true")
    twin.rules = {"a": twin.rules["a"], "b": twin.rules["b"]}
    with pytest.raises(AssertionError):
        twin.check([{}])
