"""The papers' generators of rules and events.

`begen.begen` (BE-Tree), `ads.ads`, `query_logs.query_logs` (PS-Tree) and `hem.hem` (HEM) make conjunctions,
`abegen.abegen` and `ads_arbitrary.ads_arbitrary` (A-Tree) arbitrary expressions, `contracts.contracts` (VLDB 2009) both
normal forms with weights.

Each returns a `Workload`: integer columns, and the same as texts, tables and dicts. `generate(name, …)` takes a
generator by its name; `rules_on_spark(spark, name, …)` lets Spark's executors make the same rules, for workloads that
are too large for one process.
"""

from matchwood.workloads.base import Events, Rules, Workload
from matchwood.workloads.catalogue import GENERATORS, generate, rules_on_spark

__all__ = ["GENERATORS", "Events", "Rules", "Workload", "generate", "rules_on_spark"]
