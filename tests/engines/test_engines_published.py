"""The option `as_published`: known to every engine, resolved to its other options, and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood.engines import engine_class, engine_names
from matchwood.engines.shared.published import resolved
from matchwood.errors import InvalidArgument


def test_options_are_those_given_without_it() -> None:
    assert resolved({"grid": 3}, {"grid": 80}, "hem") == {"grid": 3}
    assert resolved({"grid": 3, "as_published": False}, {"grid": 80}, "hem") == {"grid": 3}


def test_it_stands_for_the_options_of_the_paper() -> None:
    assert resolved({"as_published": True, "plan": "near"}, {"grid": 80}, "hem") == {"plan": "near", "grid": 80}
    assert resolved({"as_published": True, "grid": 80}, {"grid": 80}, "hem") == {"grid": 80}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"as_published": True, "grid": 3}, "'grid' of engine 'hem' is 80 as published .got 3.: leave out 'as_pub"),
        ({"as_published": 1}, "'as_published' of engine 'hem' must be True or False .got 1, an int"),
        ({"as_published": None}, "must be True or False"),
    ],
)
def test_a_contradiction_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        resolved(options, {"grid": 80}, "hem")


@pytest.mark.parametrize("engine", [*engine_names(), "oracle", "auto"])
def test_every_engine_knows_it_and_keeps_it(engine: str, tmp_path: Path) -> None:
    index = mw.Index(engine, options={"as_published": True})
    index["r"] = "a = 1 and b = 2"
    index.save(tmp_path / "saved")
    for each in (index, mw.open(tmp_path / "saved")):
        assert each.match({"a": 1, "b": 2}) == ["r"]
        assert each.stats()["options"]["as_published"] is True
    plain = mw.Index(engine)
    assert plain.stats()["options"]["as_published"] is False


@pytest.mark.parametrize("engine", engine_names())
def test_stats_show_what_it_stands_for(engine: str) -> None:
    published = engine_class(engine).published
    shown = mw.Index(engine, options={"as_published": True}).stats()["options"]
    assert {name: shown[name] for name in published} == published
    for name, value in published.items():
        if isinstance(value, bool):
            with pytest.raises(InvalidArgument, match=f"{name!r} of engine {engine!r} is {value} as published"):
                mw.Index(engine, options={"as_published": True, name: not value})
