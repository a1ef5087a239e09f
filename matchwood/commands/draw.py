"""`matchwood draw`: the A-Tree or the BE-Tree of a few rules as a picture, for Graphviz or Mermaid."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from matchwood.commands.calls import WrongCall, count
from matchwood.commands.rule_files import add_source_arguments, load_rules
from matchwood.errors import InvalidArgument
from matchwood.indexing.drawing import FORMATS, MOST_NODES
from matchwood.indexing.report import Report

ENGINES = ("atree", "betree")
"""The engines that can be drawn."""


def add_arguments(commands: Any) -> None:
    draw = commands.add_parser("draw", help="draw the A-Tree or the BE-Tree of a few rules")
    add_source_arguments(draw)
    draw.add_argument("--engine", choices=ENGINES, default=ENGINES[0], help=f"whose tree (default: {ENGINES[0]})")
    draw.add_argument("--format", choices=FORMATS, default=FORMATS[0], help=f"for what (default: {FORMATS[0]})")
    draw.add_argument("-o", "--output", type=Path, metavar="FILE", help="where it goes (default: standard output)")
    draw.add_argument(
        "--limit", type=count, default=MOST_NODES, metavar="N", help=f"nodes at most (default: {MOST_NODES})"
    )
    draw.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    if output is not None and output.resolve() == arguments.rules.resolve():
        raise WrongCall(f"--output {output} would replace the rules")
    index, report = load_rules(arguments, arguments.engine, "error")
    _require_all(arguments.rules, report)
    picture = index.draw(arguments.format, arguments.limit)
    if output is None:
        print(picture, end="")
    else:
        _write(output, picture)
        print(f"{output}: {len(index):,} rules")
    return 0


def _require_all(rules: Path, report: Report) -> None:
    """A picture that lacks a rule would mislead."""
    if report.rejected.num_rows:
        first = report.rejected.slice(0, 1).to_pylist()[0]
        reason = first["error"].removeprefix(f"rule {first['id']!r}: ").split("\n")[0]
        raise InvalidArgument(
            f"{rules}: no picture, as {report.rejected.num_rows:,} rules cannot be used (matchwood check lists them); "
            f"the first is {first['id']}: {reason}"
        )


def _write(path: Path, text: str) -> None:
    """Complete or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None
