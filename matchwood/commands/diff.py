"""`matchwood diff`: what another set of rules changes, rule by rule and event by event."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from matchwood.commands.calls import count, output_file, table_file
from matchwood.commands.diffs.difference import Difference
from matchwood.commands.diffs.hit_changes import Asked, HitComparison
from matchwood.commands.diffs.page import page_text
from matchwood.commands.diffs.rule_changes import rule_changes
from matchwood.commands.diffs.telling import told
from matchwood.commands.files.rule_sets import RuleSet, read_rule_set, rule_files
from matchwood.commands.files.rules import add_reading_arguments
from matchwood.commands.files.writing import write_table, write_text
from matchwood.commands.names import HELP, WrongCall
from matchwood.errors import counted

FAIL_IF = ("never", "rules", "hits", "gained", "lost")
SHOWN = 5


def add_arguments(commands: Any) -> None:
    diff = commands.add_parser("diff", help=HELP["diff"])
    diff.add_argument("old", help="the rules before: a file, a folder of files, a saved index, or INDEX@VERSION")
    diff.add_argument("new", help="the rules after, in the same forms")
    add_reading_arguments(diff)
    diff.add_argument("--events", type=table_file, metavar="FILE", help="past events, matched with both")
    diff.add_argument("--key", metavar="COLUMN", help="identify events by this column instead of their positions")
    diff.add_argument("--list-separator", metavar="TEXT", help="what separates the elements of a list in CSV")
    diff.add_argument(
        "--on-error",
        choices=("raise", "null"),
        default="raise",
        help="a value that does not fit ends the command (default), or counts as missing",
    )
    diff.add_argument("--samples", type=count, default=3, metavar="N", help="events to show for each rule (default: 3)")
    diff.add_argument("--html", type=Path, metavar="FILE", help="also write a page")
    diff.add_argument("-o", "--output", type=output_file, metavar="FILE", help="also write a table, one row per rule")
    diff.add_argument(
        "--fail-if",
        choices=FAIL_IF,
        default=FAIL_IF[0],
        help="the exit status is 1 if rules differ, or hits differ, are gained or lost (default: never)",
    )
    diff.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    old, new = (read_rule_set(arguments, source) for source in (arguments.old, arguments.new))
    for rules in (old, new):
        _tell_rejected(rules)
    changes = rule_changes(old.index, new.index)
    hits = HitComparison(old.index, new.index, changes) if arguments.events else None
    if hits is not None:
        separator, on_error = arguments.list_separator, arguments.on_error
        hits.run(Asked(arguments.events, arguments.key, separator, on_error, arguments.samples))
    both = sum(rule in old.index for rule in new.index)
    same = both - sum(change.old is not None and change.new is not None for change in changes)
    difference = Difference(arguments.old, arguments.new, same, changes, hits)
    print(told(difference))
    _write(arguments, difference)
    return 1 if new.rejected or _fails(arguments.fail_if, difference) else 0


def _check(arguments: argparse.Namespace) -> None:
    needs = {"--key": arguments.key, "--list-separator": arguments.list_separator}
    lonely = [name for name, value in needs.items() if value is not None]
    if arguments.fail_if in ("hits", "gained", "lost"):
        lonely.append(f"--fail-if {arguments.fail_if}")
    if lonely and arguments.events is None:
        raise WrongCall(f"{lonely[0]} is for events: give --events as well")
    read = {path.resolve() for source in (arguments.old, arguments.new) for path in _read_by(source)}
    read |= {arguments.events.resolve()} if arguments.events else set()
    for name, path in {"--html": arguments.html, "--output": arguments.output}.items():
        if path is not None and path.resolve() in read:
            raise WrongCall(f"{name} {path} would replace rules or events")


def _read_by(source: str) -> list[Path]:
    return rule_files(source) if Path(source).exists() else []


def _tell_rejected(rules: RuleSet) -> None:
    """On standard error: what cannot be used cannot be compared."""
    for row in rules.rejected[:SHOWN]:
        reason = rules.reason(row).split("\n")[0]
        print(f"{rules.place(row['id'])}, rule {row['id']}: rejected, {reason}", file=sys.stderr)
    if len(rules.rejected) > SHOWN:
        print(f"{rules.source}: {counted(len(rules.rejected), 'rejected rule')} in all", file=sys.stderr)


def _write(arguments: argparse.Namespace, difference: Difference) -> None:
    if arguments.html:
        write_text(arguments.html, page_text(difference))
        print(f"full report in {arguments.html}")
    if arguments.output:
        write_table(arguments.output, difference.table())
        print(f"table in {arguments.output}")


def _fails(condition: str, difference: Difference) -> bool:
    gained, lost = difference.total("gained") > 0, difference.total("lost") > 0
    held = {"never": False, "rules": bool(difference.changes), "hits": gained or lost, "gained": gained, "lost": lost}
    return held[condition]
