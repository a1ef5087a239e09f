"""What `index.stats()` reports, as plain data."""

from __future__ import annotations

from typing import Any

from matchwood.encoding import Encoder
from matchwood.indexing.matchers import Matcher
from matchwood.rules import RuleTable


def stats(table: RuleTable, encoder: Encoder, matcher: Matcher) -> dict[str, Any]:
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
    }
