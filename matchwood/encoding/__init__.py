"""Attributes and values as small integers: types, predicate spaces, derived attributes, events to codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.encoding.attribute_table import DERIVED, decoded, encoded
    from matchwood.encoding.codes import (
        AND,
        BOTTOM_LABEL,
        LEAF,
        NOT,
        NULL_LABEL,
        OR,
        PREDICATE,
        TOP_LABEL,
        XNOR,
        XOR,
        EncodedConjunctions,
        EncodedEvents,
        EncodedForms,
        EncodedRows,
    )
    from matchwood.encoding.derived.attributes import TRUE_LABEL
    from matchwood.encoding.derived.keys import FALSE, PATTERNS, TRUE, DerivedTest, is_derived, list_test, read_key
    from matchwood.encoding.encoder import AskingEncoder, Encoder
    from matchwood.encoding.events.coercion import Coercion
    from matchwood.encoding.events.columns.fitting import always_fits, can_fit
    from matchwood.encoding.events.columns.text_scalars import (
        INTEGER,
        NUMBER,
        SPACES,
        fraction_of,
        numbers_of,
        truths_of,
    )
    from matchwood.encoding.events.columns.text_values import Values, values_of_text
    from matchwood.encoding.events.columns.validity import check_column
    from matchwood.encoding.events.containers import open_container
    from matchwood.encoding.events.entry import EventChunk, columns_needed, event_chunks
    from matchwood.encoding.events.frames import is_frame
    from matchwood.encoding.events.missing import near_misses
    from matchwood.encoding.events.one_event.reader import EventReader, PairBytes
    from matchwood.encoding.events.paths import Edge, Node, key_trie, positions_below
    from matchwood.encoding.events.pieces import IN_LISTS
    from matchwood.encoding.events.plan import ROWS, Pace, event_plan
    from matchwood.encoding.events.settings import EventSettings, saved_settings
    from matchwood.encoding.events.single import events_of_pairs, sorted_pairs
    from matchwood.encoding.events.sources import Chunk, can_be_read_again, chunks, row_count
    from matchwood.encoding.events.statistics import EventStatistics
    from matchwood.encoding.events.strictness import (
        QUIET,
        STRICT,
        Complaint,
        MisfitCounter,
        Strictness,
        checked_on_error,
    )
    from matchwood.encoding.rules.asked_uses import AskedUses, UsesOfRules
    from matchwood.encoding.rules.binding import Binder
    from matchwood.encoding.rules.carried_rules import packed_rules, unpacked_rules
    from matchwood.encoding.rules.compiled_rules import CompiledRules, CountedUse, RuleReader
    from matchwood.encoding.rules.flat_forms import FlatForms
    from matchwood.encoding.rules.flattening import Flat, LeafRows, flatten, spread
    from matchwood.encoding.rules.leaf_texts import leaf_name, leaf_text
    from matchwood.encoding.rules.predicate_book import PredicateBook
    from matchwood.encoding.rules.written_terms import WrittenTerms
    from matchwood.encoding.schema.declared import Declared, read_schema
    from matchwood.encoding.schema.events_schema import types_of_events
    from matchwood.encoding.schema.inferred import Schema, Settled, Use, as_in
    from matchwood.encoding.schema.requirements import requirement
    from matchwood.encoding.schema.timezones import Zone
    from matchwood.encoding.schema.types import KINDS, TYPES
    from matchwood.encoding.spaces.base import Spaces, Strings, spaces_class
    from matchwood.encoding.spaces.domains import STRING, compare
    from matchwood.encoding.spaces.dyadic import LEVELS
    from matchwood.encoding.spaces.key_columns import frozen
    from matchwood.encoding.spaces.keys import strings_of

__all__ = [
    "AND",
    "BOTTOM_LABEL",
    "DERIVED",
    "FALSE",
    "INTEGER",
    "IN_LISTS",
    "KINDS",
    "LEAF",
    "LEVELS",
    "NOT",
    "NULL_LABEL",
    "NUMBER",
    "OR",
    "PATTERNS",
    "PREDICATE",
    "QUIET",
    "ROWS",
    "SPACES",
    "STRICT",
    "STRING",
    "TOP_LABEL",
    "TRUE",
    "TRUE_LABEL",
    "TYPES",
    "XNOR",
    "XOR",
    "AskedUses",
    "AskingEncoder",
    "Binder",
    "Chunk",
    "Coercion",
    "CompiledRules",
    "Complaint",
    "CountedUse",
    "Declared",
    "DerivedTest",
    "Edge",
    "EncodedConjunctions",
    "EncodedEvents",
    "EncodedForms",
    "EncodedRows",
    "Encoder",
    "EventChunk",
    "EventReader",
    "EventSettings",
    "EventStatistics",
    "Flat",
    "FlatForms",
    "LeafRows",
    "MisfitCounter",
    "Node",
    "Pace",
    "PairBytes",
    "PredicateBook",
    "RuleReader",
    "Schema",
    "Settled",
    "Spaces",
    "Strictness",
    "Strings",
    "Use",
    "UsesOfRules",
    "Values",
    "WrittenTerms",
    "Zone",
    "always_fits",
    "as_in",
    "can_be_read_again",
    "can_fit",
    "check_column",
    "checked_on_error",
    "chunks",
    "columns_needed",
    "compare",
    "decoded",
    "encoded",
    "event_chunks",
    "event_plan",
    "events_of_pairs",
    "flatten",
    "fraction_of",
    "frozen",
    "is_derived",
    "is_frame",
    "key_trie",
    "leaf_name",
    "leaf_text",
    "list_test",
    "near_misses",
    "numbers_of",
    "open_container",
    "packed_rules",
    "positions_below",
    "read_key",
    "read_schema",
    "requirement",
    "row_count",
    "saved_settings",
    "sorted_pairs",
    "spaces_class",
    "spread",
    "strings_of",
    "truths_of",
    "types_of_events",
    "unpacked_rules",
    "values_of_text",
]

__getattr__ = exports(__name__)
