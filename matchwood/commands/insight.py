"""`matchwood stats`: what a saved index holds and how it is doing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from matchwood.index import open_index


def add_arguments(commands: Any) -> None:
    stats = commands.add_parser("stats", help="what a saved index holds")
    stats.add_argument("index", help="a saved index")
    stats.add_argument("--json", action="store_true", help="as data instead of a table")
    stats.add_argument("--audit", action="store_true", help="also check every invariant of its structures")
    stats.set_defaults(run=run_stats)


def run_stats(arguments: argparse.Namespace) -> int:
    index = open_index(arguments.index, read_only=True)
    stats = index.stats()
    print(json.dumps(stats, indent=2) if arguments.json else "\n".join(_lines(stats)))
    if not arguments.audit:
        return 0
    problems = index.audit()
    print("\n".join(problems) or "audit: every structure is sound")
    return 1 if problems else 0


def _lines(stats: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Nested figures, one a line, numbers grouped."""
    for name, value in stats.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}"
            yield from _lines(value, indent + "  ")
        else:
            shown = f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else value
            yield f"{indent}{name:24} {shown}"
