"""The workloads and the variants of `bench betree`: the BE-Tree paper's Tables III and IV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matchwood.bench.frame.rounds import drawn
from matchwood.workloads import EXPRESSIVENESS

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
    "Bloom filter": ({"rule_size": 5, "event_size": 7, "matching": 0.005},),
}
"""Table III, a column a profile, and the levels of Table IV; what a profile does not name is as in `COMMON`."""

COMMON: dict[str, Any] = {"rules": 100_000, "matching": 0.01, "seed": 7}

COMPARED = ("workload size", "Bloom filter")
"""Profiles on which all engines and the variants are measured; on the others the engines of SWEPT."""

SWEPT = ("scan", "counting", "pstbloom", "betree")
LARGE = ("scan", "counting", "pstbloom", "psthash", "betree")
"""Engines of the workloads that are larger than `ProfileScale.compared`."""

_STORE = {"evaluation": "plain", "blocks": False}

VARIANTS: dict[str, Mapping[str, Any]] = {
    "plain, no blocks": _STORE,
    "lazy, no blocks": {"evaluation": "lazy", "blocks": False},
    "bitmap, no blocks": {"evaluation": "bitmap", "blocks": False},
    "plain, no blocks, Bloom 32": {**_STORE, "bloom_bits": 32},
    "plain, no blocks, Bloom 64": {**_STORE, "bloom_bits": 64},
    "plain": {"evaluation": "plain"},
    "lazy": {"evaluation": "lazy"},
    "bitmap": {"evaluation": "bitmap"},
    "Bloom 32": {"bloom_bits": 32},
    "Hy": {"equality_first": False},
    "Gen": {"directory": "generic"},
    "histogram": {"loss": "histogram"},
    "one by one": {"batch": False},
    "max_cap 5": {"max_cap": 5},
    "max_cap 20": {"max_cap": 20},
    "max_cap 80": {"max_cap": 80},
    "max_cap 1280": {"max_cap": 1280},
}
"""What the BE-Tree is measured with beside its defaults."""

AS_PUBLISHED = "betree, as published"
"""The label of the paper's own tree, which is measured beside the default on every workload."""

BASELINE = "plain, no blocks"
GAINS = {
    "lazy, no blocks": 0.43,
    "bitmap, no blocks": 0.75,
    "plain, no blocks, Bloom 32": 0.70,
    "plain, no blocks, Bloom 64": 0.70,
    "plain": 0.70,
}
"""Variants that are compared with BASELINE, and what the paper's save at most; the others with the defaults."""


class ProfileScale(NamedTuple):
    """Of one scale: the most rules of a workload that is compared, of the largest, and of the others; events of a
    batch; seconds after which no further round begins; rules that change, that are searched with expressions, and of
    Ads."""

    compared: int
    most_rules: int
    swept: int
    events: int
    seconds: float
    dynamic_rules: int
    found_rules: int
    ads_rules: int


SIZES = {
    "smoke": ProfileScale(400, 400, 300, 10, 0.01, 400, 200, 1_000),
    "quick": ProfileScale(50_000, 50_000, 10_000, 100, 0.1, 5_000, 20_000, 100_000),
    "full": ProfileScale(100_000, 1_000_000, 30_000, 100, 0.2, 20_000, 100_000, 3_000_000),
    "paper": ProfileScale(100_000, 1_000_000, 1_000_000, 100, 0.5, 100_000, 100_000, 3_000_000),
}

PAPER: dict[tuple[str, str, int], dict[str, float]] = {
    ("workload size", "uniform", 1_000_000): {"paper_build_s": 49.68, "paper_mb": 63, "paper_one_by_one_s": 2.37},
    ("workload size", "zipf", 1_000_000): {"paper_build_s": 101.67, "paper_mb": 59, "paper_one_by_one_s": 2.03},
    ("Ads", "ads", 3_000_000): {"paper_us": 2_260, "paper_build_s": 13.7, "paper_mb": 393},
}
"""Tables VII and VIII, built in C on one core of 2007: the dynamic tree, and, in one sum, the tree of all rules at once
and its bitmap; of Ads what the PS-Tree paper prints (its Table 2)."""


class ProfileCase(NamedTuple):
    """One workload: its profile, its name, the settings of BEGen."""

    profile: str
    name: str
    settings: dict[str, Any]


def cases(scale: str) -> Iterator[ProfileCase]:
    """All workloads of a scale; those that its size makes equal occur once, and smoke has one of each profile."""
    size, seen = SIZES[scale], set[str]()
    for profile, choices in PROFILES.items():
        most = size.most_rules if profile in COMPARED else size.swept
        for chosen in choices[:1] if scale == "smoke" else choices:
            for distribution in DISTRIBUTIONS[:1] if scale == "smoke" else DISTRIBUTIONS:
                settings = {**COMMON, **chosen, "distribution": distribution, "events": drawn(size.events)}
                settings["rules"] = min(settings["rules"], most)
                settings["matching"] = max(settings["matching"], 10 / settings["rules"])
                changed = ", ".join(f"{name}={value}" for name, value in chosen.items() if name != "rules")
                name = " ".join(filter(None, (distribution, f"{settings['rules']:,}", changed)))
                if name not in seen:
                    seen.add(name)
                    yield ProfileCase(profile, name, settings)


Chosen = dict[str, tuple[str, Mapping[str, Any]]]


def engines_of(profile: str, rules: int, scale: str, everyone: Sequence[str]) -> Chosen:
    """What is measured on a workload: by label an engine and its options."""
    compared = profile in COMPARED and rules <= SIZES[scale].compared
    names = everyone if compared or profile == "q-grams" else LARGE if profile in (*COMPARED, "Ads") else SWEPT
    chosen: Chosen = {name: (name, {}) for name in names}
    chosen[AS_PUBLISHED] = ("betree", {"as_published": True})
    if compared:
        chosen |= {f"betree, {name}": ("betree", options) for name, options in VARIANTS.items()}
    return chosen
