"""A real S3 server for tests: built once from its module, started on a free port of this machine with an empty folder.

python -m tests.systems.s3_server        builds it, as `make test-systems` does (two minutes of one core)
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import NamedTuple

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUILT = Path(__file__).parents[2] / ".systems"
BINARY = BUILT / "versitygw"
KEY, SECRET, REGION, BUCKET = "matchwood", "matchwood-secret", "us-east-1", "rules"

# … the operation, the object's key, the request's path, the status
_LINE = re.compile(r" s3_(?P<what>\w+) (?P<key>\S+) \S+ (?P<status>\d{3}) ")


class NotAvailable(Exception):
    """Why there is no server: tests skip with these words."""


class Request(NamedTuple):
    """One request as the server's log has it."""

    what: str
    key: str
    status: int


def built() -> Path:
    """The server's program, from the folder of the checkout, built if it is not there."""
    if not BINARY.exists():
        go = shutil.which("go")
        if go is None:
            raise NotAvailable("no S3 server: Go is not installed, which builds it")
        BUILT.mkdir(exist_ok=True)
        settings = {**os.environ, "GOBIN": str(BUILT), "GOFLAGS": "-p=2"}
        try:
            subprocess.run([go, "install", MODULE], env=settings, check=True, capture_output=True, timeout=900)
        except subprocess.CalledProcessError as error:
            told = error.stderr.decode(errors="replace").strip().splitlines()
            raise NotAvailable(f"no S3 server: {MODULE} could not be built ({told[-1:]})") from error
        except subprocess.TimeoutExpired as error:
            raise NotAvailable(f"no S3 server: {MODULE} was not built in a quarter of an hour") from error
    return BINARY


class S3Server:
    """A server over one folder; `kill` and `start` again find the same objects."""

    def __init__(self, folder: Path) -> None:
        self._program = built()
        self.folder, self._log = folder, folder / "access.log"
        (folder / "buckets" / BUCKET).mkdir(parents=True)
        self.port, self._told = free_port(), 0
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a client's environment must say."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }

    def start(self) -> None:
        where = ["--port", f"127.0.0.1:{self.port}", "--health", "/health", "--access-log", str(self._log)]
        keys = ["--access", KEY, "--secret", SECRET, "--region", REGION]
        command = [str(self._program), *where, *keys, "--quiet", "posix", str(self.folder / "buckets")]
        with open(self.folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self._await()

    def kill(self) -> None:
        """As a power cut would: what it was doing stays half done."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def requests(self) -> list[Request]:
        """All requests since the last `forget`."""
        lines = self._log.read_text()[self._told :].splitlines() if self._log.exists() else []
        return [
            Request(found["what"], found["key"], int(found["status"])) for found in map(_LINE.search, lines) if found
        ]

    def counts(self) -> Counter[str]:
        """How often each operation was asked for."""
        return Counter(request.what for request in self.requests())

    def fetched(self, ending: str = "") -> int:
        """The bytes of all objects that were asked for, or of those whose names end so."""
        sizes = self.objects()
        asked = [request.key for request in self.requests() if request.what == "GetObject"]
        return sum(sizes.get(key, 0) for key in asked if key.endswith(ending))

    def forget(self) -> None:
        self._told = len(self._log.read_text()) if self._log.exists() else 0

    def objects(self, prefix: str = "") -> dict[str, int]:
        """The objects below a prefix, with their sizes, as they lie in the server's folder."""
        top = self.folder / "buckets" / BUCKET
        files = [path for path in (top / prefix).rglob("*") if path.is_file()]
        return {str(path.relative_to(top)): path.stat().st_size for path in files}

    def _await(self) -> None:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.endpoint}/health", timeout=5).close()
                return
            except (urllib.error.URLError, OSError) as error:
                if self._process is None or self._process.poll() is not None:
                    told = (self.folder / "server.log").read_text()[-500:]
                    raise NotAvailable(f"no S3 server: it does not start here ({told})") from error
                time.sleep(0.1)
        raise NotAvailable("no S3 server: it did not answer within a minute")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    try:
        print(f"The S3 server of the tests: {built()}")
    except NotAvailable as missing:
        print(missing, file=sys.stderr)
