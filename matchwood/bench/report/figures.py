"""Which figure or table of which paper each section of an experiment reproduces.

Curves are not in the text of the papers that we have, so a figure's numbers stand beside ours only where a table or a
sentence prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matchwood.bench.frame.parts import ExperimentPart
from matchwood.workloads import EXPRESSIVENESS


class Claim(NamedTuple):
    """A section reproduces a figure: what it varies, all else being equal, and values that the paper's axis has.

    Without `varies` the section is one workload, or several, that the paper's table or figure has side by side.
    `figure` says which curves are missing, if any are.
    """

    section: str
    figure: str
    varies: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()


PAPERS = {
    "pstree": "PS-Tree, VLDB 2018",
    "atree": "A-Tree, SIGMOD 2021",
    "betree": "BE-Tree, TODS 2013",
    "hem": "HEM, Sci. China 2016",
    "kindex": "Inverted lists, VLDB 2009",
}

_ATREE_LINES = "without most rivals"
_FEWER = "up to 3M rules"

_FREE = ("distribution", "seed", "events")
"""Each figure has a part for each distribution, and the paper's events are not ours."""

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "pstree": (
        Claim("intervals", "Table 3"),
        Claim("ads", "Table 2"),
        Claim("query logs", "Fig. 15"),
        Claim("rules", f"Figs. 5 (a), 6 (a), 14 (a), {_FEWER}", ("rules",), (300_000, 3_000_000)),
        Claim("exponent", "Fig. 7 (a)", ("exponent",), (0, 5)),
        Claim("dimensions", "Figs. 5 (b), 8 (a)", ("dimensions",), (100, 30_000)),
        Claim("cardinality", "Fig. 9 (a)", ("cardinality",), (3, 1_000)),
        Claim("rule_size", "Figs. 5 (c), 10 (a), 14 (b)", ("rule_size",), (5, 30)),
        Claim("event_size", "Fig. 11 (a)", ("event_size",), (30, 78)),
        Claim("matching", "Fig. 12 (a)", ("matching",), (0.001, 0.5)),
        Claim("equality", "Figs. 5 (d), 13 (a)", ("equality",), (0, 1.0)),
        Claim("sparse, rules", f"Fig. 6 (b), {_FEWER}", ("rules",), (300_000, 3_000_000)),
        Claim("sparse, exponent", "Fig. 7 (b)", ("exponent",), (0, 5)),
        Claim("sparse, cardinality", "Fig. 9 (b)", ("cardinality",), (3, 1_000)),
        Claim("sparse, rule_size", "Fig. 10 (b)", ("rule_size",), (5, 30)),
        Claim("sparse, event_size", "Fig. 11 (b)", ("event_size",), (30, 90)),
        Claim("sparse, matching", "Fig. 12 (b)", ("matching",), (0.001, 0.5)),
        Claim("sparse, equality", "Fig. 13 (b)", ("equality",), (0, 1.0)),
    ),
    "atree": (
        Claim("abegen", "Fig. 10"),
        Claim("ads", "Figs. 8 (b), 10, Table 4"),
        Claim("alpha", f"Figs. 11 (d), 12 (d), 13 (d), {_ATREE_LINES}", ("alpha",), (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        Claim("dimensions", f"Fig. 12 (e), {_ATREE_LINES}", ("dimensions",), (30, 100, 300, 1_000, 3_000, 10_000)),
        Claim("cardinality", f"Fig. 12 (f), {_ATREE_LINES}", ("cardinality",), (3, 10, 30, 100, 300, 1_000)),
        Claim("dimension_alpha", f"Fig. 12 (g), {_ATREE_LINES}", ("dimension_alpha",), (0.0, 1.0)),
        Claim("event_size", f"Fig. 12 (h), {_ATREE_LINES}", ("event_size",), (5, 10, 15, 20, 25, 30)),
    ),
    "betree": (
        Claim("workload size", "Fig. 10, Table VII", ("rules",), (100_000, 1_000_000)),
        Claim("dimensions", "Fig. 11", ("dimensions",), (50, 400, 1_400)),
        Claim("cardinality", "Fig. 12", ("cardinality",), (48, 150_000)),
        Claim("dimension selectivity", "Fig. 13", ("cardinality",), (2, 10)),
        Claim("predicate selectivity", "Fig. 14", ("range_width",), (0.06, 0.5)),
        Claim("sizes", "Fig. 15 (a), (b)", ("rule_size", "event_size"), (5, 66)),
        Claim("equality", "Fig. 16", ("equality",), (0.2, 1.0)),
        Claim("expressiveness", "Table IV", ("expressiveness",), tuple(EXPRESSIVENESS)),
        Claim("changes", "Fig. 21"),
    ),
    "hem": (
        Claim("rules", "Fig. 5", ("rules",), (100_000, 1_700_000)),
        Claim("attributes", "Figs. 6, 8, 9, 10", ("attributes",), (3, 17)),
        Claim("width", "Fig. 7", ("width",), (0.05, 0.8)),
    ),
    "kindex": (
        Claim("dnf, months", "Fig. 14", ("months",), (1, 12)),
        Claim("dnf, dimensions", "Fig. 15", ("dimensions",), (150, 600)),
        Claim("dnf, exponent", "Fig. 16", ("exponent",), (2.0, 3.0)),
        Claim("dnf, rules", "Fig. 17", ("rules",), (100_000, 1_000_000)),
        Claim("cnf, rules", "Fig. 18", ("rules",), (100_000, 1_000_000)),
        Claim("ranking", "Fig. 19"),
    ),
}
"""What runs at the scale `paper`; a test holds each claim against the parts there. A sweep in which something else
changes too is none of the paper's: the A-Tree's depth and children, where larger rules are fewer, and the numbers of
rules, of which the largest are left out."""

FIGURES = {name: {claim.section: claim.figure for claim in claims} for name, claims in CLAIMS.items()}


def upheld(claim: Claim, parts: Sequence[ExperimentPart]) -> str | None:
    """Why a claim is not true of what runs; None if it is."""
    own = [part for part in parts if any(place.section == claim.section for place in part.places)]
    if not own:
        return "nothing runs"
    fixed = {
        tuple(sorted((k, v) for k, v in part.settings.items() if k not in (*claim.varies, *_FREE))) for part in own
    }
    if claim.varies and len(fixed) > 1:
        return "something else changes, too"
    values = {part.settings.get(claim.varies[0]) for part in own} if claim.varies else set()
    values |= {place.x for part in own for place in part.places if place.section == claim.section}
    missing = [value for value in claim.values if value not in values]
    return f"{claim.varies[0]} is never {missing}" if missing else None


_BUILT, _STORED = "build_s", "bytes"
_CHANGED = ("us_per_insert", "us_per_delete")
MORE: dict[str, dict[str, tuple[str, ...]]] = {
    "pstree": {
        "rules": (_BUILT, _STORED),
        "dimensions": (_BUILT,),
        "rule_size": (_BUILT, _STORED),
        "equality": (_BUILT,),
    },
    "atree": dict.fromkeys(("rules", "depth", "children", "alpha"), (_BUILT, _STORED)),
    "hem": {"rules": _CHANGED, "attributes": _CHANGED},
}
"""What a section's figures show beside the time of an event: building, memory, changes."""


def reproduced(experiment: str, section: str) -> str | None:
    """The paper and the figure of a section, if there is one.

    >>> reproduced("hem", "width"), reproduced("core", "begen 1%")
    ('HEM, Sci. China 2016, Fig. 7', None)
    """
    figure = FIGURES.get(experiment, {}).get(section)
    return None if figure is None else f"{PAPERS[experiment]}, {figure}"
