"""What a second thread asks of an index beside matching: which kernels it loads, and whether it holds a lock then.

insight_script.py ENGINE DIRECTORY     saves the index there
"""

from __future__ import annotations

import json
import sys
import threading

import matchwood as mw
from matchwood.core.machine_code.kept import Loaded, loading

RULES = 2_000
EVENT = {"service": "svc-1", "region": "us", "latency": 5}


def rule(number: int) -> str:
    return f"service = 'svc-{number % 8}' and latency > {number % 50} and region in ('us', 'eu')"


def main(engine: str, directory: str) -> None:
    index = mw.Index(engine)
    index.insert_many({f"r{number}": rule(number) for number in range(RULES)})
    index.match(EVENT)
    found: dict[str, int] = {}
    within, outside = [], []

    def hear(loaded: Loaded) -> None:
        me, lock = threading.get_ident(), index._lock
        held = me in lock._readers or lock._writer == me or index._writer._is_owned()  # type: ignore[attr-defined]
        (within if held else outside).append(loaded.kernel)

    def ask() -> None:
        for semantics in ("enclosure", "implies"):
            found[semantics] = len(index.find("latency > 40 and service = 'svc-3'", semantics))
        found["lint"] = index.lint().num_rows
        found["audit"] = len(index.audit())
        found["version"] = index.save(directory)

    with loading(hear):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    print(json.dumps({"within": within, "outside": len(outside), "found": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
