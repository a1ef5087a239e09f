"""Which figure or table of which paper each section of an experiment reproduces.

Curves are not in the text of the papers that we have, so a figure's numbers stand beside ours only where a table or a
sentence prints them.
"""

from __future__ import annotations

_SWEPT = {
    "rules": "Figs. 5 (a), 6 (a), 14 (a)",
    "exponent": "Fig. 7 (a)",
    "dimensions": "Figs. 5 (b), 8 (a)",
    "cardinality": "Fig. 9 (a)",
    "rule_size": "Figs. 5 (c), 10 (a), 14 (b)",
    "event_size": "Fig. 11 (a)",
    "matching": "Fig. 12 (a)",
    "equality": "Figs. 5 (d), 13 (a)",
}
_SPARSE = {
    "rules": "Fig. 6 (b)",
    "exponent": "Fig. 7 (b)",
    "cardinality": "Fig. 9 (b)",
    "rule_size": "Fig. 10 (b)",
    "event_size": "Fig. 11 (b)",
    "matching": "Fig. 12 (b)",
    "equality": "Fig. 13 (b)",
}

PAPERS = {
    "pstree": "PS-Tree, VLDB 2018",
    "atree": "A-Tree, SIGMOD 2021",
    "betree": "BE-Tree, TODS 2013",
    "hem": "HEM, Sci. China 2016",
    "kindex": "Inverted lists, VLDB 2009",
}

FIGURES: dict[str, dict[str, str]] = {
    "pstree": {
        "intervals": "Table 3",
        "ads": "Table 2",
        "query logs": "Fig. 15",
        **_SWEPT,
        **{f"sparse, {name}": figure for name, figure in _SPARSE.items()},
    },
    "atree": {
        "abegen": "Figs. 8 (a), 10",
        "ads": "Figs. 8 (b), 9, 10, Table 4",
        "rules": "Figs. 11 (a), 12 (a), 13 (a)",
        "depth": "Figs. 11 (b), 12 (b), 13 (b)",
        "children": "Figs. 11 (c), 12 (c), 13 (c)",
        "alpha": "Figs. 11 (d), 12 (d), 13 (d)",
        "dimensions": "Fig. 12 (e)",
        "cardinality": "Fig. 12 (f)",
        "dimension_alpha": "Fig. 12 (g)",
        "event_size": "Fig. 12 (h)",
    },
    "betree": {
        "workload size": "Fig. 10, Table VII",
        "dimensions": "Fig. 11",
        "cardinality": "Fig. 12",
        "dimension selectivity": "Fig. 13",
        "predicate selectivity": "Fig. 14",
        "sizes": "Fig. 15",
        "equality": "Fig. 16",
        "matching": "Fig. 17",
        "expressiveness": "Table IV",
        "q-grams": "Figs. 18, 19, Table V",
        "changes": "Figs. 21, 22",
        "Bloom filter": "Fig. 27",
    },
    "hem": {
        "rules": "Fig. 5",
        "attributes": "Figs. 6, 8, 9, 10",
        "width": "Fig. 7",
    },
    "kindex": {
        "dnf, months": "Fig. 14",
        "dnf, dimensions": "Fig. 15",
        "dnf, exponent": "Fig. 16",
        "dnf, rules": "Fig. 17",
        "cnf, rules": "Fig. 18",
        "ranking": "Fig. 19",
    },
}

_BUILT, _STORED = "build_s", "bytes_index"
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
