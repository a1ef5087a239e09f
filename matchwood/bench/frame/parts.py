"""What experiments are made of: parts that run one by one, each with its place in a figure of a paper.

A module of experiments has `parts(scale)`; what all of them share comes from here: `--only`, the progress that is
shown, the time box of each cell, and the fields `section`, `x_name` and `x` of their rows, from which the report draws
lines. A module that only has `run(scale)` is a single part, which is named after the experiment. `with_summary(rows)`
of a module adds rows that sum others up, also when some of them were measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from matchwood.bench.frame.measure import time_box
from matchwood.errors import InvalidArgument
from matchwood.progress import Progress

Row: TypeAlias = dict[str, Any]

TIME_BOXES = {"smoke": 60.0, "quick": 30.0, "full": 900.0, "paper": 3600.0}
"""Seconds that a cell, one engine on one workload, may take at each scale."""


class FigurePlace(NamedTuple):
    """Where a workload stands: a section, which `report/figures.py` relates to a paper, and there the value of a
    setting."""

    section: str
    x_name: str | None = None
    x: float | None = None


class ExperimentPart(NamedTuple):
    """One workload: the name that its rows have, how to measure it, and its places, of which it has several if it is
    the usual case of several sweeps. Nothing is generated before it is measured. `settings` are the generator's: what
    a figure does not vary must be the same in all its parts."""

    name: str
    measure: Callable[[], Iterable[Row]]
    places: tuple[FigurePlace, ...] = ()
    settings: Mapping[str, Any] = {}


def swept(usual: dict[str, float], sweeps: Iterable[str]) -> tuple[FigurePlace, ...]:
    """The places of the workload with the usual settings: one in each sweep.

    >>> swept({"depth": 3, "alpha": 0.6}, ["depth"])
    (FigurePlace(section='depth', x_name='depth', x=3),)
    """
    return tuple(FigurePlace(name, name, usual[name]) for name in sweeps if name in usual)


def chosen(parts: Sequence[ExperimentPart], only: str | None) -> list[ExperimentPart]:
    """The part of a name; else the parts whose names, or sections, contain that text; all of them without one."""
    if only is None:
        return list(parts)
    found = [part for part in parts if part.name == only] or [
        part for part in parts if only in part.name or any(only in place.section for place in part.places)
    ]
    if not found:
        names = ", ".join(repr(part.name) for part in parts)
        raise InvalidArgument(f"no workload's name contains {only!r} (there are: {names})")
    return found


def run_parts(label: str, parts: Sequence[ExperimentPart], box_s: float) -> list[Row]:
    """The rows of all parts, each with its place."""
    rows: list[Row] = []
    with Progress(f"bench {label}", "workloads", len(parts)) as progress, time_box(box_s):
        for part in parts:
            rows += [placed(row, part.places) for row in part.measure()]
            progress.advance()
    return rows


def placed(row: Row, places: Sequence[FigurePlace]) -> Row:
    """A row with its place, unless it has one of its own; `also` has the others of a workload in several sweeps.

    >>> placed({"engine": "scan"}, [FigurePlace("depth", "depth", 3)])
    {'engine': 'scan', 'section': 'depth', 'x_name': 'depth', 'x': 3}
    """
    if not places or "section" in row:
        return row
    first, *others = places
    more = {"also": [list(place) for place in others]} if others else {}
    return {**row, **first._asdict(), **more}
