"""`matchwood demo`: the main job on generated rules and events."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matchwood.commands.calls import count
from matchwood.demo import embedded


def add_arguments(commands: Any) -> None:
    demo = commands.add_parser("demo", help="the main job on generated rules and events, with results to look at")
    demo.add_argument("--rules", type=count, default=50_000, metavar="N", help="how many rules (default: 50,000)")
    demo.add_argument("--events", type=count, default=100_000, metavar="N", help="how many events (default: 100,000)")
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("demo-output"),
        metavar="DIRECTORY",
        help="where results go (default: demo-output)",
    )
    demo.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    embedded.run(arguments.rules, arguments.events, arguments.output)
    return 0
