"""Rules of different shards that contradict each other on a type: which of them give way.

One index takes rules in the order of their ids, and refuses the later of two that contradict each other. Shards are
built apart, so what the first rules ask is settled first, in rounds over the rules: an attribute has the type that the
first rule asks of it which is not refused because of another attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from matchwood.encoding import Use
from matchwood.errors import MatchwoodError
from matchwood.matching import Preparation, rule_chunks
from matchwood.sharding import ID_TYPES
from matchwood.spark.build.rule_stream import EachIdOnce, by_shard
from matchwood.spark.build.shard_task import BuildSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUNDS = 20
"""Chains of rules that are refused because of each other end long before; if not, any settlement is consistent."""


def settled(rules: DataFrame, settings: BuildSettings, id_type: str, keeps_last: bool) -> dict[Use, Any]:
    """The kinds of all attributes that rules contradict each other on, each with the id of the first rule."""
    firsts = _first_uses(rules, UsesTask(settings, id_type, keeps_last))
    kinds: dict[str, str] = {}
    disputed = {name for name, kind in firsts if kinds.setdefault(name, kind) != kind}
    if not disputed:
        return {}
    chosen = _chosen(firsts, disputed)
    for _ in range(ROUNDS):
        task = UsesTask(settings, id_type, keeps_last, chosen, frozenset(disputed))
        # What no rule that stays asks any more keeps the type it had: those who ask it are refused anyhow.
        next_choice = dict({**_by_name(chosen), **_by_name(_chosen(_first_uses(rules, task), disputed))}.values())
        if next_choice.keys() == chosen.keys():
            return next_choice
        chosen = next_choice
    return chosen


def _by_name(chosen: Mapping[Use, Any]) -> dict[str, tuple[Use, Any]]:
    return {use[0]: (use, witness) for use, witness in chosen.items()}


def _chosen(firsts: Mapping[Use, Any], disputed: Iterable[str]) -> dict[Use, Any]:
    """Of the uses of each disputed attribute the one whose first rule comes first."""
    best: dict[str, tuple[Use, Any]] = {}
    for use, first in firsts.items():
        if use[0] in disputed and (use[0] not in best or first < best[use[0]][1]):
            best[use[0]] = (use, first)
    return dict(best.values())


def _first_uses(rules: DataFrame, task: UsesTask) -> dict[Use, Any]:
    """For each attribute and kind the lowest id of a rule that uses it so; small, whatever the number of rules."""
    ids = "string" if task.id_type == "string" else "bigint"

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batches)

    found = rules.mapInArrow(run, f"name string, kind string, id {ids}")
    rows = found.groupBy("name", "kind").agg(F.min("id").alias("id")).collect()
    return {(row["name"], row["kind"]): row["id"] for row in rows}


@dataclass(frozen=True)
class UsesTask:
    """Finds what the rules of a partition ask of their attributes.

    `chosen`    the types settled so far: a rule that contradicts one asks for nothing, save for that attribute itself
    `disputed`  the attributes that matter; all, if there is none
    """

    settings: BuildSettings
    id_type: str
    keeps_last: bool
    chosen: Mapping[Use, Any] = field(default_factory=dict)
    disputed: frozenset[str] = frozenset()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index, kinds = self.settings.index(), dict(self.chosen.keys())
        prepare = Preparation(index._encoder, index._matcher.normal, given=index._matcher.given).prepare
        firsts: dict[Use, Any] = {}
        for _, part in by_shard(batches):
            for rule in _rules(EachIdOnce(part, self.keeps_last)):
                try:
                    uses = prepare(rule.id, rule.expression, rule.options).uses
                except MatchwoodError:
                    continue  # refused by itself, whatever the others ask
                for use in self._counted(uses, kinds):
                    firsts.setdefault(use, rule.id)  # rules come in the order of ids, within a shard
        yield pa.record_batch(
            {
                "name": pa.array([name for name, _ in firsts], pa.string()),
                "kind": pa.array([kind for _, kind in firsts], pa.string()),
                "id": pa.array(list(firsts.values()), ID_TYPES[self.id_type]),
            }
        )

    def _counted(self, uses: list[Use], kinds: Mapping[str, str]) -> list[Use]:
        against = {name for name, kind in uses if kind != "any" and kinds.get(name, kind) != kind}
        if len(against) > 1:
            return []
        asked = [use for use in uses if use[1] != "any" and (not self.disputed or use[0] in self.disputed)]
        return [use for use in asked if not against or use[0] in against]


def _rules(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    chunks = (chunk for batch in batches if len(batch) for chunk in rule_chunks(batch))
    return (rule for chunk in chunks for rule in chunk.sources() if rule.id is not None)
