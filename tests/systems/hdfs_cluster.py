"""A real HDFS for tests, its name node and a data node in one Java: jars fetched once by Maven, an empty folder.

python -m tests.systems.hdfs_cluster        fetches the jars, as `make test-systems` does
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.systems.kafka_broker import SYSTEMS, fetched, java
from tests.systems.s3_server import NotAvailable, free_port

HADOOP = "3.4.2"
JARS = SYSTEMS / f"hadoop-{HADOOP}"
PARTS = (f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}",)
_PROGRAM = Path(__file__).with_name("SmallCluster.java")
_JAVA = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class HdfsCluster:
    """A cluster over one folder; `kill` and `start` again find the same files."""

    def __init__(self, folder: Path) -> None:
        self._java, self._classes = java(), f"{fetched(JARS, PARTS, 'HDFS')}/*"
        self.folder, self.port = folder, free_port()
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def uri(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Until the name node has left its safe mode and has its data node."""
        command = [self._java, *_JAVA, "-cp", self._classes, str(_PROGRAM), str(self.folder / "dfs"), str(self.port)]
        with open(self.folder / "cluster.log", "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.folder
            )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            self.kill()
            raise NotAvailable(f"no HDFS: it does not start here ({(self.folder / 'cluster.log').read_text()[-500:]})")

    def kill(self) -> None:
        """As a power cut would: what it was doing stays half done."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()
        self._process = None


if __name__ == "__main__":
    try:
        print(f"The HDFS of the tests: {fetched(JARS, PARTS, 'HDFS')}")
    except NotAvailable as missing:
        print(missing, file=sys.stderr)
