"""`matchwood stats`: what a saved index holds, and whether it is sound."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from matchwood.commands.names import HELP
from matchwood.progress import Progress
from matchwood.sharding import open_index
from matchwood.storage import current_version


def add_arguments(commands: Any) -> None:
    stats = commands.add_parser("stats", help=HELP["stats"])
    stats.add_argument("index", help="a saved index")
    stats.add_argument("--json", action="store_true", help="print data instead of a table")
    stats.add_argument(
        "--audit",
        action="store_true",
        help="also check every byte and every invariant; the exit status is 1 if one is broken",
    )
    stats.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with Progress(f"opening {arguments.index}"):
        index = open_index(arguments.index, read_only=True, verify="full" if arguments.audit else "auto")
    figures = {"version": current_version(arguments.index), **index.stats()}
    del figures["matching"]  # what this process has matched: nothing
    if arguments.audit:
        with Progress(f"auditing {arguments.index}"):
            figures["problems"] = index.audit()
    print(json.dumps(figures, indent=2) if arguments.json else "\n".join(_lines(figures)))
    return 1 if figures.get("problems") else 0


def _lines(figures: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Nested figures, one a line, numbers grouped."""
    for name, value in figures.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and name == "ids":
            yield f"{indent}{name:24} {', '.join(map(str, value)) or 'none'}"
        elif isinstance(value, list | Mapping):
            yield f"{indent}{name:24} {'none' if not value else len(value)}"
            yield from (f"{indent}  {_entry(entry)}" for entry in value)
        else:
            yield f"{indent}{name:24} {_shown(value)}"


def _entry(entry: Any) -> str:
    """One of several: words as they are, figures behind what they are figures of.

    >>> _entry({"predicate": "age >= 18", "units": 1200, "share": 0.5})
    'age >= 18: units 1,200, share 0.5'
    """
    if not isinstance(entry, Mapping):
        return str(entry)
    (_, subject), *figures = entry.items()
    return f"{subject}: " + ", ".join(f"{name} {_shown(value)}" for name, value in figures)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
