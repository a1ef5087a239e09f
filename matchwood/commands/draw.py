"""`matchwood draw`: the A-Tree or BE-Tree of a few rules, as SVG or for Mermaid or Graphviz, or a triangle of HEM."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from matchwood.commands.calls import count
from matchwood.commands.explain import event_of
from matchwood.commands.files.rules import add_source_arguments, load_rules
from matchwood.commands.files.writing import write_text
from matchwood.commands.names import HELP, WrongCall
from matchwood.engines import HEM, ATree, BETree
from matchwood.errors import InvalidArgument, counted
from matchwood.insight import FORMAT, FORMATS, MOST_NODES
from matchwood.matching import Report

LEAF_RULES = 5
"""So that a few rules make a tree: the leaves of an index hold hundreds."""

_FORMATS = {ATree.name: FORMATS, BETree.name: FORMATS, HEM.name: (FORMAT,)}


def add_arguments(commands: Any) -> None:
    draw = commands.add_parser("draw", help=HELP["draw"])
    add_source_arguments(draw)
    draw.add_argument("--engine", choices=_FORMATS, default=ATree.name, help=f"what to draw (default: {ATree.name})")
    every = list(dict.fromkeys(form for forms in _FORMATS.values() for form in forms))
    told = f"output format (default: by the ending of FILE, else {every[0]}; {FORMAT} for {HEM.name})"
    draw.add_argument("--format", choices=every, help=told)
    draw.add_argument(
        "--max-cap", type=count, metavar="N", help=f"for {BETree.name}: most rules in a leaf (default: {LEAF_RULES})"
    )
    draw.add_argument(
        "--attribute", metavar="NAME", help=f"for {HEM.name}: whose triangle (default: the most constrained)"
    )
    draw.add_argument("--event", metavar="JSON", help=f"for {HEM.name}: an event that excludes rules, as JSON or @FILE")
    draw.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write (default: standard output)")
    draw.add_argument(
        "--limit",
        type=count,
        default=MOST_NODES,
        metavar="N",
        help=f"most nodes, or points (default: {MOST_NODES})",
    )
    draw.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    if output is not None and output.resolve() == arguments.rules.resolve():
        raise WrongCall(f"--output {output} would replace the rules")
    _check_options(arguments)
    event = None if arguments.event is None else event_of(arguments.event)
    options = {"max_cap": arguments.max_cap or LEAF_RULES} if arguments.engine == BETree.name else None
    index, report = load_rules(arguments, arguments.engine, "error", options)
    _require_all(arguments.rules, report)
    picture = index.draw(_format(arguments), arguments.limit, arguments.attribute, event)
    if output is None:
        print(picture, end="")
    else:
        write_text(output, picture)
        print(f"{output}: {counted(len(index), 'rule')}")
    return 0


def _format(arguments: argparse.Namespace) -> str | None:
    """The format that was asked for: by name, or by the ending of the file."""
    ending = "" if arguments.output is None else arguments.output.suffix.removeprefix(".")
    return arguments.format or (ending if ending in _FORMATS[arguments.engine] else None)


def _check_options(arguments: argparse.Namespace) -> None:
    """Refuse what does not belong to the engine."""
    if arguments.format not in (None, *_FORMATS[arguments.engine]):
        raise WrongCall(f"--format {arguments.format} is not for --engine {arguments.engine}")
    if arguments.engine != BETree.name and arguments.max_cap is not None:
        raise WrongCall(f"--max-cap is for --engine {BETree.name}")
    if arguments.engine != HEM.name and (arguments.attribute is not None or arguments.event is not None):
        raise WrongCall(f"--attribute and --event are for --engine {HEM.name}")


def _require_all(rules: Path, report: Report) -> None:
    """A picture that lacks a rule would mislead."""
    if report.rejected.num_rows:
        first = report.rejected.slice(0, 1).to_pylist()[0]
        reason = first["error"].removeprefix(f"rule {first['id']!r}: ").split("\n")[0]
        raise InvalidArgument(
            f"{rules}: no picture, because {counted(report.rejected.num_rows, 'rule')} cannot be used (matchwood check "
            f"lists them); the first is {first['id']}: {reason}"
        )
