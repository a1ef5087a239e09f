"""The engine of `engines/README.md`, taken from its text, keeps the contract."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import matchwood
from matchwood.engines import ConjunctionStore, registered
from matchwood.errors import CorruptSnapshot, InvalidArgument
from tests.contract.test_contract_basics import *  # noqa: F403 - its tests run here with the engine below
from tests.contract.test_contract_snapshots import *  # noqa: F403

README = Path(matchwood.__file__).parent / "engines" / "README.md"
MOST_LINES = 60


def code() -> str:
    (block,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    return str(block)


@pytest.fixture(scope="module")
def by_attribute(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("readme") / "byattribute.py"
    path.write_text(code())
    spec = importlib.util.spec_from_file_location("byattribute", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ByAttribute


@pytest.fixture
def engine(by_attribute: Any) -> Iterator[str]:
    with registered(by_attribute):
        yield by_attribute.name


def test_it_is_short_and_imports_nothing_private() -> None:
    assert len(code().splitlines()) <= MOST_LINES
    modules = re.findall(r"^from (matchwood[\w.]*) import (.*)$", code(), re.MULTILINE)
    assert modules
    assert not [each for module, names in modules for each in (*module.split("."), names) if each.startswith("_")]


def test_it_answers_by_its_own_state(engine: str) -> None:
    index = matchwood.Index(engine=engine)
    index.update({"a": "x = 1", "b": "y = 1 and x = 1", "c": "z is null"})
    assert index.match({"x": 1}) == ["a", "c"]
    assert index.stats()["engine"] == "byattribute"


def test_damage_is_refused(by_attribute: Any) -> None:
    damaged = by_attribute(ConjunctionStore())
    damaged.restore({"needed": np.array([7], np.int32)}, {})
    with pytest.raises(CorruptSnapshot, match="'needed' has 1 elements"):
        damaged.check()
    with pytest.raises(CorruptSnapshot, match="'needed' must be one-dimensional int32"):
        damaged.restore({"needed": np.array([7], np.int64)}, {})


def test_it_is_known_only_while_it_is_registered(by_attribute: Any) -> None:
    with (
        registered(by_attribute),
        pytest.raises(InvalidArgument, match="'byattribute' is taken"),
        registered(by_attribute),
    ):
        pass
    with pytest.raises(InvalidArgument, match="no engine 'byattribute'"):
        matchwood.Index(engine="byattribute")
