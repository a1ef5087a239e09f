"""`matchwood check`: whether all rules of a file can be used, and which are worth a second look."""

from __future__ import annotations

import argparse
from typing import Any

import pyarrow as pa

from matchwood.commands.calls import output_file
from matchwood.commands.files.rejects import rejects_file, report_rejects
from matchwood.commands.files.rules import add_rule_arguments, load_rules
from matchwood.commands.files.writing import write_table
from matchwood.commands.names import HELP, WrongCall
from matchwood.errors import counted
from matchwood.progress import Progress

SHOWN = 20


def add_arguments(commands: Any) -> None:
    check = commands.add_parser("check", help=HELP["check"])
    add_rule_arguments(check)
    check.add_argument(
        "--lint", action="store_true", help="also look for rules that are never or always true, or repeated"
    )
    check.add_argument("--findings", type=output_file, metavar="FILE", help="lint, and write all findings to this file")
    check.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    _check_files(arguments)
    index, report = load_rules(arguments, "auto", "error")
    print(f"{arguments.rules}: {counted(report.inserted, 'rule')} can be used, {report.rejected.num_rows:,} cannot")
    status = report_rejects(arguments, report)
    if arguments.lint or arguments.findings:
        with Progress("linting"):
            findings = index.lint()
        _show(findings)
        if arguments.findings:
            write_table(arguments.findings, findings)
            print(f"  all in {arguments.findings}")
    return status


def _check_files(arguments: argparse.Namespace) -> None:
    taken = {arguments.rules.resolve(): "rules", rejects_file(arguments).resolve(): "rejected rules"}
    if arguments.findings and arguments.findings.resolve() in taken:
        raise WrongCall(f"--findings {arguments.findings} would replace the {taken[arguments.findings.resolve()]}")


def _show(findings: pa.Table) -> None:
    print(f"lint: {counted(findings.num_rows, 'finding')}")
    for row in findings.slice(0, SHOWN).to_pylist():
        print(f"  {row['problem']:9}  {row['id']}: {row['detail']}")
    if findings.num_rows > SHOWN:
        print(f"  and {findings.num_rows - SHOWN:,} more")
    unsearched = int((findings.schema.metadata or {}).get(b"unsearched", 0))
    if unsearched:
        print(f"  {counted(unsearched, 'rule')} could not be compared with all others, which would take too long")
