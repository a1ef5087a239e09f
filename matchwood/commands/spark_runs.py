"""What the steps of `matchwood spark` do. PySpark is imported when one runs."""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from typing import Any

from matchwood.commands.names import WrongCall
from matchwood.errors import MatchwoodError, counted
from matchwood.progress import Progress

FORMATS = {"csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet", "orc": "orc"}
SHOWN = 20

_VERIFIED = ("events", "rules", "hits")

_ENDING = re.compile(r"\.(\w+?)(?:\.(?:gz|bz2|zst|snappy))?/?$")


def run(arguments: argparse.Namespace) -> int:
    """Start or find a session, do the step, and stop a session that was started for it."""
    if arguments.step == "match":
        _check_output(arguments.hits, arguments.format)
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MatchwoodError("matchwood spark needs PySpark: pip install 'matchwood[spark]'") from None
    from matchwood import spark as mws

    found = SparkSession.getActiveSession()
    spark = mws.session(**_settings(arguments))
    try:
        return STEPS[arguments.step](spark, arguments)
    except PySparkException as error:
        raise MatchwoodError(str(error)) from error
    finally:
        if found is None:
            spark.stop()


def _settings(arguments: argparse.Namespace) -> dict[str, str]:
    settings = {name: value for name in ("master", "remote") if (value := getattr(arguments, name))}
    for given in arguments.conf:
        name, equals, value = given.partition("=")
        if not equals or not name.startswith("spark."):
            raise WrongCall(f"--conf takes a setting like spark.executor.memory=4g (got {given!r})")
        settings[name] = value
    return settings


def format_of(text: str, given: str | None) -> str | None:
    """The format of a path, None for a table's name.

    >>> format_of("rules.csv.gz", None), format_of("/data/rules", None), format_of("db.rules", None)
    ('csv', 'parquet', None)
    """
    ending = _ENDING.search(text)
    known = FORMATS.get(ending[1].lower()) if ending else None
    if given or known:
        return given or known
    return "parquet" if "/" in text or "\\" in text else None


def _check_output(text: str, given: str | None) -> None:
    """A name alone would become a table of the current database, where somebody who meant a file never looks."""
    if format_of(text, given) is None and "." not in text:
        raise WrongCall(f"{text!r} could be a path or a table: write ./{text} for a path, default.{text} for a table")


def read(spark: Any, text: str, given: str | None) -> Any:
    """A path or table as a DataFrame."""
    kind = format_of(text, given)
    if kind is None:
        return spark.table(text)
    options = {"header": True, "inferSchema": True, "multiLine": True, "escape": '"'} if kind == "csv" else {}
    return spark.read.format(kind).options(**options).load(text)


def write(frame: Any, text: str, given: str | None, mode: str) -> int:
    """Write a DataFrame to a path or table; returns the number of rows."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation("matchwood")
    counted = frame.observe(seen, F.count(F.lit(1)).alias("rows"))
    kind = format_of(text, given)
    writer = counted.write.mode(mode)
    if kind is None:
        writer.saveAsTable(text)
    else:
        writer.format(kind).options(**({"header": True} if kind == "csv" else {})).save(text)
    return int(seen.get["rows"])


_COLUMNS = ("id", "expression", "weight", "weights", "on_error", "max_rejected")


def _rule_options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in (*_COLUMNS, "on_duplicate", "order")}


def _building(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was said of the index to build."""
    return {name: value for name in ("engine", "schema", "shards") if (value := getattr(arguments, name)) is not None}


def build(spark: Any, arguments: argparse.Namespace) -> int:
    from matchwood import spark as mws

    rules = read(spark, arguments.rules, arguments.format)
    more = {**_building(arguments), "allow_empty": arguments.allow_empty}
    with Progress(f"building {arguments.index}"):
        report = mws.build(rules, arguments.index, **_rule_options(arguments), **more)
    return _told(spark, arguments.index, report)


def update(spark: Any, arguments: argparse.Namespace) -> int:
    from matchwood import spark as mws

    changes = read(spark, arguments.changes, arguments.format)
    with Progress(f"updating {arguments.index}"):
        report = mws.update(changes, arguments.index, **_rule_options(arguments))
    return _told(spark, arguments.index, report)


