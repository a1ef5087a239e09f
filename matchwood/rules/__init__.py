"""The table of rules: ids, texts, weights, and the way from hits back to rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.rules.hits import ROOM, RuleRows, event_positions
    from matchwood.rules.keys import Ids
    from matchwood.rules.strings import Strings, Utf8, as_strings, encode_many
    from matchwood.rules.table import RuleTable, UnitKind, UnitsByKind

__all__ = [
    "ROOM",
    "Ids",
    "RuleRows",
    "RuleTable",
    "Strings",
    "UnitKind",
    "UnitsByKind",
    "Utf8",
    "as_strings",
    "encode_many",
    "event_positions",
]

__getattr__ = exports(__name__)
