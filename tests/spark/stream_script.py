"""Two streaming queries in a process of their own, for the test that kills it: `stream_script.py HOME`.

HOME has `in`, the events, and `index`. `sink` is `match` to files; `writer` is `match_stream` with a writer that
replaces a batch's files. Each leaves its checkpoint and output in a directory of its name; both end when all events are
done.
"""

from __future__ import annotations

import sys
from typing import Any

from match_support import EVENTS_DDL
from quick_session import SETTINGS

from matchwood import spark as mws


def main(home: str) -> None:
    session = mws.session(master="local[2]", spark_driver_memory="1g", **SETTINGS)
    events = session.readStream.schema(EVENTS_DDL).option("maxFilesPerTrigger", 1).parquet(f"{home}/in")
    queries = [_sink(events, home), _writer(events, home)]
    for query in queries:
        query.awaitTermination()
    print("finished", flush=True)


def _sink(events: Any, home: str) -> Any:
    writer = mws.match(events, f"{home}/index", keep=["id"]).writeStream.format("parquet")
    options = {"checkpointLocation": f"{home}/sink/checkpoint", "path": f"{home}/sink/out"}
    return writer.options(**options).trigger(availableNow=True).start()


def _writer(events: Any, home: str) -> Any:
    def write(hits: Any, batch_id: int, version: int) -> None:
        hits.write.mode("overwrite").parquet(f"{home}/writer/out/batch={batch_id}")

    settings: dict[str, Any] = {"checkpointLocation": f"{home}/writer/checkpoint", "trigger": {"availableNow": True}}
    return mws.match_stream(events, f"{home}/index", write, keep=["id"], queryName="killed", **settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
