"""`matchwood build`: a file of rules made into an index on disk."""

from __future__ import annotations

import argparse
from typing import Any

from matchwood.commands.calls import reject_limit
from matchwood.commands.files.rejects import rejects_file, report_rejects
from matchwood.commands.files.rules import add_rule_arguments, load_rules
from matchwood.commands.names import HELP
from matchwood.engines import engine_choices
from matchwood.errors import InvalidArgument, counted
from matchwood.matching import RejectLimit
from matchwood.progress import Progress


def add_arguments(commands: Any) -> None:
    build = commands.add_parser("build", help=HELP["build"])
    add_rule_arguments(build)
    build.add_argument("index", help="where to save the index, as a new version")
    build.add_argument("--engine", choices=engine_choices(), default="auto", help="how to match (default: auto)")
    build.add_argument(
        "--on-duplicate",
        choices=("error", "replace"),
        default="error",
        help="a repeated id rejects the rule (default), or replaces the earlier one",
    )
    build.add_argument(
        "--max-rejected",
        type=reject_limit,
        metavar="N",
        help="save nothing if more rules are rejected: a number, or a share such as 0.05 (default: a tenth, or ten)",
    )
    build.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Rejected rules are reported before anything is saved: a rule is never dropped in silence."""
    rejects_file(arguments)
    index, report = load_rules(arguments, arguments.engine, arguments.on_duplicate)
    status = report_rejects(arguments, report)
    if not len(index):
        raise InvalidArgument(f"{arguments.rules}: no rule can be used, so nothing was saved")
    RejectLimit.of(arguments.max_rejected).check(report, "saved")
    with Progress(f"saving {arguments.index}"):
        version = index.save(arguments.index)
    print(f"{arguments.index}: version {version} with {counted(len(index), 'rule')}, engine {index.engine} ({report})")
    return status
