"""`matchwood check` and `matchwood build`: a file of rules, checked, and made into a snapshot."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.commands.files import format_of, read_batches, write_table
from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.indexing.report import Report
from matchwood.progress import Progress

SHOWN = 5
"""Rejected rules and lint findings printed in a summary; the files hold them all."""


def add_arguments(commands: Any) -> None:
    check = commands.add_parser("check", help="parse and type-check a file of rules, and lint it")
    _rule_arguments(check)
    check.add_argument("--lint", action="store_true", help="also look for never, always, duplicate and implied rules")
    check.set_defaults(run=run_check)
    build = commands.add_parser("build", help="build an index from a file of rules and save it")
    _rule_arguments(build)
    build.add_argument("index", help="where to save the index (a new version of it)")
    build.add_argument("--engine", default="auto", help="the engine to build (default: auto)")
    build.add_argument("--on-duplicate", choices=("error", "replace"), default="error", help="what a repeated id means")
    build.set_defaults(run=run_build)


def _rule_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", type=Path, help="CSV, JSON lines or Parquet with the columns id and expression")
    parser.add_argument("--id", default="id", help="the column of ids (default: id)")
    parser.add_argument("--expression", default="expression", help="the column of rules (default: expression)")
    parser.add_argument("--schema", help="types of attributes as DDL, like 'age int, tags array<string>'")
    parser.add_argument("--timezone", default="UTC", help="where dates begin and naive timestamps are read")
    parser.add_argument("--rejects", type=Path, help="where rejected rules go (default: RULES.rejects.csv)")


def run_check(arguments: argparse.Namespace) -> int:
    index, report = _load(arguments, "oracle", "error")
    print(f"{arguments.rules}: {report.inserted:,} rules are sound, {report.rejected.num_rows:,} are not")
    if arguments.lint:
        _show_findings(index.lint())
    return _rejects(arguments, report)


def run_build(arguments: argparse.Namespace) -> int:
    index, report = _load(arguments, arguments.engine, arguments.on_duplicate)
    if not len(index):
        print("nothing was saved: no rule could be inserted")
        return _rejects(arguments, report) or 1
    version = index.save(arguments.index)
    print(f"{arguments.index}: version {version}, {len(index):,} rules, engine {index.engine} ({report})")
    return _rejects(arguments, report)


def _load(arguments: argparse.Namespace, engine: str, on_duplicate: str) -> tuple[Index, Report]:
    index = Index(engine=engine, schema=arguments.schema, timezone=arguments.timezone)
    total = Report()
    with Progress(f"reading {arguments.rules}") as progress:
        for batch in read_batches(arguments.rules):
            rules = list(_named(batch, arguments))
            total.add(index.insert_many(rules, on_duplicate=on_duplicate))
            progress.advance(len(rules))
    return index, total


def _named(batch: Any, arguments: argparse.Namespace) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """The rules of a batch with the columns that the arguments name."""
    rows = batch.to_pylist() if isinstance(batch, pa.RecordBatch) else batch
    for row in rows:
        for column in (arguments.id, arguments.expression):
            if column not in row:
                raise InvalidArgument(f"{arguments.rules}: no column {column!r} (there are: {', '.join(row)})")
        options = {name: row[name] for name in ("weight", "weights") if row.get(name) is not None}
        yield row[arguments.id], row[arguments.expression], options


def _rejects(arguments: argparse.Namespace, report: Report) -> int:
    """Write and show what was refused; the exit status is 1 if there was any."""
    rejected = report.rejected
    if not rejected.num_rows:
        return 0
    path = arguments.rejects or arguments.rules.with_suffix(".rejects.csv")
    format_of(path)
    write_table(path, rejected)
    for row in rejected.slice(0, SHOWN).to_pylist():
        print(f"  rule {row['id']!r}: {row['error']}")
    print(f"{rejected.num_rows:,} rejected rules are in {path}")
    return 1


def _show_findings(findings: pa.Table) -> None:
    print(f"lint: {findings.num_rows:,} findings")
    for row in findings.slice(0, SHOWN * 4).to_pylist():
        print(f"  {row['problem']:9} rule {row['id']!r}: {row['detail']}")
