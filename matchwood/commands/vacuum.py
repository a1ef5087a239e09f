"""`matchwood vacuum`: old versions of a saved index, removed."""

from __future__ import annotations

import argparse
from typing import Any

from matchwood import storage
from matchwood.commands.calls import count
from matchwood.commands.names import HELP
from matchwood.errors import counted


def add_arguments(commands: Any) -> None:
    swept = commands.add_parser("vacuum", help=HELP["vacuum"])
    swept.add_argument("index", help="a saved index")
    swept.add_argument(
        "--keep", type=count, default=3, metavar="N", help="how many of the newest versions to keep (default: 3)"
    )
    swept.add_argument(
        "--grace",
        default="1 day",
        metavar="TIME",
        help="also keep versions replaced less than this time ago, like '12 hours' (default: 1 day)",
    )
    swept.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    removed = storage.vacuum(arguments.index, arguments.keep, arguments.grace)
    listed = f": {', '.join(map(str, removed))}" if removed else ""
    print(f"{arguments.index}: {counted(len(removed), 'version')} removed{listed}")
    return 0
