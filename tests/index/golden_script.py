"""Writes the golden snapshot of the current format: run once for each format, and keep what it wrote.

golden_script.py DIRECTORY
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

import matchwood as mw
from tests.index.index_samples import answers, sample_events, sample_index

AMOUNTS = ["0.1234567890123456789", "0.123456789012345678", "0.12345678901234568", " 10.05 ", "10.0500000000000000001"]
DECIMALS = {
    "fine": "amount = 0.1234567890123456789",
    "finer": "amount > 0.123456789012345678 and amount < 0.12345678901234568",
    "price": "amount = 10.05 or amount in (1e300, 2)",
    "above": "amount > 10.05",
    "no score": "score is null",
}
"""What format 1 could not hold: decimals that no double stands for, in an index that converts text and NaN."""


def golden_index(engine: str) -> mw.Index:
    index = sample_index(engine, nan="null", coerce={"amount": "double"})
    index.insert_many(DECIMALS, on_error="raise")
    return index


def main(directory: str) -> None:
    """An index, events as JSON, and the oracle's answers to them."""
    path = Path(directory)
    events = [
        {name: each.isoformat() if isinstance(each, datetime.date) else each for name, each in event.items()}
        for event in sample_events(24, seed=9)
        if event.get("score") == event.get("score")
    ]
    events = [{**event, "amount": AMOUNTS[place % len(AMOUNTS)]} for place, event in enumerate(events)]
    index = golden_index("counting")
    index.save(path / "index")
    asked = {"events": events, "hits": answers(golden_index("oracle"), events), "rules": dict(index)}
    (path / "asked.json").write_text(json.dumps(asked, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1])
