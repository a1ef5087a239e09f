"""`matchwood check`: whether all rules of a file can be used, and which are worth a second look."""

from __future__ import annotations

import argparse
from typing import Any

import pyarrow as pa

from matchwood.commands.files.rejects import rejects_file, report_rejects
from matchwood.commands.files.rules import add_rule_arguments, load_rules
from matchwood.commands.names import HELP
from matchwood.progress import Progress

SHOWN = 20


def add_arguments(commands: Any) -> None:
    check = commands.add_parser("check", help=HELP["check"])
    add_rule_arguments(check)
    check.add_argument(
        "--lint", action="store_true", help="also look for rules that are never or always true, or repeated"
    )
    check.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    rejects_file(arguments)
    index, report = load_rules(arguments, "auto", "error")
    print(f"{arguments.rules}: {report.inserted:,} rules can be used, {report.rejected.num_rows:,} cannot")
    status = report_rejects(arguments, report)
    if arguments.lint:
        with Progress("linting"):
            findings = index.lint()
        _show(findings)
    return status


def _show(findings: pa.Table) -> None:
    print(f"lint: {findings.num_rows:,} findings")
    for row in findings.slice(0, SHOWN).to_pylist():
        print(f"  {row['problem']:9}  {row['id']}: {row['detail']}")
    if findings.num_rows > SHOWN:
        print(f"  and {findings.num_rows - SHOWN:,} more")
    unsearched = int((findings.schema.metadata or {}).get(b"unsearched", 0))
    if unsearched:
        print(f"  {unsearched:,} rules were not compared with all others, which would take too long")
