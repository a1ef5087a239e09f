"""`matchwood rollback`: an old version of a saved index, brought back as a new one."""

from __future__ import annotations

import argparse
from typing import Any

from matchwood import storage
from matchwood.commands.calls import count
from matchwood.commands.names import HELP


def add_arguments(commands: Any) -> None:
    back = commands.add_parser("rollback", help=HELP["rollback"])
    back.add_argument("index", help="a saved index")
    back.add_argument("version", type=count, help="the version to bring back")
    back.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    version = storage.rollback(arguments.index, arguments.version)
    print(f"{arguments.index}: version {version}, equal to version {arguments.version}, is current")
    return 0
