"""Hypothesis strategies for attributes, predicates, expressions, events and whole workloads.

They drive the generators of `tests/cases.py` with a random source that hypothesis controls, so a
failing example shrinks towards the first entries of the pools, which are the plain ones.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from matchwood.language.tree import Expression, Predicate
from tests import cases, pools

randoms: st.SearchStrategy[random.Random] = st.randoms(use_true_random=False)


@st.composite
def schemas(draw: st.DrawFn, most: int = 6) -> pools.Attributes:
    """A few of the attributes, each with its type."""
    names = st.lists(st.sampled_from(list(pools.ATTRIBUTES)), min_size=1, max_size=most, unique=True)
    return {name: pools.ATTRIBUTES[name] for name in draw(names)}


@st.composite
def predicates(draw: st.DrawFn, operator: str | None = None, kind: str | None = None) -> Predicate:
    """A predicate of any operator × type, or of the ones given."""
    rng = draw(randoms)
    wanted = [pair for pair in cases.PAIRS if operator in (None, pair[0]) and kind in (None, pair[1])]
    chosen, its_kind = draw(st.sampled_from(wanted))
    name = draw(st.sampled_from([each for each, of in pools.ATTRIBUTES.items() if of == its_kind]))
    return cases.predicate_of(rng, name, its_kind, chosen, pools.palettes(rng)[name])


@st.composite
def expressions(draw: st.DrawFn, leaves: int = 7) -> Expression:
    """A tree of every kind of node."""
    rng = draw(randoms)
    return cases.expression(rng, pools.palettes(rng), leaves=draw(st.integers(1, leaves)))


@st.composite
def deep_expressions(draw: st.DrawFn, depth: int = 2_000) -> Expression:
    """A tree that is up to `depth` levels deep and has few distinct predicates."""
    leaves = draw(st.lists(predicates(), min_size=1, max_size=5))
    return cases.chain(random.Random(draw(st.integers(0, 2**32))), list(leaves), draw(st.integers(1, depth)))


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """An event over all attributes, many of them missing or NULL."""
    rng = draw(randoms)
    return cases.event(rng, pools.palettes(rng))


@st.composite
def workloads(draw: st.DrawFn, rules: int = 10, events: int = 10, leaves: int = 5) -> cases.Workload:
    """Rules and events that share attributes and constants."""
    attributes = draw(schemas())
    rng = draw(randoms)
    # At least half of each, for enough rule-event pairs an example; single rules have tests of their own.
    rule_count, event_count = draw(st.integers(rules // 2, rules)), draw(st.integers(events // 2, events))
    return cases.workload(rng, rule_count, event_count, attributes, leaves)
