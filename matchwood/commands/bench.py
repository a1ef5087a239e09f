"""`matchwood bench list | run NAME | report`: experiments, their figures, and one page to look at."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from matchwood.bench.registry import EXPERIMENTS, SCALES, experiment
from matchwood.bench.report import write_report
from matchwood.bench.tables import text_table

RESULTS = Path("bench-results")


def add_arguments(commands: Any) -> None:
    bench = commands.add_parser("bench", help="run experiments that check their own answers")
    actions = bench.add_subparsers(title="actions", metavar="action", required=True)
    actions.add_parser("list", help="the experiments").set_defaults(run=run_list)
    run = actions.add_parser("run", help="run one experiment, or all")
    run.add_argument("name", choices=[*EXPERIMENTS, "all"], metavar="NAME", help="an experiment of the list, or all")
    _scale_arguments(run)
    run.set_defaults(run=run_one)
    report = actions.add_parser("report", help="one HTML page of all results")
    report.add_argument("-o", "--output", type=Path, default=RESULTS / "report.html")
    report.set_defaults(run=run_report)
    for name, known in EXPERIMENTS.items():
        shortcut = actions.add_parser(name, help=known.title)
        _scale_arguments(shortcut)
        shortcut.set_defaults(run=run_one, name=name)


def _scale_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=SCALES, default="quick", help="how large (default: quick)")
    parser.add_argument("--json", type=Path, help=f"where the figures go (default: {RESULTS}/NAME.json)")


def run_list(arguments: argparse.Namespace) -> int:
    print(text_table([{"experiment": name, "shows": known.title} for name, known in EXPERIMENTS.items()]))
    return 0


def run_one(arguments: argparse.Namespace) -> int:
    names = list(EXPERIMENTS) if arguments.name == "all" else [arguments.name]
    for name in names:
        result = experiment(name).run(arguments.scale)
        path = arguments.json or RESULTS / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"{name} ({arguments.scale}): {experiment(name).title}\n{text_table(result['rows'])}\n\nwritten to {path}\n")
    return 0


def run_report(arguments: argparse.Namespace) -> int:
    pages = write_report(RESULTS, arguments.output)
    print(f"{pages} experiments in {arguments.output}")
    return 0
