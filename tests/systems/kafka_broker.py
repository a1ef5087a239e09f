"""A real Kafka broker for tests: its jars fetched once by Maven, started alone (KRaft) on free ports with empty logs.

python -m tests.systems.kafka_broker        fetches the jars, as `make test-systems` does
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.systems.s3_server import NotAvailable, free_port

KAFKA = "4.1.2"
SYSTEMS = Path(__file__).parents[2] / ".systems"
JARS = SYSTEMS / f"kafka-{KAFKA}"
PARTS = (f"org.apache.kafka:kafka_2.13:{KAFKA}", f"org.apache.kafka:kafka-tools:{KAFKA}")
"""The broker, and the commands that make topics and send messages at a given rate."""

_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>matchwood</groupId><artifactId>systems</artifactId><version>1</version><dependencies>{parts}</dependencies>
</project>"""
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
_JAVA = ("-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A small heap and quick compilation: a broker of tests lives for a minute."""

_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.cleaner.dedupe.buffer.size=16777216
"""


def fetched(folder: Path, parts: Iterable[str], what: str, alone: bool = False) -> Path:
    """A folder of jars that Maven fetched, with all they need, or `alone` what is named."""
    if not list(folder.glob("*.jar")):
        maven = shutil.which("mvn")
        if maven is None:
            raise NotAvailable(f"no {what}: Maven (mvn) is not installed, which fetches its jars")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pom.xml").write_text(_PROJECT.format(parts="".join(_dependency(part, alone) for part in parts)))
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
        command = [maven, "-q", "-B", "-f", str(folder / "pom.xml"), f"-Dmaven.repo.local={SYSTEMS / 'maven'}", *goal]
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=900)
        except subprocess.TimeoutExpired as error:
            raise NotAvailable(f"no {what}: its jars were not fetched in a quarter of an hour") from error
        if told.returncode:
            raise NotAvailable(f"no {what}: Maven could not fetch its jars ({told.stdout.strip()[:300]})")
    return folder


def _dependency(part: str, alone: bool) -> str:
    names = zip(("groupId", "artifactId", "version"), part.split(":"), strict=True)
    inside = "".join(f"<{name}>{value}</{name}>" for name, value in names)
    return f"<dependency>{inside}{_ALONE if alone else ''}</dependency>"


class KafkaBroker:
    """A broker over one folder; as a context, it is stopped for sure."""

    def __init__(self, folder: Path) -> None:
        self._java = java()
        self._classes = f"{fetched(JARS, PARTS, 'Kafka broker')}/*"
        self.folder = folder
        ports = {"port": free_port(), "controller": free_port()}
        self.address = f"127.0.0.1:{ports['port']}"
        self._settings = folder / "server.properties"
        self._settings.write_text(_SETTINGS.format(folder=folder, **ports))
        cluster = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        self._run("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._settings))
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def __enter__(self) -> KafkaBroker:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self) -> None:
        with open(self.folder / "broker.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", str(self._settings)), stdout=log, stderr=log, cwd=self.folder
            )
        self._await()

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def create(self, topic: str, partitions: int = 2, **settings: object) -> str:
        """A new topic, with settings as Kafka names them, underscores for dots; returns its name."""
        named = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        options = [option for each in named for option in ("--config", each)]
        where = ["--bootstrap-server", self.address, "--create", "--topic", topic, "--partitions", str(partitions)]
        self._run("org.apache.kafka.tools.TopicCommand", *where, *options)
        return topic

    def sending(self, topic: str, values: Path, count: int, rate: int) -> subprocess.Popen[bytes]:
        """A producer in a process of its own that sends lines of a file, drawn at random, so many a second."""
        how = ["--topic", topic, "--num-records", str(count), "--throughput", str(rate)]
        properties = [f"bootstrap.servers={self.address}", "linger.ms=5", "acks=1"]
        options = [*how, "--payload-file", str(values), "--producer-props", *properties]
        command = self._command("org.apache.kafka.tools.ProducerPerformance", *options)
        with open(self.folder / "producer.log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def options(self, **more: object) -> Mapping[str, str]:
        """What Spark's readers and writers must be told."""
        return {"kafka.bootstrap.servers": self.address, **{name: str(value) for name, value in more.items()}}

    def _command(self, main: str, *arguments: str) -> list[str]:
        return [self._java, *_JAVA, "-Xmx256m", "-cp", self._classes, main, *arguments]

    def _run(self, main: str, *arguments: str) -> None:
        told = subprocess.run(self._command(main, *arguments), capture_output=True, text=True, timeout=300)
        if told.returncode:
            raise NotAvailable(f"no Kafka broker: {main} fails ({(told.stderr + told.stdout)[-500:]})")

    def _await(self) -> None:
        host, _, port = self.address.partition(":")
        for _ in range(600):
            try:
                socket.create_connection((host, int(port)), timeout=5).close()
                return
            except OSError as error:
                if self._process is None or self._process.poll() is not None:
                    told = (self.folder / "broker.log").read_text()[-500:]
                    raise NotAvailable(f"no Kafka broker: it does not start here ({told})") from error
                time.sleep(0.1)
        self.kill()
        raise NotAvailable("no Kafka broker: it did not answer within a minute")


def java() -> str:
    """The Java that runs the broker."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        raise NotAvailable("no Kafka broker: Java is not installed, which runs it")
    return found


if __name__ == "__main__":
    try:
        print(f"The Kafka broker of the tests: {fetched(JARS, PARTS, 'Kafka broker')}")
    except NotAvailable as missing:
        print(missing, file=sys.stderr)
