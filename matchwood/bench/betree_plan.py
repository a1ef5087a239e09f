"""The workloads and the variants of `bench betree`: the BE-Tree paper's Tables III and IV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from matchwood.workloads.begen_settings import EXPRESSIVENESS

DISTRIBUTIONS = ("uniform", "zipf")

PROFILES: dict[str, tuple[dict[str, Any], ...]] = {
    "workload size": ({"rules": 100_000}, {"rules": 1_000_000}),
    "dimensions": tuple({"rules": 1_000_000, "dimensions": count} for count in (50, 400, 1_400)),
    "cardinality": tuple({"cardinality": count} for count in (48, 1_000, 150_000)),
    "predicate selectivity": tuple({"range_width": width} for width in (0.06, 0.25, 0.5)),
    "dimension selectivity": tuple({"cardinality": count, "expressiveness": "minimum"} for count in (2, 10)),
    "sizes": tuple({"rule_size": size, "event_size": event} for size, event in ((5, 13), (24, 37), (66, 81))),
    "equality": tuple({"rules": 1_000_000, "equality": share} for share in (0.2, 0.6, 1.0)),
    "matching": tuple({"rules": 1_000_000, "matching": share} for share in (0.0001, 0.1, 0.5)),
    "expressiveness": tuple({"expressiveness": level} for level in EXPRESSIVENESS),
    "Bloom filter": ({"rule_size": 5, "event_size": 7, "matching": 0.001},),
}
"""Table III, a column a profile, and the levels of Table IV; what a profile does not name is as in `COMMON`."""

COMMON: dict[str, Any] = {"rules": 100_000, "matching": 0.01, "seed": 7}

QUICK = ("workload size", "expressiveness", "Bloom filter")
SMOKE_PROFILES = ("Bloom filter",)

VARIANTS: dict[str, Mapping[str, Any]] = {
    "lazy": {"evaluation": "lazy"},
    "bitmap": {"evaluation": "bitmap"},
    "hybrid": {"evaluation": "hybrid"},
    "no blocks": {"blocks": False},
    "lazy, no blocks": {"evaluation": "lazy", "blocks": False},
    "bitmap, no blocks": {"evaluation": "bitmap", "blocks": False},
    "Bloom 16": {"bloom_bits": 16},
    "Bloom 32": {"bloom_bits": 32},
    "Bloom 64": {"bloom_bits": 64},
    "lazy, Bloom 32": {"evaluation": "lazy", "bloom_bits": 32},
    "Hy": {"equality_first": False},
    "Gen": {"directory": "generic"},
    "histogram": {"loss": "histogram"},
    "one by one": {"batch": False},
    "max_cap 20": {"max_cap": 20},
    "max_cap 160": {"max_cap": 160},
}
"""What the BE-Tree is measured with beside its defaults."""


class Scale(NamedTuple):
    """Of one scale: the most rules of a workload, events, seconds that an engine is measured for, rules that change."""

    most_rules: int
    events: int
    seconds: float
    dynamic_rules: int


SIZES = {
    "smoke": Scale(1_000, 20, 0.01, 400),
    "quick": Scale(100_000, 100, 0.2, 20_000),
    "full": Scale(1_000_000, 100, 0.5, 100_000),
    "paper": Scale(1_000_000, 100, 0.5, 100_000),
}

PAPER = {
    ("workload size", "uniform", 1_000_000): {"paper_build_s": 2.37, "paper_mb": 68},
    ("workload size", "zipf", 1_000_000): {"paper_build_s": 2.03, "paper_mb": 67},
}
"""Table VII: the dynamic tree, built in C on one core of 2007."""


class Case(NamedTuple):
    """One workload: its profile, its name, the settings of BEGen."""

    profile: str
    name: str
    settings: dict[str, Any]


def cases(scale: str) -> Iterator[Case]:
    """All workloads of a scale; those that its size makes equal occur once."""
    size, seen = SIZES[scale], set[str]()
    wanted = {"smoke": SMOKE_PROFILES, "quick": QUICK}.get(scale, tuple(PROFILES))
    for profile in wanted:
        for chosen in PROFILES[profile]:
            for distribution in DISTRIBUTIONS:
                settings = {**COMMON, **chosen, "distribution": distribution, "events": size.events}
                settings["rules"] = min(settings["rules"], size.most_rules)
                changed = ", ".join(f"{name}={value}" for name, value in chosen.items() if name != "rules")
                name = " ".join(filter(None, (distribution, f"{settings['rules']:,}", changed)))
                if name not in seen and not (scale == "smoke" and distribution == "zipf"):
                    seen.add(name)
                    yield Case(profile, name, settings)
