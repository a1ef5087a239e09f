"""Engines by name."""

from __future__ import annotations

import pytest

from matchwood.engines import engine_class, engine_names, registry
from matchwood.engines.counting import Counting
from matchwood.engines.scan import Scan
from matchwood.errors import InvalidArgument


def test_names_lead_to_classes() -> None:
    assert engine_class("scan") is Scan
    assert engine_class("counting") is Counting
    assert {"scan", "counting", "atree", "hem", "kindex", "pstbloom", "psthash"} <= set(engine_names())


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    known = "atree, auto, betree, counting, hem, kindex, oracle, pstbloom, psthash, scan"
    with pytest.raises(InvalidArgument, match=rf"no engine 'sift' \(available: {known}"):
        engine_class("sift")


def test_what_is_known_of_an_engine_before_it_is_loaded_is_true_of_it() -> None:
    for name, place in registry._PLACES.items():
        engine = engine_class(name)
        assert (engine.name, engine.unit_kind) == (name, place.unit_kind)
        assert engine.published_spaces == place.published_spaces
