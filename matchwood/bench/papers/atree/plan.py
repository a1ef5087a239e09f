"""What `bench atree` measures: the A-Tree paper's workloads and sweeps (Table 3, Figs. 8 to 13), and its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from matchwood.bench.frame.parts import FigurePlace, swept
from matchwood.bench.frame.rounds import drawn
from matchwood.workloads import AbeSettings, Workload, abegen, ads_arbitrary

SEED = 7


class TreeScale(NamedTuple):
    """How large a scale is.

    The ideas are measured on `rules` of ABE-Gen and `ideas` of the ads, all `ads` with the plain engines alone. A sweep
    changes one setting of `swept` rules; where that makes rules larger, there are fewer of them, so that all
    rules together have at most `predicates`: 1,000,000 rules of depth 6 would have half a billion. `singles` rules are
    changed one by one; an engine matches batches of `events`, and begins none after so many `seconds`.
    """

    rules: int
    ads: int
    ideas: int
    swept: int
    predicates: int
    events: int
    singles: int
    seconds: float


SIZES = {
    "smoke": TreeScale(rules=150, ads=300, ideas=300, swept=40, predicates=500, events=30, singles=10, seconds=0.02),
    "quick": TreeScale(
        rules=4_000, ads=10_000, ideas=10_000, swept=600, predicates=8_000, events=200, singles=200, seconds=0.4
    ),
    "full": TreeScale(
        rules=10_000, ads=1_392_196, ideas=50_000, swept=3_000, predicates=60_000, events=200, singles=2_000,
        seconds=1,
    ),
    "paper": TreeScale(
        rules=1_000_000, ads=1_392_196, ideas=300_000, swept=1_000_000, predicates=30_000_000, events=200,
        singles=20_000, seconds=1,
    ),
}  # fmt: skip

_TABLE_3: dict[str, tuple[Any, ...]] = {
    "rules": (0.1, 0.3, 3, 10),
    "depth": (1, 2, 4, 5, 6),
    "children": (2, 6, 8, 10, 12),
    "alpha": (0.0, 0.2, 0.4, 0.8, 1.0),
    "dimensions": (30, 100, 300, 3_000, 10_000),
    "cardinality": (3, 10, 30, 300, 1_000),
    "event_size": (5, 10, 15, 25, 30),
    "dimension_alpha": (0.0, 0.3, 1.0),
}
"""Table 3 without its defaults, which are measured once for all; `rules` as multiples of what is usual."""

_ENDS: dict[str, tuple[Any, ...]] = {
    "rules": (0.3, 3),
    "depth": (1, 2, 4),
    "children": (2, 8),
    "alpha": (0.0, 1.0),
    "dimensions": (100, 10_000),
    "cardinality": (10, 1_000),
    "event_size": (5, 30),
}
SWEEPS = {"smoke": {"depth": (1,), "alpha": (0.0,)}, "quick": _ENDS, "full": _TABLE_3, "paper": _TABLE_3}

OWN = "atree, rarest access child, bounded search"
"""How rows name our default: for what it does, and not for the paper."""

AS_PUBLISHED: dict[str, dict[str, bool]] = {"as published": {"as_published": True}}
VARIANTS: dict[str, dict[str, bool]] = {
    **AS_PUBLISHED,
    "unique off": {"unique": False},
    "reorganise off": {"reorganise": False},
    "self_adjust off": {"self_adjust": False},
    "zero_suppression off": {"zero_suppression": False},
    "on_demand off": {"on_demand": False},
    "binary": {"binary": True},
}
"""As published; and Figs. 8 to 10: an A-Tree without one of its ideas, or with two children a node."""

PAPER_ADS: dict[str, dict[str, Any]] = {
    "atree, as published": {"paper_us": 1_600, "paper_build_s": 2.9, "paper_mb": 205},
    "scan": {"paper_us": 529_100, "paper_build_s": None, "paper_mb": None},
}
"""Table 4, for 1,392,196 expressions in C on one core; its other rivals have no engine here."""


class TreeCase(NamedTuple):
    """A workload to measure: its name, how it is made, its places in the paper's figures."""

    name: str
    generate: Callable[[], Workload]
    places: tuple[FigurePlace, ...]
    variants: Mapping[str, Mapping[str, bool]] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.generate.keywords) if isinstance(self.generate, partial) else {}


def main_cases(scale: str) -> list[TreeCase]:
    """The two workloads at their defaults."""
    size = SIZES[scale]
    settings = {"rules": size.rules, "events": drawn(size.events), "seed": SEED}
    found = [
        TreeCase("abegen", partial(abegen, **settings), (FigurePlace("abegen"),), VARIANTS),
        TreeCase("ads", _ads(size.ideas, size.events), (FigurePlace("ads"),), VARIANTS),
    ]
    if size.ads != size.ideas:
        found.append(TreeCase("ads, all", _ads(size.ads, size.events), (FigurePlace("ads"),), AS_PUBLISHED))
    return found


def _ads(rules: int, events: int) -> Callable[[], Workload]:
    return partial(ads_arbitrary, rules=rules, events=drawn(events), matching=_matching(rules), seed=SEED)


def _matching(rules: int) -> float:
    """0.1%, and more where that would be less than two rules."""
    return max(0.001, 2 / rules)


def swept_cases(scale: str) -> list[TreeCase]:
    """The defaults, which every sweep has in common, then one setting changed at a time."""
    rules, usual = _swept_rules(scale, {}), vars(AbeSettings())
    places = swept({**usual, "rules": rules}, SWEEPS[scale])
    found = [TreeCase("abegen, swept from here", partial(abegen, **_settings(scale, rules, {})), places)]
    for name, values in SWEEPS[scale].items():
        for value in values:
            found.append(_swept(scale, name, value))
    return found


def _swept(scale: str, name: str, value: Any) -> TreeCase:
    changed = {} if name == "rules" else {name: value}
    rules = _swept_rules(scale, changed)
    if name == "rules":
        rules = value = max(20, int(rules * value))
    settings = _settings(scale, rules, changed)
    return TreeCase(f"abegen, {name} {value:,}", partial(abegen, **settings), (FigurePlace(name, name, value),))


def _swept_rules(scale: str, changed: dict[str, Any]) -> int:
    size, usual = SIZES[scale], AbeSettings(rules=1, **changed)
    return max(20, min(size.swept, int(size.predicates / usual.predicates)))


def _settings(scale: str, rules: int, changed: dict[str, Any]) -> dict[str, Any]:
    return {"rules": rules, "events": drawn(SIZES[scale].events), "seed": SEED, **changed}
