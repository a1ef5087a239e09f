"""Follows a table in a process of its own, which dies by SIGKILL at a point of its way.

python -m tests.systems.lake.follow_script WAREHOUSE TABLE INDEX POINT
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.systems.lake.spark_with_lake import lake_session

POINTS = ("reading", "manifest", "current", "published", "compacted")
"""Before the changes are read, the manifest is written, CURRENT names it; after publication, after compaction."""


def _dying(function: Callable[..., Any], first: bool) -> Callable[..., Any]:
    """A function before which, or after which, the process is gone."""

    def called(*arguments: Any, **named: Any) -> Any:
        if not first:
            function(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    return called


def set_trap(point: str) -> None:
    from matchwood.spark.build import update
    from matchwood.spark.follow import follower
    from matchwood.storage.local import LocalLocation

    owners: dict[str, tuple[Any, str, bool]] = {
        "reading": (follower, "net_changes", True),
        "manifest": (LocalLocation, "create", True),
        "current": (LocalLocation, "swap", True),
        "published": (update.UpdateJob, "publish", False),
        "compacted": (update, "compact", False),
    }
    owner, name, first = owners[point]
    setattr(owner, name, _dying(getattr(owner, name), first))


if __name__ == "__main__":
    from matchwood import spark as mws

    warehouse, table, index, point = sys.argv[1:]
    session = lake_session(Path(warehouse))
    set_trap(point)
    mws.follow(session, table, index)
