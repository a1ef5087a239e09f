"""What the façade is made of: preparing rules, bulk loading, matching, results, snapshots, lint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.matching.attribute_types import arrow_types
    from matchwood.matching.engine_events import EngineEvents
    from matchwood.matching.engine_matcher import EngineMatcher
    from matchwood.matching.entries import Items, RuleValues
    from matchwood.matching.event_scoring import EventScoring
    from matchwood.matching.following import OPENERS, Origin, no_index, open_version, reload_index
    from matchwood.matching.ledger.counters import WorkCounters
    from matchwood.matching.ledger.ledger import Ledger
    from matchwood.matching.ledger.sample import SampleShares, taken
    from matchwood.matching.little import is_little, matching_turn_of, turns_of
    from matchwood.matching.loading.batches import Batch
    from matchwood.matching.loading.chunks import LEAST_COMPILED, RuleSource
    from matchwood.matching.loading.groups import Group
    from matchwood.matching.loading.limits import USUAL, RejectLimit
    from matchwood.matching.loading.load import TURN_RULES, is_large, load_rules
    from matchwood.matching.loading.preparation import Normal, Preparation, PreparedRule, as_expression, stored_uses
    from matchwood.matching.loading.read_rules import PackedChunk, ReadRules, RulesApart
    from matchwood.matching.loading.report import Report, in_words
    from matchwood.matching.loading.sources import rule_chunks
    from matchwood.matching.loading.storing import SLICE_RULES
    from matchwood.matching.loading.votes import Voters, Votes
    from matchwood.matching.matcher import EventsAsked, Matcher
    from matchwood.matching.oracle_matcher import OracleMatcher
    from matchwood.matching.parts import FIRST_NAMES, BesidePart, MatcherPart, StorePart, TreePart, busy
    from matchwood.matching.recompiled import as_engine_matcher
    from matchwood.matching.request import ALL_RULES, BestRules, Request, ranks_of
    from matchwood.matching.results import ResultFormat, all_batches, record_batches, with_errors
    from matchwood.matching.saving import (
        INDEX_KIND,
        ONLY_PART,
        alone_header,
        half_done,
        index_part,
        index_settings,
        restore_part,
        rule_table,
        save_index,
    )
    from matchwood.matching.settings import (
        checked_flag,
        checked_limit,
        checked_options,
        checked_rank,
        checked_text,
        not_one_event,
        strictness_of_one,
        taken_spaces,
    )
    from matchwood.matching.summary import Summary, summary_of
    from matchwood.matching.threads import MOST_THREADS, checked_threads, in_order, usable_cores

__all__ = [
    "ALL_RULES",
    "FIRST_NAMES",
    "INDEX_KIND",
    "LEAST_COMPILED",
    "MOST_THREADS",
    "ONLY_PART",
    "OPENERS",
    "SLICE_RULES",
    "TURN_RULES",
    "USUAL",
    "Batch",
    "BesidePart",
    "BestRules",
    "EngineEvents",
    "EngineMatcher",
    "EventScoring",
    "EventsAsked",
    "Group",
    "Items",
    "Ledger",
    "Matcher",
    "MatcherPart",
    "Normal",
    "OracleMatcher",
    "Origin",
    "PackedChunk",
    "Preparation",
    "PreparedRule",
    "ReadRules",
    "RejectLimit",
    "Report",
    "Request",
    "ResultFormat",
    "RuleSource",
    "RuleValues",
    "RulesApart",
    "SampleShares",
    "StorePart",
    "Summary",
    "TreePart",
    "Voters",
    "Votes",
    "WorkCounters",
    "all_batches",
    "alone_header",
    "arrow_types",
    "as_engine_matcher",
    "as_expression",
    "busy",
    "checked_flag",
    "checked_limit",
    "checked_options",
    "checked_rank",
    "checked_text",
    "checked_threads",
    "half_done",
    "in_order",
    "in_words",
    "index_part",
    "index_settings",
    "is_large",
    "is_little",
    "load_rules",
    "matching_turn_of",
    "no_index",
    "not_one_event",
    "open_version",
    "ranks_of",
    "record_batches",
    "reload_index",
    "restore_part",
    "rule_chunks",
    "rule_table",
    "save_index",
    "stored_uses",
    "strictness_of_one",
    "summary_of",
    "taken",
    "taken_spaces",
    "turns_of",
    "usable_cores",
    "with_errors",
]

__getattr__ = exports(__name__)
