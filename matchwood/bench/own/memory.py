"""What each byte of an index is for that has the default engine: the columns of its store and engine, by purpose.

A row has the bytes of one purpose, and the last row of a workload has them all: the `bytes` of `frame/memory.py`. A
column that no purpose names is an error, and so is a sum that differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from matchwood.bench.frame.measure import WrongAnswer
from matchwood.bench.frame.memory import bytes_of_index
from matchwood.bench.frame.parts import ExperimentPart, FigurePlace
from matchwood.bench.frame.setup import check_with_brute_force, check_with_oracle, prepare
from matchwood.bench.frame.setup import warm_up as warm_up_engines
from matchwood.engines import engine_class
from matchwood.matching import EngineMatcher
from matchwood.workloads import Workload, ads, begen

ENGINE = "pstbloom"
"""The engine that `auto` starts with."""

ALONE, ALONE_OPTIONS = "pstbloom, units alone", {"side_by_side": False}
"""The same for who has more time than memory: lists of units, which are verified from the store."""

RULES = {"smoke": 2_000, "quick": 100_000, "full": 1_000_000, "paper": 1_000_000}

STORE: Mapping[str, tuple[str, ...]] = {
    "constraints of rules, 4 bytes each": ("words",),
    "where the constraints of a rule begin": ("places",),
    "constraints that are more than one short interval": ("sets",),
    "finding equal conjunctions": ("slots",),
    "finding equal constraints of that kind": ("set_slots",),
    "uses of a conjunction": ("held",),
}
LISTS: Mapping[str, tuple[str, ...]] = {
    "candidates and their tests, 8 bytes each": ("tests",),
    "finding and laying out lists": (
        "table", "keys", "starts", "counts", "capacities", "added", "levels", "frequency", "combined_table",
        "combined_filter", "next_attributes", "next_levels", "loads",
    ),
    "states of units": ("states", "always"),
}  # fmt: skip
"""Purposes, and the columns that serve them, by the names that these are saved under."""

OTHERS = "the fall-back, without rules"
ALL = "all"

WORKLOADS = {"begen 1%": partial(begen, matching=0.01), "ads 0.1%": partial(ads, matching=0.001)}


def warm_up() -> None:
    warm_up_engines([ENGINE])


def parts(scale: str) -> list[ExperimentPart]:
    return [ExperimentPart(name, partial(_measured, name, RULES[scale]), (FigurePlace(name),)) for name in WORKLOADS]


def _measured(name: str, rules: int) -> list[dict[str, Any]]:
    return measure(name, WORKLOADS[name](rules=rules, events=20, seed=7))


def measure(name: str, workload: Workload) -> list[dict[str, Any]]:
    """A row for each purpose, and one for all, of one workload; and the same of lists of units alone."""
    prepared = prepare(workload, ENGINE)
    check_with_oracle(prepared.rules, workload)
    index = prepared.rules
    matcher, told = index._matcher, bytes_of_index(index.stats())["bytes"]
    assert isinstance(matcher, EngineMatcher)
    main = matcher.parts[0]
    stored = by_purpose(main.store.bytes_by_column(), STORE)
    found = stored | by_purpose(main.engine.bytes_by_column(), LISTS)
    found[OTHERS] = told - sum(found.values())
    if not 0 <= found[OTHERS] < 4096:
        raise WrongAnswer(f"{found[OTHERS]} bytes of {told} have no purpose")
    shared = {"workload": name, "rules": len(index), "build_s": round(prepared.build_s, 3), "checked": True}
    alone = engine_class(ENGINE)(main.store.copy(), ALONE_OPTIONS)
    alone.rebuild()
    check_with_brute_force(ALONE, alone, prepared, workload, prepared.events.count)
    others = stored | by_purpose(alone.bytes_by_column(), LISTS) | {OTHERS: found[OTHERS]}
    return [
        {**shared, "engine": engine, "bytes": count, "part": part}
        for engine, purposes in ((index.engine, found), (ALONE, others))
        for part, count in {**purposes, ALL: sum(purposes.values())}.items()
        if count
    ]


def by_purpose(columns: Mapping[str, int], purposes: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """The bytes of the columns of each purpose; a column without one is an error."""
    purpose_of = {column: purpose for purpose, names in purposes.items() for column in names}
    without = [column for column, count in columns.items() if count and column not in purpose_of]
    if without:
        raise WrongAnswer(f"nothing says what these columns are for: {', '.join(without)}")
    return {purpose: sum(columns.get(column, 0) for column in names) for purpose, names in purposes.items()}
