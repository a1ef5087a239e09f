"""The job of `bench sharing`, in a process of its own: `sharing_job HOME WORKERS`.

HOME has `events`, a file for each worker, and the indexes `few` and `many`. Prints JSON: the proportional bytes of each
worker after it has matched by either, the bytes of the large index, and the hits that were found.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from matchwood import spark as mws
from matchwood import storage
from matchwood.bench.frame.processes import descendants, is_python_worker, proportional_bytes
from matchwood.errors import MatchwoodError


def main(home: str, workers: int) -> None:
    # A file a task, whatever its size; and all tasks at once.
    session = mws.session(master=f"local[{workers}]", **{"spark.sql.files.openCostInBytes": str(2**30)})
    events = session.read.parquet(f"{home}/events")
    told: dict[str, Any] = {}
    for name in ("few", "many"):
        counts = mws.match(events, f"{home}/{name}", "count", keep=[], strategy="broadcast")
        told["hits"] = counts.agg({"rule_count": "sum"}).first()[0]
        told[name] = [proportional_bytes(number) for number in _workers(workers)]
    told["bytes"] = sum(version.bytes for version in storage.versions(f"{home}/many"))
    session.stop()
    print(json.dumps(told), flush=True)


def _workers(wanted: int) -> list[int]:
    """The Python workers; they descend from a process that has the same command."""
    found = [each for each in descendants(os.getpid()) if is_python_worker(each.command)]
    forked = [each.number for each in found if each.parent in {other.number for other in found}]
    if len(forked) != wanted:
        raise MatchwoodError(f"{len(forked)} Python workers, where {wanted} were to work at once")
    return forked


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
