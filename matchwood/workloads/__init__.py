"""The papers' generators of rules and events.

`begen.begen` (BE-Tree), `ads.ads`, `query_logs.query_logs` (PS-Tree) and `hem.hem` (HEM) make conjunctions,
`abegen.abegen` and `ads_arbitrary.ads_arbitrary` (A-Tree) arbitrary expressions, `contracts.contracts` (VLDB 2009) both
normal forms with weights.

`campaigns.campaigns` makes the rules of the demo, as texts; `two_kinds.two_kinds` rules that match often beside rules
that hardly ever do.

Each of the papers' generators returns a `Workload`: integer columns, and the same as texts, tables and dicts.
`generate(name, …)` takes a generator by its name; `rules_on_spark(spark, name, …)` lets Spark's executors make the same
rules, for workloads that are too large for one process.
"""

from __future__ import annotations

from matchwood.workloads.abegen import abegen
from matchwood.workloads.abegen_settings import AbeSettings
from matchwood.workloads.ads import ads
from matchwood.workloads.ads_arbitrary import ads_arbitrary
from matchwood.workloads.begen import begen
from matchwood.workloads.begen_settings import EXPRESSIVENESS
from matchwood.workloads.campaigns import COUNTRIES, DEVICES, INTERESTS, PLANS, SITES, campaigns
from matchwood.workloads.catalogue import GENERATORS, generate, rules_block, rules_on_spark, settings_of
from matchwood.workloads.contracts import contracts
from matchwood.workloads.hem import SPAN, Intervals, hem
from matchwood.workloads.qgrams import most_names, qgrams
from matchwood.workloads.query_logs import query_logs
from matchwood.workloads.shared.base import (
    AT_LEAST,
    AT_MOST,
    BETWEEN,
    EQUAL,
    GREATER,
    IN,
    LESS,
    NOT_EQUAL,
    NOT_IN,
    WEAK_NOT_IN,
    Events,
    Rules,
    Workload,
)
from matchwood.workloads.shared.blocks import BLOCK, blocks_of
from matchwood.workloads.shared.brute import hits
from matchwood.workloads.shared.draws import offsets_of, pair_hashes, repeated, row_sums
from matchwood.workloads.shared.on_spark import made_on_spark
from matchwood.workloads.two_kinds import two_kinds

__all__ = [
    "AT_LEAST",
    "AT_MOST",
    "BETWEEN",
    "BLOCK",
    "COUNTRIES",
    "DEVICES",
    "EQUAL",
    "EXPRESSIVENESS",
    "GENERATORS",
    "GREATER",
    "IN",
    "INTERESTS",
    "LESS",
    "NOT_EQUAL",
    "NOT_IN",
    "PLANS",
    "SITES",
    "SPAN",
    "WEAK_NOT_IN",
    "AbeSettings",
    "Events",
    "Intervals",
    "Rules",
    "Workload",
    "abegen",
    "ads",
    "ads_arbitrary",
    "begen",
    "blocks_of",
    "campaigns",
    "contracts",
    "generate",
    "hem",
    "hits",
    "made_on_spark",
    "most_names",
    "offsets_of",
    "pair_hashes",
    "qgrams",
    "query_logs",
    "repeated",
    "row_sums",
    "rules_block",
    "rules_on_spark",
    "settings_of",
    "two_kinds",
]
