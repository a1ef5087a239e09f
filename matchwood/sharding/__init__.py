"""One version of an index as several shards: base shards, deltas that came later, and tombstones.

shards = open_shards(path)                   # also of a version that holds one index alone
shards.match_lists(record_batch)             # the ids for each event
open_index(path)                             # an Index, whatever the version consists of
"""

from matchwood.sharding.answers import Answered
from matchwood.sharding.layout import Layout
from matchwood.sharding.sharded_index import ShardedIndex, open_index
from matchwood.sharding.shards import ShardSet, open_shards

__all__ = ["Answered", "Layout", "ShardSet", "ShardedIndex", "open_index", "open_shards"]
