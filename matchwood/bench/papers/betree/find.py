"""Expressive events (8.6.11) and the other semantics: rules that stand in a relation to an expression.

An expressive event has ranges where an event has values: those of BEGen, each widened to 12% of its domain. The eight
semantics are asked with rules of the index itself, so that every one of them finds something. What the oracle finds by
the definitions among some of the rules, set by set, is held against every answer, and its time stands beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from matchwood.bench.frame.measure import WrongAnswer, require_hits, timed, times
from matchwood.bench.frame.setup import insert_all
from matchwood.bench.papers.betree.plan import ProfileScale
from matchwood.index import Index
from matchwood.insight import SEMANTICS
from matchwood.workloads import Workload, begen

QUERIES = 10
SAMPLE = 100
"""Rules that the oracle is asked about; the first of them are the queries."""

WIDTH = 0.12
"""Of a domain, that a range of an expressive event takes: that of the rules' ranges."""


def finding(size: ProfileScale) -> list[dict[str, Any]]:
    """Rows for expressive events over uniform and Zipf rules, and for each semantics."""
    rows = []
    for distribution in ("uniform", "zipf"):
        matching = max(0.001, 10 / size.found_rules)
        settings = {"rules": size.found_rules, "events": QUERIES + 1, "matching": matching, "seed": 7}
        workload = begen(**settings, distribution=distribution)
        texts = workload.rules_text()
        index, sample = Index("betree"), Index("oracle")
        build_s, _ = timed(partial(insert_all, index, texts))
        insert_all(sample, texts[:SAMPLE])
        asked = [("stabbing_subscription", expressive(workload), f"{distribution}, expressive events")]
        if distribution == "uniform":
            asked += [(semantics, texts[: QUERIES + 1], f"{distribution}, rules as queries") for semantics in SEMANTICS]
        rows += [_row(index, sample, workload, build_s, *each) for each in asked]
    return rows


def expressive(workload: Workload) -> list[str]:
    """Each event as a conjunction of ranges around its values, within the domain."""
    cardinality = int(workload.parameters["cardinality"])
    width = max(1, round(WIDTH * cardinality))
    return [
        " and ".join(
            f"{name} between {max(0, value - width // 2)} and {max(0, value - width // 2) + width - 1}"
            for name, value in event.items()
        )
        for event in workload.events_dicts()
    ]


def _row(
    index: Index, sample: Index, workload: Workload, build_s: float, semantics: str, queries: Sequence[str], name: str
) -> dict[str, Any]:
    index.find(queries[-1], semantics=semantics)  # which warms up, and is not measured
    queries = queries[:-1]
    seconds, found = timed(lambda: [index.find(query, semantics=semantics) for query in queries])
    brute_s, wanted = timed(lambda: [sample.find(query, semantics=semantics) for query in queries])
    for query, all_found, expected in zip(queries, found, wanted, strict=True):
        if [rule for rule in all_found if rule < SAMPLE] != expected:
            raise WrongAnswer(f"{semantics} of {query!r}: not what the oracle finds")
    return {
        "engine": "find",
        "workload": name,
        "semantics": semantics,
        "rules": workload.rules.count,
        "events": len(queries),
        "build_s": round(build_s, 2),
        **times(0.0, 1e6 * seconds / len(queries)),
        "ns_per_rule": round(1e9 * seconds / len(queries) / workload.rules.count, 1),
        "oracle_ns_per_rule": round(1e9 * brute_s / len(queries) / len(sample)),
        "hits_per_event": require_hits(sum(map(len, found)), semantics) / len(queries),
        "checked": True,
    }
