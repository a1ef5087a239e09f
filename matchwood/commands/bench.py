"""`matchwood bench list | run NAME | report | pages`: experiments, their figures, and pages that show them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matchwood.bench import (
    EXPERIMENTS,
    FIGURES,
    PAPERS,
    SCALES,
    WrongAnswer,
    experiment,
    filled_columns,
    merged,
    read_result,
    text_table,
    transposed,
    write_pages,
    write_report,
    write_result,
)
from matchwood.commands.calls import count
from matchwood.commands.names import HELP, WrongCall

RESULTS = Path("bench-results")
DOCS = Path("docs")
KEPT_RESULTS = DOCS / "figures"
"""The results whose figures stand on the pages, under version control."""

ALL = "all"
_WIDEST = 7
"""Rows with more figures than this are printed as columns."""

_MOST_ROWS = 40
"""More rows than this are printed with their main figures only: as columns no terminal would be wide enough."""

_MAIN = (
    "workload", "engine", "semantics", "build_s", "encode_us", "match_us", "us_per_event", "hits_per_event",
    "candidates_per_event", "bytes", "ratio_to_scan", "saves_time", "of", "paper_saves",
)  # fmt: skip


def add_arguments(commands: Any) -> None:
    bench = commands.add_parser("bench", help=HELP["bench"])
    actions = bench.add_subparsers(title="actions", metavar="action", required=True)
    actions.add_parser("list", help="list the experiments").set_defaults(run=run_list)
    run = actions.add_parser("run", help="run one experiment, or all")
    run.add_argument("name", choices=[*EXPERIMENTS, ALL], metavar="NAME", help=f"an experiment of the list, or {ALL}")
    _run_arguments(run)
    report = actions.add_parser("report", help="write one HTML page with all results")
    report.add_argument("-o", "--output", type=Path, default=RESULTS / "report.html", metavar="FILE")
    report.set_defaults(run=run_report)
    pages = actions.add_parser("pages", help="rewrite the tables of figures on documentation pages")
    told = f"Markdown files (default: README.md and all of {DOCS})"
    pages.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help=told)
    pages.add_argument("--results", type=Path, default=KEPT_RESULTS, metavar="DIR", help="(default: %(default)s)")
    pages.set_defaults(run=run_pages)
    for name, known in EXPERIMENTS.items():
        shortcut = actions.add_parser(name, help=known.title)
        shortcut.set_defaults(name=name)
        _run_arguments(shortcut)


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=SCALES, default="quick", help="how large (default: quick)")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help=f"where to write the figures (default: {RESULTS}/NAME.json)"
    )
    parser.add_argument("--only", metavar="TEXT", help="only the workloads whose names contain TEXT")
    parser.add_argument(
        "--time-box", type=count, metavar="SECONDS", help="the time limit for one engine on one workload"
    )
    parser.set_defaults(run=run_experiments)


def run_list(arguments: argparse.Namespace) -> int:
    print(text_table([{"experiment": name, "shows": known.title} for name, known in EXPERIMENTS.items()]))
    for name, sections in FIGURES.items():
        figures = [{"section": section, "figures and tables": figure} for section, figure in sections.items()]
        print(f"\n{name} reproduces these parts of {PAPERS[name]}:\n{text_table(figures)}")
    return 0


def run_experiments(arguments: argparse.Namespace) -> int:
    """One experiment, or all: a wrong answer in one does not keep the others from running, but is never forgotten."""
    if arguments.name != ALL:
        _run(arguments.name, arguments, arguments.json or RESULTS / f"{arguments.name}.json")
        return 0
    if arguments.json:
        raise WrongCall("--json names the file of one experiment; all of them go to " + str(RESULTS))
    if arguments.only:
        raise WrongCall("--only names workloads of one experiment")
    failed = [name for name in EXPERIMENTS if not _went_well(name, arguments)]
    if failed:
        print(f"matchwood: these experiments failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _went_well(name: str, arguments: argparse.Namespace) -> bool:
    try:
        _run(name, arguments, RESULTS / f"{name}.json")
    except WrongAnswer as error:
        print(f"matchwood: {name}: {error}", file=sys.stderr)
        return False
    return True


def _run(name: str, arguments: argparse.Namespace, path: Path) -> None:
    """Run, write and print; workloads that run again take the place of those that are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"{name} ({arguments.scale}): {experiment(name).title}", flush=True)
    result = experiment(name).run(arguments.scale, arguments.only, arguments.time_box)
    rows, shorter = result["rows"], experiment(name).table(result["rows"])
    if arguments.only and path.is_file():
        result = merged(read_result(path), result)
        result["rows"] = experiment(name).summed(result["rows"])
    write_result(path, result)
    print(f"\n{_table(rows) if shorter is rows else text_table(shorter)}\n\nwritten to {path}\n")


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """All figures, if a terminal can show them, else those that compare engines; the file has all."""
    if len(filled_columns(rows)) <= _WIDEST:
        return text_table(rows)
    return transposed(rows) if len(rows) <= _MOST_ROWS else text_table([_main_figures(row) for row in rows])


def _main_figures(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row.get(name) for name in _MAIN}


def run_report(arguments: argparse.Namespace) -> int:
    found = write_report(RESULTS, arguments.output)
    print(f"{found} experiment{'' if found == 1 else 's'} in {arguments.output}")
    return 0


def run_pages(arguments: argparse.Namespace) -> int:
    pages = arguments.pages or [*Path().glob("README.md"), *sorted(DOCS.glob("*.md"))]
    changed = write_pages(pages, arguments.results)
    print("\n".join([*map(str, changed), f"{len(changed)} of {len(pages)} pages changed"]))
    return 0
