"""The results of all experiments at the scale of the tests: each runs once, when the first test asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.own import parse, ranges
from matchwood.bench.registry import EXPERIMENTS, SMOKE
from tests.bench.watching import COARSE, MEASURING, Watch, watched


class Results(dict[str, dict[str, Any]]):
    """What each experiment returns, by name; `ranges` runs two of its four processes."""

    def __init__(self) -> None:
        self._watched: dict[str, Watch] = {}

    def __missing__(self, name: str) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(parse.SCALES, SMOKE, (200, 20))
            patch.setattr(ranges, "ENGINES", ("scan",))
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


@pytest.fixture(scope="session")
def results() -> Results:
    return Results()
