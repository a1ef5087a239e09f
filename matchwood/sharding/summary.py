"""What is told of a shard that was just built, so that one process can describe all of them without opening any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from matchwood.encoding import Use
from matchwood.index import Index
from matchwood.matching import EngineMatcher
from matchwood.sharding.layout import ShardLayout


@dataclass(frozen=True)
class Summary:
    """A shard in a few words; JSON-able by `to_json`.

    `rules`     how many it holds
    `id_type`   `int64` or `string`
    `uses`      attribute, kind and how many rules use it so
    `named`     the names that events are asked for
    `declared`  the types of names that a schema declares
    """

    rules: int
    id_type: str
    timezone: str
    uses: Sequence[tuple[str, str, int]]
    named: list[str]
    declared: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def counts(self) -> dict[Use, int]:
        return {(name, kind): count for name, kind, count in self.uses}


def summary_of(index: Index, id_type: str | None = None) -> Summary:
    """The summary of an index that is about to be written; `id_type` is for one that may be empty."""
    schema, table = index._encoder.schema, index._table
    uses = [(name, kind, count) for (name, kind), count in schema.counts().items()]
    declared = {name: kind for name, _, _ in uses if (kind := schema.declared.type_of(name)) not in (None, "any")}
    # The oracle encodes nothing, so there every name that a rule mentions counts.
    compiled = isinstance(index._matcher, EngineMatcher)
    named = index._encoder.attributes_named() if compiled else sorted({name for name, _, _ in uses})
    ids = id_type or str(table.id_type)
    return Summary(len(table), ids, index._encoder.timezone, uses, named, dict(declared))


def total_uses(summaries: Iterable[Summary]) -> dict[Use, int]:
    """The uses of several shards, added up."""
    total: dict[Use, int] = {}
    for summary in summaries:
        for use, count in summary.counts().items():
            total[use] = total.get(use, 0) + count
    return total


def types_asked(uses: Iterable[Use], named: Iterable[str], declared: Mapping[str, str]) -> dict[str, str]:
    """The type of each name that live rules ask events for: as declared, else as they use it, else `any`."""
    live: dict[str, str] = {}
    for name, kind in uses:
        if kind != "any" or name not in live:
            live[name] = kind
    return {name: declared.get(name, live[name]) for name in sorted(set(named) & live.keys())}


def layout_of(names: Sequence[str], summaries: Sequence[Summary]) -> ShardLayout:
    """The layout of base shards, none of whose rules is dead."""
    uses = total_uses(summaries)
    named = {name for summary in summaries for name in summary.named}
    declared = {name: kind for summary in summaries for name, kind in summary.declared.items()}
    filled = [summary for summary in summaries if summary.rules] or list(summaries)
    return ShardLayout(
        bases=tuple(names),
        deltas=(),
        rules={name: summary.rules for name, summary in zip(names, summaries, strict=True)},
        id_type=filled[0].id_type,
        timezone=filled[0].timezone,
        uses=uses,
        attributes=types_asked(uses, named, declared),
    )
