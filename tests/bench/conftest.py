"""The results of all experiments at the scale of the tests: each runs once, when the first test asks for it.

What needs no results, such as plans, sizes, rivals and answers that are refused, is tested every day for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from matchwood.bench.frame.setup import check_with_oracle
from matchwood.bench.own import parse, ranges, single
from matchwood.bench.registry import EXPERIMENTS, SMOKE
from matchwood.bench.spark import experiment as spark
from tests import forms
from tests.bench.watching import COARSE, MEASURING, Watch, watched
from tests.conftest import FORM, SOAK
from tests.forms import Form
from tests.spark.quick_session import SETTINGS

ON_SPARK = ("generate", "peers", "spark", "stream", "update")
"""Experiments that take the session that is there, or begin one."""


EVERY_DAY = ("parse", "core", "build", "locks", "access", "lint", "bandwidth", "memory")
"""Experiments that `make test` runs whole, since they take seconds; `make test-long` runs all others."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_day: the results that it asks for are those of experiments of every day")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for the results of an experiment takes as long as that does."""
    for item in items:
        if "results" in getattr(item, "fixturenames", ()) and not _is_of_every_day(item):
            item.add_marker(forms.MARK)


def _is_of_every_day(item: pytest.Item) -> bool:
    named = getattr(item, "callspec", None) and item.callspec.params.get("name")  # type: ignore[attr-defined]
    return named in EVERY_DAY or item.get_closest_marker("every_day") is not None


class Results(dict[str, dict[str, Any]]):
    """What each experiment returns, by name; `ranges` runs two of its four processes.

    In the short form `single` asks the oracle about four events instead of twenty, and a job on Spark runs once.
    """

    def __init__(self) -> None:
        self._watched: dict[str, Watch] = {}
        self._session: Any = None

    def __missing__(self, name: str) -> dict[str, Any]:
        assert FORM is not Form.SHORT or name in EVERY_DAY, f"a test that needs the experiment {name} is long"
        if name in ON_SPARK and not SOAK:
            self._session = self._session or _quick_session()
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(parse.SCALES, SMOKE, (200, 20))
            patch.setattr(ranges, "ENGINES", ("scan",))
            if not SOAK:
                patch.setattr(single, "check_with_oracle", partial(check_with_oracle, events=4))
                patch.setattr(spark, "ROUNDS", 1)
            if name in MEASURING:
                self._watched[name] = watched(patch, by_place=name in COARSE)
            self[name] = EXPERIMENTS[name].run(SMOKE)
        if name in self._watched:
            self._watched[name].forget()
        return self[name]

    def watched(self, name: str) -> Watch:
        """What engines and rivals were given while the experiment ran."""
        assert self[name]
        return self._watched[name]

    def end(self) -> None:
        if self._session is not None:
            self._session.stop()


def _quick_session() -> Any:
    """One for all experiments, which in the long form have their own, as users do."""
    from matchwood import spark as mws

    # Workers are forked from a process of the tests on Spark, which has imported and loaded what they need.
    room = str(Path(__file__).parent.parent / "spark")
    os.environ["PYTHONPATH"] = os.pathsep.join([room, os.environ.get("PYTHONPATH", "")])
    return mws.session(master="local[2]", spark_driver_memory="1g", **SETTINGS)


@pytest.fixture(scope="session")
def results() -> Iterator[Results]:
    found = Results()
    yield found
    found.end()
