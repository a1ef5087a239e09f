"""What `index.stats()` reports, as plain data."""

from __future__ import annotations

from typing import Any

from matchwood.encoding import Encoder
from matchwood.indexing.matchers import Matcher
from matchwood.rules import RuleTable


def stats(table: RuleTable, encoder: Encoder, matcher: Matcher) -> dict[str, Any]:
    """Rules, units, bytes of four kinds, the encoding, the engine, and the work done so far."""
    found = matcher.stats()
    return {
        "rules": len(table),
        "engine": matcher.name,
        **found,
        "bytes_text": table.bytes_text,
        "encoding": encoder.stats(),
    }
