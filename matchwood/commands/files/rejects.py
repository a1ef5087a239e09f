"""Rejected rules: all of them in a file, the first few in the terminal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matchwood.commands.files.folders import REJECTS
from matchwood.commands.files.formats import plain_path
from matchwood.commands.files.writing import write_table
from matchwood.commands.names import WrongCall
from matchwood.errors import counted
from matchwood.matching import Report

SHOWN = 5


def rejects_file(arguments: argparse.Namespace) -> Path:
    """Where rejected rules go; never the file that the rules come from."""
    path: Path = arguments.rejects or plain_path(arguments.rules).with_suffix(REJECTS)
    if path.resolve() == arguments.rules.resolve():
        raise WrongCall(f"--rejects {path} would replace the rules")
    return path


def report_rejects(arguments: argparse.Namespace, report: Report) -> int:
    """Write and show what was refused; returns the exit status, which is 1 if anything was.

    A file that --rejects names is always written; of the default one, an old one goes when nothing was refused.
    """
    path, rejected = rejects_file(arguments), report.rejected
    if rejected.num_rows or arguments.rejects:
        write_table(path, rejected)
    else:
        path.unlink(missing_ok=True)
    if not rejected.num_rows:
        return 0
    for row in rejected.slice(0, SHOWN).to_pylist():
        print(_shown(row))
    more = f" (and {rejected.num_rows - SHOWN:,} more)" if rejected.num_rows > SHOWN else ""
    print(f"{counted(rejected.num_rows, 'rejected rule')}{more} in {path}")
    return 1


def _shown(row: dict[str, Any]) -> str:
    """The id and the reason; the lines that point into the rule below it."""
    reason = row["error"].removeprefix(f"rule {row['id']!r}: ").replace("\n", "\n  ")
    return f"  {row['id']}: {reason}"
