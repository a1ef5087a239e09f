"""The papers' generators of rules and events: `begen.begen` (BE-Tree), `ads.ads` (A-Tree, PS-Tree).

Each returns a `Workload`: integer columns, and the same as texts, tables and dicts.
"""

from matchwood.workloads.base import Events, Rules, Workload

__all__ = ["Events", "Rules", "Workload"]
