"""`matchwood versions`: the versions of a saved index."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from matchwood import storage
from matchwood.commands.names import HELP
from matchwood.errors import counted


def add_arguments(commands: Any) -> None:
    listed = commands.add_parser("versions", help=HELP["versions"])
    listed.add_argument("index", help="a saved index")
    listed.add_argument("--json", action="store_true", help="print data instead of a table")
    listed.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
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
        follows = f", {info.follows['table']} version {info.follows['version']}" if info.follows else ""
        yield f"{info.version:>6}  {mark:7}  {info.created:%Y-%m-%d %H:%M:%S} UTC  {parts}{restored}{follows}"
