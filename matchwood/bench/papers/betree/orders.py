"""What the order of insertion does to a BE-Tree: its buckets halve labels, and labels depend on who came first.

The paper's buckets halve the domain itself, so that its clustering is the same whatever the order (4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from matchwood.bench.frame.measure import WrongAnswer, drawn, measure_rounds, timed
from matchwood.bench.frame.memory import bytes_of_index
from matchwood.bench.papers.betree.plan import ProfileScale
from matchwood.index import Index
from matchwood.workloads import begen

ORDERS = ("at once", "at once, shuffled", "rising", "falling", "shuffled")
"""All rules in one call, in two orders; and one by one."""

Rules = Mapping[int, str]


def ordering(size: ProfileScale) -> list[dict[str, Any]]:
    """Rows for ranges of one attribute, and for rules of BEGen, each in every order."""
    count = size.dynamic_rules
    work = begen(rules=count, events=drawn(size.events), matching=max(0.01, 10 / count), seed=7)
    texts = dict(enumerate(work.rules_text()))
    workloads = {
        "ranges": (_ranges(count), [{"x": 10 * value} for value in range(count)]),
        "BEGen uniform": (texts, work.events_dicts()),
    }
    return [row for name, (rules, events) in workloads.items() for row in _orders(name, rules, events)]


def _ranges(count: int) -> Rules:
    """Short ranges all over a domain, and some long ones."""
    rng = np.random.default_rng(7)
    starts = np.sort(rng.integers(0, 10 * count, count))
    widths = np.where(rng.random(count) < 0.2, rng.integers(0, 10 * count, count), 50)
    return {each: f"x between {starts[each]} and {starts[each] + widths[each]}" for each in range(count)}


def _orders(name: str, rules: Rules, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows, answers = [], []
    for order in ORDERS:
        index, build_s = _filled(rules, order)
        rows.append(_row(index, name, order, len(rules), events, build_s))
        answers.append(index.match_many(events).sort_by([("event", "ascending"), ("rule", "ascending")]))
    if not answers[0].num_rows or any(not each.equals(answers[0]) for each in answers):
        raise WrongAnswer(f"the answers of {name!r} depend on the order of insertion, or there are none")
    return rows


def _filled(rules: Rules, order: str) -> tuple[Index, float]:
    ids = list(rules)
    if "shuffled" in order:
        ids = np.random.default_rng(3).permutation(ids).tolist()
    if order == "falling":
        ids.reverse()
    index = Index("betree", options={"batch": order.startswith("at once")})
    if order.startswith("at once"):
        seconds, _ = timed(lambda: index.insert_many([(number, rules[number]) for number in ids]))
    else:
        seconds = sum(timed(partial(index.__setitem__, number, rules[number]))[0] for number in ids)
    return index, seconds


def _row(
    index: Index, name: str, order: str, rules: int, events: list[dict[str, Any]], build_s: float
) -> dict[str, Any]:
    found = measure_rounds(lambda first, stop: timed(lambda: index.match_many(events[first:stop]))[0], len(events))
    stats = index.stats()
    matching = stats["matching"]
    return {
        "engine": f"betree, {order}",
        "workload": f"order, {name}",
        "rules": rules,
        "events": found.events,
        "build_s": round(build_s, 3),
        "us_per_event": round(found.us, 2),
        "hits_per_event": matching["matched"] / matching["events"],
        "candidates_per_event": matching["candidates"] / matching["events"],
        **bytes_of_index(stats),
        **{key: stats[key] for key in ("p_nodes", "c_nodes", "l_nodes", "largest_leaf")},
        "checked": True,
    }
