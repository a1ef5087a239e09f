"""How fast an engine takes in rules that are already encoded: all at once, and one after the other into a full one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from matchwood.bench.frame.measure import timed
from matchwood.engines import ATree, Engine, engine_class
from matchwood.index import Index
from matchwood.language import Expression
from matchwood.logic import Form
from matchwood.matching import EngineMatcher


def matcher_of(index: Index) -> EngineMatcher:
    matcher = index._matcher
    assert isinstance(matcher, EngineMatcher)
    return matcher


def construction(index: Index, rules: Sequence[Expression], singles: int) -> dict[str, Any]:
    """Rules a second in bulk and one by one.

    An A-Tree takes forms. An engine over conjunctions indexes those of the store, of which a rule may have many; its
    rate of units is told in rules.
    """
    matcher = matcher_of(index)
    if isinstance(matcher.engine, ATree):
        bulk_s, single_s = _tree_seconds(matcher, rules, singles)
    else:
        bulk_s, single_s = _engine_seconds(matcher.engine, singles)
        single_s *= matcher.engine.store.live / len(rules)
    return {"rules_per_s_encoded": round(len(rules) / bulk_s), "rules_per_s_single": round(1 / single_s)}


def _engine_seconds(engine: Engine, singles: int) -> tuple[float, float]:
    """Seconds for all conjunctions, and for one more."""
    fresh = engine_class(engine.name)(engine.store, engine.settings)
    bulk_s, _ = timed(fresh.rebuild)
    units = np.random.default_rng(3).permutation(engine.store.live_units())[:singles]
    fresh.remove(np.sort(units))
    single_s, _ = timed(lambda: [fresh.insert(unit) for unit in units[:, None]])
    return bulk_s, single_s / len(units)


def _tree_seconds(matcher: EngineMatcher, rules: Sequence[Expression], singles: int) -> tuple[float, float]:
    """Seconds for all forms, and for one more."""
    forms = [form for form in map(matcher.normal, rules) if isinstance(form, Form)]
    singles = min(singles, len(forms) // 2)
    encode = partial(matcher.encoder.encode_forms, shared=matcher.engine.settings["unique"])
    bulk, ones = encode(forms[:-singles]), [encode([form]) for form in forms[-singles:]]
    tree = ATree(matcher.engine.settings)
    bulk_s, _ = timed(lambda: tree.add(bulk))
    single_s, _ = timed(lambda: [tree.add(one) for one in ones])
    for encoded in (bulk, *ones):
        matcher.encoder.release(encoded.constraints)
    return bulk_s * len(forms) / (len(forms) - singles), single_s / singles
