"""`matchwood demo`: the main job on generated rules and events."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matchwood.demo import embedded


def add_arguments(commands: Any) -> None:
    demo = commands.add_parser("demo", help="the main job on generated rules and events, with results to look at")
    demo.add_argument("--rules", type=int, default=100_000, help="how many rules (default: 100,000)")
    demo.add_argument("--events", type=int, default=200_000, help="how many events (default: 200,000)")
    demo.add_argument("-o", "--output", type=Path, default=Path("demo-output"), help="where results go")
    demo.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    embedded.run(arguments.rules, arguments.events, arguments.output)
    return 0
