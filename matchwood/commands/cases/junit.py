"""Outcomes as JUnit's XML, which every CI shows."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from matchwood.commands.cases.judging import CaseOutcome, event_text
from matchwood.commands.files.rule_sets import RuleSet

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(rules: RuleSet, outcomes: list[CaseOutcome], uncovered: list[Any]) -> str:
    """A suite of the rules, in which each that cannot be used is a failure, and one for each file of cases."""
    root = ElementTree.Element("testsuites", name="matchwood test")
    _add_rules(root, rules, uncovered)
    for file, some in groupby(outcomes, key=lambda outcome: str(outcome.case.file)):
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(file))
        for outcome in some:
            _add_case(suite, outcome)
    for suite in root:
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_rules(root: ElementTree.Element, rules: RuleSet, uncovered: list[Any]) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(rules.source))
    loaded = ElementTree.SubElement(suite, "testcase", name="rules", classname=_clean(rules.source), time="0")
    ElementTree.SubElement(loaded, "system-out").text = f"{rules} can be used"
    told = [(row["id"], "rejected", rules.reason(row)) for row in rules.rejected]
    told += [(rule, "no case", "no case expects it to match") for rule in uncovered]
    for rule, kind, reason in told:
        named = {"name": f"rule {rule}", "classname": rules.place(rule), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", {key: _clean(value) for key, value in named.items()})
        _add_problem(case, "failure", kind, reason)


def _add_case(suite: ElementTree.Element, outcome: CaseOutcome) -> None:
    case = outcome.case
    name = f"case {case.number}" + (f": {case.name}" if case.name else "")
    added = ElementTree.SubElement(
        suite, "testcase", name=_clean(name), classname=_clean(str(case.file)), time=f"{outcome.seconds:.6f}"
    )
    if outcome.error is not None:
        _add_problem(added, "error", "case", outcome.error)
    elif outcome.failures:
        _add_problem(added, "failure", "rules", "\n".join([*outcome.failures, f"event: {event_text(case)}"]))


def _add_problem(case: ElementTree.Element, tag: str, kind: str, text: str) -> None:
    message = _clean(text.split("\n")[0])
    ElementTree.SubElement(case, tag, message=message, type=kind).text = _clean(text)


def _count(suite: ElementTree.Element) -> None:
    """Totals of all cases below."""
    cases = list(suite.iter("testcase"))
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(len(list(suite.iter("failure")))))
    suite.set("errors", str(len(list(suite.iter("error")))))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.6f}")


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\ufffd", text)
