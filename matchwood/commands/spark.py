"""`matchwood spark build | update | follow | match | verify | backtest`: the pipeline on paths and tables of Spark.

matchwood spark build rules.parquet /data/index --master 'local[4]'
spark-submit --master yarn "$(which matchwood)" spark match db.events hdfs:/index db.hits
"""

from __future__ import annotations

import argparse
from typing import Any

from matchwood.commands import spark_runs
from matchwood.commands.calls import count, reject_limit, schema_text
from matchwood.commands.names import HELP
from matchwood.engines import engine_choices
from matchwood.ranking import WEIGHT


def add_arguments(commands: Any) -> None:
    spark = commands.add_parser("spark", help=HELP["spark"])
    steps = spark.add_subparsers(title="steps", metavar="step", required=True)
    for add in (_add_build, _add_update, _add_follow, _add_match, _add_verify, _add_backtest):
        add(steps)


def _step(steps: Any, name: str, told: str, files: bool = True) -> argparse.ArgumentParser:
    step: argparse.ArgumentParser = steps.add_parser(name, help=told)
    where = step.add_mutually_exclusive_group()
    where.add_argument("--master", help="where Spark runs (default: local[*], or as submitted)")
    where.add_argument("--remote", metavar="URL", help="a Spark Connect server, such as sc://host")
    step.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark")
    if files:
        step.add_argument("--format", help="how paths are read and written (default: by their ending, else parquet)")
    step.set_defaults(run=spark_runs.run, step=name)
    return step


def _add_columns(step: argparse.ArgumentParser) -> None:
    step.add_argument("--id", default="id", metavar="COLUMN", help="the column with ids (default: id)")
    step.add_argument("--expression", default="expression", metavar="COLUMN", help="the column with rules")
    step.add_argument("--weight", metavar="COLUMN", help="a column with constant weights")
    step.add_argument("--weights", metavar="COLUMN", help="a column with weights by attribute, as JSON")
    step.add_argument(
        "--on-error", choices=("quarantine", "fail"), default="quarantine", help="what to do with bad rules"
    )
    told = "publish nothing if more rules are rejected: a number, or a share such as 0.05 (default: a tenth, or ten)"
    step.add_argument("--max-rejected", type=reject_limit, metavar="N", help=told)


def _add_rules(step: argparse.ArgumentParser) -> None:
    _add_columns(step)
    step.add_argument("--on-duplicate", choices=("error", "last"), default="error", help="what to do with repeated ids")
    step.add_argument(
        "--order", metavar="COLUMN", help="the column that says which rule is last, for --on-duplicate last"
    )


def _add_build(steps: Any) -> None:
    build = _step(steps, "build", "build an index from a table of rules")
    build.add_argument("rules", help="a path or table with the columns id and expression")
    build.add_argument("index", help="where to publish the index, as a new version")
    _add_rules(build)
    _add_building(build)
    build.add_argument("--allow-empty", action="store_true", help="publish a version without any rule")


def _add_building(step: argparse.ArgumentParser) -> None:
    step.add_argument("--engine", choices=engine_choices(), help="how to match (default: auto)")
    step.add_argument("--schema", type=schema_text, help="types of attributes, as DDL")
    step.add_argument(
        "--shards", type=count, metavar="N", help="number of shards (default: one, or more if it is too large)"
    )


def _add_update(steps: Any) -> None:
    update = _step(steps, "update", "insert, replace and delete rules of an index")
    update.add_argument("changes", help="a path or table of rules; a NULL expression deletes the rule")
    update.add_argument("index", help="the index")
    _add_rules(update)


def _add_follow(steps: Any) -> None:
    follow = _step(steps, "follow", "bring an index to what a Delta or Iceberg table of rules is now", files=False)
    follow.add_argument("table", help="the table's name, or the path of a Delta table")
    follow.add_argument("index", help="the index; built if there is none")
    _add_columns(follow)
    _add_building(follow)
    follow.add_argument("--every", metavar="TIME", help="keep running, and look this often, such as '10 seconds'")
    follow.add_argument("--reset", action="store_true", help="build the index again from the whole table")


def _add_match(steps: Any) -> None:
    match = _step(steps, "match", "find the rules that are true for each event")
    match.add_argument("events", help="a path or table of events")
    match.add_argument("index", help="the index")
    match.add_argument("hits", help="a path or table to write")
    match.add_argument(
        "--output",
        choices=("rows", "array", "count"),
        default="rows",
        help="a row for each match, or an array or a count for each event (default: rows)",
    )
    match.add_argument(
        "--mode", choices=("error", "append", "overwrite"), default="error", help="what to do if there are hits"
    )
    match.add_argument("--keep", metavar="COLUMNS", help="event columns to keep, separated by commas (default: all)")
    match.add_argument("--top", type=count, metavar="N", help="only the best N rules of an event")
    match.add_argument(
        "--weight", choices=WEIGHT, default=WEIGHT[0], help="with --top: added to a rule's score, or the only score"
    )
    match.add_argument("--strategy", choices=("auto", "broadcast", "sharded", "partitioned"), default="auto")
    match.add_argument("--index-version", type=count, metavar="N", help="a version of the index (default: current)")
    match.add_argument("--key", metavar="COLUMN", help="a column whose values are distinct, for 'partitioned'")
    match.add_argument("--event", metavar="COLUMN", help="the struct, map or JSON column that holds the event")
    match.add_argument(
        "--on-error", choices=("raise", "fail", "null", "report"), default="raise", help="values that do not fit"
    )
    match.add_argument("--missing", choices=("null", "error"), default="null", help="attributes that no column has")
    match.add_argument("--prefix", default="", help="a prefix for the names of added columns")


def _add_verify(steps: Any) -> None:
    verify = _step(steps, "verify", "compare a sample of hits with what Spark SQL says")
    verify.add_argument("events", help="a path or table of events")
    verify.add_argument("rules", help="a path or table with the columns id and expression")
    verify.add_argument("hits", help="a path or table that 'match' wrote")
    verify.add_argument(
        "--key", default="event_id", metavar="COLUMN", help="the column that identifies events (default: event_id)"
    )
    verify.add_argument("--index", metavar="PATH", help="the index that was matched, to read values in the same way")
    verify.add_argument("--rules-sample", type=count, default=100, metavar="N", help="(default: 100)")
    verify.add_argument("--events-sample", type=count, default=1000, metavar="N", help="(default: 1000)")


def _add_backtest(steps: Any) -> None:
    backtest = _step(steps, "backtest", "show what changes to rules would gain and lose on past events")
    backtest.add_argument("events", help="a path or table of events")
    backtest.add_argument("index", help="the index")
    backtest.add_argument("changes", help="a path or table of rules; a NULL expression deletes the rule")
    backtest.add_argument(
        "--key", default="event_id", metavar="COLUMN", help="the column that identifies events (default: event_id)"
    )
    backtest.add_argument("--id", default="id", metavar="COLUMN", help="the column with ids (default: id)")
    backtest.add_argument("--expression", default="expression", metavar="COLUMN", help="the column with rules")
    backtest.add_argument("--event", metavar="COLUMN", help="the struct, map or JSON column that holds the event")
    backtest.add_argument("--index-version", type=count, metavar="N", help="a version of the index (default: current)")
    backtest.add_argument("--html", metavar="FILE", help="write a page with the counts, samples and reasons")
