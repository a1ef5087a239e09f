"""One version of an index as several shards: base shards, deltas that came later, and tombstones.

shards = open_shards(path)                   # also of a version that holds one index alone
shards.match_lists(record_batch)             # the ids for each event
open_index(path)                             # an Index, whatever the version consists of
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.sharding.answers import Answered, answers_of_one
    from matchwood.sharding.layout import ID_TYPES, TOMBSTONES, ShardLayout, read_layout
    from matchwood.sharding.shard import RuleShard, Shard
    from matchwood.sharding.sharded_index import ShardedIndex, open_index
    from matchwood.sharding.shards import ShardSet, open_shards
    from matchwood.sharding.summary import Summary, layout_of, summary_of, total_uses, types_asked

__all__ = [
    "ID_TYPES",
    "TOMBSTONES",
    "Answered",
    "RuleShard",
    "Shard",
    "ShardLayout",
    "ShardSet",
    "ShardedIndex",
    "Summary",
    "answers_of_one",
    "layout_of",
    "open_index",
    "open_shards",
    "read_layout",
    "summary_of",
    "total_uses",
    "types_asked",
]

__getattr__ = exports(__name__)
