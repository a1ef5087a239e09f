"""What is told of several shards that were just built, so that one process can describe all without opening any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from matchwood.encoding import Use
from matchwood.matching import Summary, summary_of
from matchwood.sharding.layout import ShardLayout

__all__ = ["Summary", "layout_of", "summary_of", "total_uses", "types_asked"]


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