def follow(spark: Any, arguments: argparse.Namespace) -> int:
    """Print a line for each version that is published; the exit status is 1 if rules were rejected."""
    from matchwood import spark as mws

    options = {name: getattr(arguments, name) for name in _COLUMNS}
    trigger = {"processingTime": arguments.every} if arguments.every else None
    with Progress(f"following {arguments.table}"):
        followed = mws.follow(
            spark, arguments.table, arguments.index, **options, **_building(arguments), trigger=trigger,
            reset=arguments.reset,
        )  # fmt: skip
    told = 0
    while True:
        is_over = followed.awaitTermination(1)
        for step in followed.steps[told:]:
            print(f"{arguments.index}: {step}", flush=True)
        told = len(followed.steps)
        if is_over:
            break
    if not told:
        print(f"{arguments.index}: {followed}")
    return 1 if followed.rejected else 0


def _told(spark: Any, index: str, report: Any) -> int:
    """Print the report and some rejected rules; the exit status is 1 if there are any."""
    from matchwood import spark as mws

    print(f"{index}: {report}")
    if not report.rejected:
        return 0
    for row in mws.rejects(spark, index, report.version).limit(5).collect():
        print(f"  {row['id']}: {row['error']}".replace("\n", "\n  "))
    return 1


def match(spark: Any, arguments: argparse.Namespace) -> int:
    from matchwood import spark as mws

    names = ("output", "top", "weight", "strategy", "key", "event", "on_error", "missing", "prefix")
    options = {name: getattr(arguments, name) for name in names}
    keep = None if arguments.keep is None else [name for name in arguments.keep.split(",") if name]
    events = read(spark, arguments.events, arguments.format)
    with Progress(f"matching {arguments.events}") as progress:
        hits = mws.match(events, arguments.index, keep=keep, version=arguments.index_version, **options)
        rows = write(hits, arguments.hits, arguments.format, arguments.mode)
    print(f"{counted(rows, 'row')} in {progress.seconds:.1f} s, written to {arguments.hits}", file=sys.stderr)
    return 0


def verify(spark: Any, arguments: argparse.Namespace) -> int:
    """Print pairs on which the two disagree; the exit status is 1 if there are any."""
    from matchwood import spark as mws
    from matchwood.spark import NotVerified

    events, rules, hits = (read(spark, getattr(arguments, name), arguments.format) for name in _VERIFIED)
    samples = {"rules_sample": arguments.rules_sample, "events_sample": arguments.events_sample}
    asked = {"key": arguments.key, "path": arguments.index, **samples}
    with Progress(f"verifying {arguments.hits}"), warnings.catch_warnings(record=True) as left_out:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", NotVerified)
        wrong = mws.verify(events, rules, hits, **asked).limit(SHOWN + 1).collect()
    for warning in left_out:
        print(f"matchwood: {warning.message}", file=sys.stderr)
    for row in wrong[:SHOWN]:
        print(f"  event {row['key']!r}, rule {row['rule']!r}: ours {row['ours']}, Spark SQL {row['theirs']}")
    sampled = f"{counted(arguments.rules_sample, 'rule')} and {counted(arguments.events_sample, 'event')} at most"
    many = f"more than {SHOWN} disagreements" if len(wrong) > SHOWN else counted(len(wrong), "disagreement")
    print(f"{many} with Spark SQL, on a sample of {sampled}")
    return 1 if wrong else 0


def backtest(spark: Any, arguments: argparse.Namespace) -> int:
    """Print the rules that gain or lose most."""
    from matchwood import spark as mws

    events, changes = (read(spark, getattr(arguments, name), arguments.format) for name in ("events", "changes"))
    options = {name: getattr(arguments, name) for name in ("key", "id", "expression", "event")}
    with Progress(f"matching {arguments.changes} on {arguments.events}"):
        tested: Any = mws.backtest(events, arguments.index, changes, version=arguments.index_version, **options)
    if arguments.html:
        tested.report(arguments.html)
    rows = sorted(tested.collect(), key=lambda row: -(row["gained"] + row["lost"]))
    for row in rows[:SHOWN]:
        told = f"{row['before']:,} hits before, {row['after']:,} after, +{row['gained']:,} -{row['lost']:,}"
        print(f"  {row['rule']!r}: {told}" + "".join(f", such as {key!r}" for key in row["sample"][:1]))
    gained, lost = sum(row["gained"] for row in rows), sum(row["lost"] for row in rows)
    print(f"{counted(len(rows), 'change')}: {gained:,} hits gained, {lost:,} lost")
    return 0


STEPS = {"build": build, "update": update, "follow": follow, "match": match, "verify": verify, "backtest": backtest}
