"""`matchwood versions | rollback | vacuum`: the versions of a saved index, listed, brought back and removed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from matchwood import storage
from matchwood.commands.calls import count
from matchwood.errors import counted


def add_arguments(commands: Any) -> None:
    listed = commands.add_parser("versions", help="the versions of a saved index")
    listed.add_argument("--json", action="store_true", help="as data instead of a table")
    back = commands.add_parser("rollback", help="publish a new version equal to an old one")
    swept = commands.add_parser("vacuum", help="remove old versions")
    for command, run in ((listed, _list), (back, _roll_back), (swept, _vacuum)):
        command.add_argument("index", help="a saved index")
        command.set_defaults(run=run)
    back.add_argument("version", type=count, help="the version to bring back")
    swept.add_argument("--keep", type=count, default=3, metavar="N", help="how many of the newest stay (default: 3)")
    swept.add_argument(
        "--grace",
        default="1 day",
        metavar="TIME",
        help="versions stay that were replaced less long ago, like '12 hours' (default: 1 day)",
    )


def _list(arguments: argparse.Namespace) -> int:
    """The exit status is 1 if a version is damaged."""
    infos = storage.versions(arguments.index)
    print(json.dumps([_data(info) for info in infos], indent=2) if arguments.json else "\n".join(_lines(infos)))
    return 1 if any(info.problem for info in infos) else 0


def _data(info: storage.VersionInfo) -> dict[str, Any]:
    created = info.created.isoformat() if info.created else None
    return {**info.__dict__, "created": created}


def _lines(infos: list[storage.VersionInfo]) -> Iterator[str]:
    for info in infos:
        mark = "current" if info.current else ""
        if info.created is None:
            yield f"{info.version:>6}  {mark:7}  {info.problem}"
            continue
        parts = f"{counted(info.parts, 'part')} of {info.bytes / 2**20:,.1f} MiB"
        restored = f", equal to version {info.restored_from}" if info.restored_from else ""
        yield f"{info.version:>6}  {mark:7}  {info.created:%Y-%m-%d %H:%M:%S} UTC  {parts}{restored}"


def _roll_back(arguments: argparse.Namespace) -> int:
    version = storage.rollback(arguments.index, arguments.version)
    print(f"{arguments.index}: version {version}, equal to version {arguments.version}, is current")
    return 0


def _vacuum(arguments: argparse.Namespace) -> int:
    removed = storage.vacuum(arguments.index, arguments.keep, arguments.grace)
    listed = f": {', '.join(map(str, removed))}" if removed else ""
    print(f"{arguments.index}: {counted(len(removed), 'version')} removed{listed}")
    return 0
