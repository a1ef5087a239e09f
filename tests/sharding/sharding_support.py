"""Sharded versions for tests, written as a build and its updates would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from matchwood import Index, storage
from matchwood.matching.saving import index_part, index_settings
from matchwood.sharding.layout import TOMBSTONES
from matchwood.sharding.summary import layout_of, summary_of


def write_shards(
    path: Any, groups: Sequence[Mapping[Any, Any]], dead: Mapping[int, Sequence[Any]] | None = None, **settings: Any
) -> int:
    """A version with one shard for each group of rules; the rules named by `dead` (by group) count for nothing.

    A rule is its text, or a tuple of text and options.
    """
    indexes = []
    for rules in groups:
        index = Index(**settings)
        index.insert_many([_rule(rule_id, rule) for rule_id, rule in sorted(rules.items())], on_error="raise")
        indexes.append(index)
    names = [f"base-{number}" for number in range(len(groups))]
    layout = layout_of(names, [summary_of(index) for index in indexes])
    rows = {names[group]: indexes[group]._table.rows_of(list(ids)) for group, ids in (dead or {}).items()}
    live = {name: layout.rules[name] - len(rows.get(name, ())) for name in names}
    parts = {name: index_part(index) for name, index in zip(names, indexes, strict=True)}
    if rows:
        parts[TOMBSTONES] = storage.SavedPart({}, {name: np.sort(found) for name, found in rows.items()})
    header = replace(layout, rules=live).header(index_settings(indexes[0]))
    return storage.save(path, parts, header)


def _rule(rule_id: Any, rule: Any) -> tuple[Any, ...]:
    return (rule_id, *rule) if isinstance(rule, tuple) else (rule_id, rule)
