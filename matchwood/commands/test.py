"""`matchwood test`: test whether rules do what cases expect."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import Any

from matchwood.commands.cases.case import Case
from matchwood.commands.cases.judging import CaseOutcome, Judge, event_text
from matchwood.commands.cases.junit import junit_text
from matchwood.commands.cases.reading import read_cases
from matchwood.commands.files.events import column_kinds
from matchwood.commands.files.rule_sets import RuleSet, read_rule_set, rule_files
from matchwood.commands.files.rules import add_reading_arguments
from matchwood.commands.files.writing import write_text
from matchwood.commands.names import HELP, WrongCall
from matchwood.encoding import near_misses
from matchwood.engines import engine_choices
from matchwood.errors import counted
from matchwood.language import split_path
from matchwood.progress import Progress

SHOWN = 20


def add_arguments(commands: Any) -> None:
    test = commands.add_parser("test", help=HELP["test"])
    test.add_argument("rules", help="a file of rules, a folder of such files, or a saved index")
    test.add_argument(
        "cases",
        type=Path,
        nargs="?",
        help="a file of cases, or a folder of such files; without it, only check that all rules can be used",
    )
    add_reading_arguments(test)
    test.add_argument("--junit", type=Path, metavar="FILE", help="also write the results as JUnit XML")
    test.add_argument("--engine", choices=engine_choices(), default="auto", help="how to match (default: auto)")
    test.add_argument(
        "--missing",
        choices=("null", "error"),
        default="null",
        help="an attribute that an event does not have is NULL (default), or an error of the case",
    )
    test.add_argument("--require-cases", action="store_true", help="also fail if no case expects a rule to match")
    test.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.require_cases and arguments.cases is None:
        raise WrongCall("--require-cases is for cases: name their file or folder as well")
    rules = read_rule_set(arguments, arguments.rules, arguments.engine)
    cases = read_cases(arguments.cases, rules.index) if arguments.cases else []
    _check_junit(arguments, cases)
    judge = Judge(rules, arguments.missing)
    with Progress(f"testing {arguments.cases}", "cases", len(cases)) as progress:
        outcomes = []
        for case in cases:
            outcomes.append(judge.judge(case))
            progress.advance(1)
    uncovered = [rule for rule in rules.index if rule not in judge.expected] if arguments.cases else []
    demanded = uncovered if arguments.require_cases else []
    _show(rules, outcomes, uncovered, arguments.require_cases)
    if arguments.junit:
        write_text(arguments.junit, junit_text(rules, outcomes, demanded))
    return 1 if rules.rejected or demanded or any(not outcome.passed for outcome in outcomes) else 0


def _check_junit(arguments: argparse.Namespace, cases: list[Case]) -> None:
    read = {path.resolve() for path in [*(case.file for case in cases), *rule_files(arguments.rules)]}
    if arguments.junit and arguments.junit.resolve() in read:
        raise WrongCall(f"--junit {arguments.junit} would replace rules or cases")


def _show(rules: RuleSet, outcomes: list[CaseOutcome], uncovered: list[Any], demanded: bool) -> None:
    for row in rules.rejected[:SHOWN]:
        print(_indented(f"FAILED {rules.place(row['id'])}, rule {row['id']}: rejected, {rules.reason(row)}"))
    if len(rules.rejected) > SHOWN:
        print(f"and {len(rules.rejected) - SHOWN:,} more rejected rules (matchwood check lists all)")
    for outcome in outcomes:
        _show_outcome(outcome)
    for note in _notes(rules, outcomes):
        print(f"note: {note}")
    if uncovered:
        named = ", ".join(map(str, uncovered[:SHOWN])) + (" …" if len(uncovered) > SHOWN else "")
        how = "FAILED" if demanded else "note:"
        print(f"{how} no case expects {counted(len(uncovered), 'rule')} to match: {named}")
    print(_summary(rules, outcomes))


def _show_outcome(outcome: CaseOutcome) -> None:
    if outcome.error is not None:
        print(f"ERROR {outcome.case}: {outcome.error}")
    elif outcome.failures:
        print(f"FAILED {outcome.case}\n  event: {event_text(outcome.case)}")
        print(textwrap.indent("\n".join(outcome.failures), "  "))


def _indented(text: str) -> str:
    first, *others = text.split("\n")
    return "\n".join([first, *(f"  {line}" for line in others)])


def _notes(rules: RuleSet, outcomes: list[CaseOutcome]) -> list[str]:
    """Attributes of events that no rule names, but nearly: a slip there makes a case pass that should not."""
    kinds = column_kinds(rules.index)
    known = {*kinds, *(split_path(name)[0] for name in kinds)}
    first: dict[str, Case] = {}
    for outcome in outcomes:
        for name in outcome.case.event:
            if name not in known:
                first.setdefault(name, outcome.case)
    near = {name: near_misses(str(name), sorted(known)) for name in first}
    return [
        f"{first[name]}: no rule names {name!r}; did you mean {meant[0]!r}?" for name, meant in near.items() if meant
    ][:SHOWN]


def _summary(rules: RuleSet, outcomes: list[CaseOutcome]) -> str:
    if not outcomes:
        return f"{rules} can be used, {len(rules.rejected):,} cannot"
    errors = sum(outcome.error is not None for outcome in outcomes)
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    files = len({outcome.case.file for outcome in outcomes})
    told = f"{rules}, {counted(len(outcomes), 'case')} in {counted(files, 'file')}: "
    parts = [f"{len(outcomes) - errors - failed:,} passed", f"{failed:,} failed", counted(errors, "error")]
    if rules.rejected:
        parts.append(f"{len(rules.rejected):,} rejected")
    return told + ", ".join(parts)
