"""What `index.stats()` reports, as plain data."""

from __future__ import annotations

from typing import Any

from matchwood.encoding import Encoder
from matchwood.errors import CorruptSnapshot
from matchwood.insight.health.report import report
from matchwood.matching import EngineMatcher, Matcher
from matchwood.rules import RuleTable


def audit_of(table: RuleTable, encoder: Encoder, matcher: Matcher) -> list[str]:
    """Every broken invariant in words. What leads out of an array is told alone: nothing behind it can be followed."""
    problems: list[str] = []
    try:
        matcher.check()
        for room in (table, encoder, matcher):
            problems += room.audit()
    except CorruptSnapshot as error:
        problems.append(str(error))
    return problems


def stats_of(table: RuleTable, encoder: Encoder, matcher: Matcher) -> dict[str, Any]:
    """Rules, units, bytes by kind, the encoding, the engine, and the work done so far."""
    kept = table.stats()
    return {
        "rules": len(table),
        "engine": matcher.name,
        **matcher.stats(),
        "bytes_text": table.bytes_text,
        "bytes_rules": kept["bytes_ids"] + kept["bytes_links"] + kept["bytes_weights"],
        "holes": kept["holes"],
        "encoding": encoder.stats(),
        "observed_events": encoder.event_statistics.events,
        "misfits": encoder.misfits.as_dict(),
        **({"health": report(matcher)} if isinstance(matcher, EngineMatcher) else {}),
    }
