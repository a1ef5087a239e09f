"""Writes the golden snapshot of the current format: run once for each format, and keep what it wrote.

golden_script.py DIRECTORY
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

from tests.index.index_samples import answers, sample_events, sample_index


def main(directory: str) -> None:
    """An index, events as JSON, and the oracle's answers to them."""
    path = Path(directory)
    events = [
        {name: each.isoformat() if isinstance(each, datetime.date) else each for name, each in event.items()}
        for event in sample_events(24, seed=9)
        if event.get("score") == event.get("score")
    ]
    sample_index("counting").save(path / "index")
    asked = {"events": events, "hits": answers(sample_index("oracle"), events), "rules": dict(sample_index())}
    (path / "asked.json").write_text(json.dumps(asked, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1])
