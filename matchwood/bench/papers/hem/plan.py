"""What `bench hem` measures: the HEM paper's Table 1 and Figs. 5 to 10, and what the paper says of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from matchwood.bench.frame.parts import FigurePlace, swept
from matchwood.bench.frame.rounds import drawn
from matchwood.workloads import Intervals, hem

SEED = 7


class IntervalScale(NamedTuple):
    """How large a scale is.

    `rules` are swept as multiples of the usual number; `deleted` rules are taken out again; a structure matches
    batches of `events`, and begins none after so many `seconds`; a rival that would have more than `copies` entries is
    left out.
    """

    rules: int
    events: int
    deleted: int
    seconds: float
    copies: int


SIZES = {
    "smoke": IntervalScale(rules=400, events=12, deleted=50, seconds=0.001, copies=10**6),
    "quick": IntervalScale(rules=50_000, events=60, deleted=1_000, seconds=0.2, copies=6 * 10**7),
    "full": IntervalScale(rules=200_000, events=100, deleted=2_000, seconds=0.5, copies=16 * 10**7),
    "paper": IntervalScale(rules=900_000, events=500, deleted=2_000, seconds=1.0, copies=16 * 10**7),
}

_ENDS: dict[str, tuple[float, ...]] = {
    "rules": (0.2, 2),
    "attributes": (3, 17),
    "width": (0.05, 0.2, 0.8),
}
_TABLE_1: dict[str, tuple[float, ...]] = {
    "rules": (1 / 9, 5 / 9, 13 / 9, 17 / 9),
    "attributes": (3, 5, 7, 13, 17),
    "width": (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8),
}
SWEEPS: dict[str, dict[str, tuple[float, ...]]] = {
    "smoke": {"width": (0.2,)},
    "quick": _ENDS,
    "full": _TABLE_1,
    "paper": _TABLE_1,
}
"""Figs. 5, 6 and 7 without the usual values, which are measured once for all; `rules` as multiples of what is usual."""

GRIDS = {
    "smoke": (4, 80),
    "quick": (10, 20, 40, 80, 160, 320),
    "full": (10, 20, 40, 80, 160, 320),
    "paper": (10, 20, 40, 80, 160, 320),
}

OWN, AS_PUBLISHED = "hem, shorter sides, masks kept", "hem, as published"
VARIANTS: dict[str, dict[str, Any]] = {
    OWN: {"unions": "never"},
    "hem, unions": {"unions": "always"},
    AS_PUBLISHED: {"as_published": True},
    "hem, triangles": {"plan": "triangle"},
    "hem, optimum": {"plan": "optimum"},
}
"""What is ours is named for what it adds to the paper: triangles by their shorter sides, and the unions that the
default takes in their place where that costs less. Fig. 10 is the former beside `hem, optimum`."""

PAPER: dict[str, dict[str, Any]] = {
    AS_PUBLISHED: {"paper_us_per_insert": 0.67, "paper_us_per_delete": 1.2},
    "TAMA": {"paper_share": 0.1653, "paper_us_per_insert": 35.8, "paper_us_per_delete": 23.2},
    "H-TREE": {"paper_share": 0.3507, "paper_us_per_insert": 64.1, "paper_us_per_delete": 34.2},
    "REIN": {"paper_share": 0.5078, "paper_us_per_insert": 3.9, "paper_us_per_delete": 5.4},
}
"""HEM's time as a share of each rival's, on average over Fig. 5, and the microseconds of Figs. 8 and 9, in Java."""


class IntervalCase(NamedTuple):
    """A workload to measure: its name, how it is made, its places in the paper's figures, sizes of the grid to try."""

    name: str
    generate: Callable[[], Intervals]
    places: tuple[FigurePlace, ...]
    grids: tuple[int, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.generate.keywords) if isinstance(self.generate, partial) else {}


def cases(scale: str) -> list[IntervalCase]:
    """The usual settings, which every sweep has in common, then one changed at a time."""
    usual = {"rules": SIZES[scale].rules, "attributes": 10, "width": 0.5}
    places = swept(usual, SWEEPS[scale])
    found = [IntervalCase("10 attributes, width 0.5", partial(hem, **_settings(scale)), places, GRIDS[scale])]
    for name, values in SWEEPS[scale].items():
        for value in values:
            chosen = int(value * SIZES[scale].rules) if name == "rules" else value
            settings = {**_settings(scale), name: chosen}
            found.append(
                IntervalCase(f"{name} {chosen:,}", partial(hem, **settings), (FigurePlace(name, name, chosen),))
            )
    return found


def _settings(scale: str) -> dict[str, Any]:
    return {"rules": SIZES[scale].rules, "events": drawn(SIZES[scale].events), "seed": SEED}
