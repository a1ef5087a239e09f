"""The results of all experiments at the scale of the tests: each runs once, when the first test asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from matchwood.bench.own import parse, ranges
from matchwood.bench.registry import EXPERIMENTS, SMOKE


class Results(dict[str, dict[str, Any]]):
    """What each experiment returns, by name; `ranges` runs two of its four processes."""

    def __missing__(self, name: str) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(parse.SCALES, SMOKE, (200, 20))
            patch.setattr(ranges, "ENGINES", ("scan",))
            self[name] = EXPERIMENTS[name].run(SMOKE)
        return self[name]


@pytest.fixture(scope="session")
def results() -> Results:
    return Results()
