"""Every option of every engine is tried; one that nobody has values for fails here."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import matchwood as mw
from matchwood.engines import engine_class, engine_names
from tests.contract import engines as contract
from tests.fuzz.options import (
    ENGINES,
    PUBLISHED,
    NoValues,
    agreeing,
    configurations,
    options_of,
    pairs,
    tried,
    values_of,
)
from tests.fuzz.running import Setup
from tests.fuzz.worlds import world

OPTIONS = [(engine, option) for engine in engine_names() for option in options_of(engine)]


def test_all_engines_are_fuzzed() -> None:
    assert sorted(ENGINES) == sorted(contract.ENGINES)


@pytest.mark.parametrize(("engine", "option"), OPTIONS)
def test_every_option_has_values_and_the_engine_takes_them(engine: str, option: str) -> None:
    values = values_of(engine, option)
    assert len({repr(value) for value in values}) > 1
    assert any(value != engine_class(engine).options.get(option, False) for value in values)
    for value in values:
        options = Setup(engine, agreeing(engine, {option: value})).for_world(world("options", 0))
        assert mw.Index(engine, options=options).engine == engine


def test_an_option_without_values_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_class("scan"), "options", {"stride": 4})
    with pytest.raises(NoValues, match="option 'stride' of engine 'scan' has no values to try: add them to VALUES"):
        next(configurations("scan", 0))


def test_a_flag_needs_no_values_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_class("scan"), "options", {"eager": False})
    drawn = itertools.islice(configurations("scan", 0), 20)
    assert {options.get("eager") for options in drawn} == {None, False, True}


@pytest.mark.long(4)
@pytest.mark.parametrize("engine", engine_names())
def test_configurations_soon_cover_every_value(engine: str) -> None:
    covered: set[Any] = set()
    for options in itertools.islice(configurations(engine, 1), 60):
        covered |= pairs(options)
    wanted = {(option, repr(value)) for option, values in tried(engine).items() for value in values}
    assert wanted - covered <= {(PUBLISHED, "False")}


def test_pairs_of_values_are_covered() -> None:
    """All of them but what contradicts itself: only posting lists can be compressed, or read without short cuts."""
    covered: set[Any] = set()
    for options in itertools.islice(configurations("kindex", 1), 80):
        covered |= pairs(options)
    lists = {name: values for name, values in tried("kindex").items() if name != PUBLISHED}
    every = {
        pair for chosen in itertools.product(*lists.values()) for pair in pairs(dict(zip(lists, chosen, strict=True)))
    }
    contradicting = {(("compressed", "True"), ("direct", "True")), (("direct", "True"), ("shortcuts", "False"))}
    assert every - covered == contradicting & every
