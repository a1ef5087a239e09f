"""`matchwood demo`: the main job on generated rules and events."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matchwood.commands.calls import count
from matchwood.commands.names import HELP, WrongCall
from matchwood.demo import embedded, pipeline
from matchwood.errors import MatchwoodError

_SIZES = {False: (100_000, 200_000), True: (50_000, 100_000)}
"""Rules and events, on Spark and embedded."""


def add_arguments(commands: Any) -> None:
    demo = commands.add_parser("demo", help=HELP["demo"])
    demo.add_argument("--rules", type=count, metavar="N", help="how many rules (default: 100,000; embedded 50,000)")
    demo.add_argument("--events", type=count, metavar="N", help="how many events (default: 200,000; embedded 100,000)")
    demo.add_argument("--embedded", action="store_true", help="run in this process, without Spark")
    demo.add_argument("--master", metavar="URL", help="Spark's master (default: all cores of this machine)")
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("demo-output"),
        metavar="DIRECTORY",
        help="where to write the results (default: demo-output)",
    )
    demo.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    rules, events = _SIZES[arguments.embedded]
    rules, events = arguments.rules or rules, arguments.events or events
    if not arguments.embedded:
        _check_spark()
        pipeline.run(rules, events, arguments.output, arguments.master)
    elif arguments.master:
        raise WrongCall("--master is for the demo on Spark, --embedded for the one without")
    else:
        embedded.run(rules, events, arguments.output)
    return 0


def _check_spark() -> None:
    try:
        import matchwood.spark  # noqa: F401
    except ImportError as error:
        raise MatchwoodError(f"{error} (matchwood demo --embedded does without)") from error
