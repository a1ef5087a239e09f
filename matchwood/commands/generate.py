"""`matchwood generate`: rules and events of the papers' generators as files, made here or by Spark's executors."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.commands.calls import count, output_file
from matchwood.commands.files.writing import open_sink
from matchwood.commands.names import HELP, WrongCall
from matchwood.errors import counted
from matchwood.progress import Progress
from matchwood.workloads import GENERATORS, blocks_of, generate, rules_block, rules_on_spark, settings_of


def add_arguments(commands: Any) -> None:
    command = commands.add_parser("generate", help=HELP["generate"])
    command.add_argument("workload", choices=GENERATORS, metavar="WORKLOAD", help=", ".join(GENERATORS))
    command.add_argument(
        "output", type=Path, metavar="RULES", help="where to write the rules; with --spark, a directory"
    )
    command.add_argument("--rules", type=count, metavar="N", help="how many rules")
    command.add_argument("--events", type=count, metavar="N", help="how many events")
    command.add_argument("--events-file", type=output_file, metavar="FILE", help="where to write the events")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="another seed gives other rules (default: 0)")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the generator")
    command.add_argument("--spark", action="store_true", help="make the rules with Spark's executors, as Parquet")
    command.add_argument("--master", metavar="URL", help="Spark's master (default: all cores of this machine)")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    settings = _settings(arguments)
    if arguments.spark and arguments.events_file:
        raise WrongCall("--spark makes only rules: make the events without --spark, with the same settings")
    if arguments.master and not arguments.spark:
        raise WrongCall("--master goes with --spark")
    if not arguments.spark:
        output_file(str(arguments.output))
    started = time.monotonic()
    make = _on_spark if arguments.spark else _here
    rules = make(arguments, settings)
    if arguments.events_file:
        _write(generate(arguments.workload, **settings).events_table(), arguments.events_file)
    print(f"{arguments.output}: {counted(rules, 'rule')} of {arguments.workload} in {time.monotonic() - started:.1f} s")
    return 0


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Of the generator: numbers where they look like numbers."""
    named = {name: getattr(arguments, name) for name in ("rules", "events") if getattr(arguments, name) is not None}
    for text in arguments.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongCall(f"--set takes NAME=VALUE (got {text!r})")
        named[name] = _value(value)
    return {**named, "seed": arguments.seed}


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _here(arguments: argparse.Namespace, settings: dict[str, Any]) -> int:
    """Block by block, so that more rules can be made than memory holds."""
    chosen = settings_of(arguments.workload, settings)
    sink = open_sink(arguments.output, pa.schema({"id": pa.int64(), "expression": pa.string()}))
    try:
        with Progress("generating", "rules", chosen.rules) as progress:
            for block in blocks_of(chosen.rules):
                for batch in rules_block(arguments.workload, chosen, block).to_batches():
                    sink.write(batch)
                progress.advance(block.count)
    except BaseException:
        sink.abandon()
        raise
    sink.close()
    return int(chosen.rules)


def _on_spark(arguments: argparse.Namespace, settings: dict[str, Any]) -> int:
    from matchwood import spark as mws

    session = mws.session(**({"master": arguments.master} if arguments.master else {}))
    frame = rules_on_spark(session, arguments.workload, **settings)
    with Progress("generating on Spark"):
        frame.write.mode("overwrite").parquet(str(arguments.output))
    return int(session.read.parquet(str(arguments.output)).count())


def _write(table: pa.Table, path: Path) -> None:
    sink = open_sink(path, table.schema)
    try:
        for batch in table.to_batches():
            sink.write(batch)
    except BaseException:
        sink.abandon()
        raise
    sink.close()
