"""What `bench atree` measures: the A-Tree paper's workloads and sweeps (Table 3, Figs. 8 to 13), and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from matchwood.workloads.abegen import abegen
from matchwood.workloads.abegen_settings import AbeSettings
from matchwood.workloads.ads_arbitrary import ads_arbitrary
from matchwood.workloads.base import Workload

SEED = 7


class Size(NamedTuple):
    """How large a scale is.

    The ideas are measured on `rules` of ABE-Gen and `ideas` of the ads; all `ads` are measured with the plain engines.
    A sweep changes one setting of `swept` rules; where that makes rules larger, there are fewer of them, so that all
    rules together have at most `predicates`: 1,000,000 rules of depth 6 would have half a billion. `singles` rules are
    changed one by one, and an engine matches all events again and again for so many `seconds`.
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
    "smoke": Size(rules=300, ads=600, ideas=600, swept=40, predicates=500, events=30, singles=10, seconds=0.02),
    "quick": Size(
        rules=4_000, ads=10_000, ideas=10_000, swept=600, predicates=8_000, events=200, singles=200, seconds=0.4
    ),
    "full": Size(
        rules=30_000,
        ads=1_392_196,
        ideas=50_000,
        swept=10_000,
        predicates=200_000,
        events=200,
        singles=5_000,
        seconds=1,
    ),
    "paper": Size(
        rules=1_000_000,
        ads=1_392_196,
        ideas=300_000,
        swept=1_000_000,
        predicates=30_000_000,
        events=200,
        singles=20_000,
        seconds=1,
    ),
}

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

VARIANTS: dict[str, dict[str, bool]] = {
    "unique off": {"unique": False},
    "reorganise off": {"reorganise": False},
    "self_adjust off": {"self_adjust": False},
    "zero_suppression off": {"zero_suppression": False},
    "on_demand off": {"on_demand": False},
    "binary": {"binary": True},
}
"""Figs. 8 to 10: an A-Tree without one of its ideas, or with two children a node."""

PAPER_ADS: dict[str, dict[str, Any]] = {
    "atree": {"paper_us": 1_600, "paper_build_s": 2.9, "paper_mb": 205},
    "scan": {"paper_us": 529_100, "paper_build_s": None, "paper_mb": None},
}
"""Table 4, for 1,392,196 expressions in C on one core; its other rivals have no engine here."""


class Case(NamedTuple):
    """A workload to measure: which sweep it belongs to, and the value of the swept setting."""

    name: str
    workload: Workload
    sweep: str | None = None
    value: float | None = None
    variants: Mapping[str, Mapping[str, bool]] = {}


def main_cases(scale: str) -> Iterator[Case]:
    """The two workloads at their defaults."""
    size = SIZES[scale]
    yield Case("abegen", abegen(rules=size.rules, events=size.events, seed=SEED), variants=VARIANTS)
    yield Case("ads", _ads(size.ideas, size.events), variants=VARIANTS)
    if size.ads != size.ideas:
        yield Case("ads, all", _ads(size.ads, size.events))


def main_count(scale: str) -> int:
    return 2 + (SIZES[scale].ads != SIZES[scale].ideas)


def _ads(rules: int, events: int) -> Workload:
    return ads_arbitrary(rules=rules, events=events, matching=_matching(rules), seed=SEED)


def _matching(rules: int) -> float:
    """0.1%, and more where that would be less than two rules."""
    return max(0.001, 2 / rules)


def swept_cases(scale: str) -> Iterator[Case]:
    """Each sweep begins with the defaults."""
    yield _swept(scale, None, None)
    for name, values in SWEEPS[scale].items():
        for value in values:
            yield _swept(scale, name, value)


def swept_count(scale: str) -> int:
    return 1 + sum(map(len, SWEEPS[scale].values()))


def _swept(scale: str, name: str | None, value: Any) -> Case:
    size = SIZES[scale]
    changed = {} if name in (None, "rules") else {name: value}
    usual = AbeSettings(rules=1, **changed)
    rules = min(size.swept, int(size.predicates / usual.predicates))
    if name == "rules":
        rules = int(rules * value)
    workload = abegen(**{"rules": max(20, rules), "events": size.events, "seed": SEED, **changed})
    shown = workload.rules.count if name == "rules" else value
    label = "abegen, swept from here" if name is None else f"abegen, {name} {shown:,}"
    return Case(label, workload, name, shown)
