"""The papers' generators of rules and events.

`begen.begen` (BE-Tree), `ads.ads`, `query_logs.query_logs` (PS-Tree) and `hem.hem` (HEM) make conjunctions,
`abegen.abegen` and `ads_arbitrary.ads_arbitrary` (A-Tree) arbitrary expressions, `contracts.contracts` (VLDB 2009) both
normal forms with weights.

Each returns a `Workload`: integer columns, and the same as texts, tables and dicts.
"""

from matchwood.workloads.base import Events, Rules, Workload

__all__ = ["Events", "Rules", "Workload"]
