"""Whether the rules do with an event what a case expects, and if not, why."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.commands.cases.case import Case, Expected, WrongCase
from matchwood.commands.files.rule_sets import RuleSet
from matchwood.encoding import near_misses
from matchwood.errors import EventError

SHOWN = 5
_MOST_COMPARED = 100_000
"""Ids among which one is looked for that may have been meant: more would take seconds."""


class CaseOutcome(NamedTuple):
    """A case that passed if there are no `failures` and no `error`."""

    case: Case
    failures: list[str]
    error: str | None
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.failures and self.error is None


class Judge:
    """Judges cases by the rules of a set, and remembers which rules some case expects to be true."""

    def __init__(self, rules: RuleSet, missing: str) -> None:
        self._rules, self._missing = rules, missing
        self._integers = pa.types.is_integer(rules.index._table.id_type)
        self._rejected = {row["id"]: row for row in rules.rejected}
        self.expected: set[Any] = set()

    def judge(self, case: Case) -> CaseOutcome:
        started = time.monotonic()
        failures, error = [], case.problem
        if error is None:
            try:
                failures = self._failures(case)
            except (WrongCase, EventError) as wrong:
                error = str(wrong).split("\n")[0]
        return CaseOutcome(case, failures, error, time.monotonic() - started)

    def _failures(self, case: Case) -> list[str]:
        match, include, exclude = self._known(case.expected)
        self.expected.update(match or include)
        found = self._rules.index.match(dict(case.event), missing=self._missing)
        true = set(found)
        lacking = [rule for rule in (include if match is None else match) if rule not in true]
        wrong = exclude if match is None else [rule for rule in found if rule not in set(match)]
        failures = self._told(case, lacking, "should match, but does not")
        return failures + self._told(case, [rule for rule in wrong if rule in true], "should not match, but does")

    def _known(self, expected: Expected) -> Expected:
        match, include, exclude = (None if ids is None else [self._id(each) for each in ids] for ids in expected)
        return Expected(match, include or [], exclude or [])

    def _id(self, given: Any) -> Any:
        """The id that a case means: files do not always tell numbers from text."""
        rule_id: Any = str(given)
        if self._integers and rule_id.lstrip("-").isdigit():
            rule_id = int(rule_id)
        if rule_id in self._rules.index:
            return rule_id
        if rule_id in self._rejected:
            reason = self._rules.reason(self._rejected[rule_id]).split("\n")[0]
            raise WrongCase(f"the rule {rule_id!r} was rejected: {reason}")
        raise WrongCase(f"there is no rule {rule_id!r}{self._hint(str(rule_id))}")

    def _hint(self, name: str) -> str:
        ids: Iterable[Any] = self._rules.index if len(self._rules.index) <= _MOST_COMPARED else ()
        near = near_misses(name, map(str, ids))
        return f"; did you mean {near[0]!r}?" if near else ""

    def _told(self, case: Case, rules: list[Any], what: str) -> list[str]:
        told = [self._explained(case, rule, what) for rule in rules[:SHOWN]]
        more = ", ".join(map(str, rules[SHOWN : 4 * SHOWN]))
        return told + ([f"{len(rules) - SHOWN:,} more {what}: {more}"] if more else [])

    def _explained(self, case: Case, rule: Any, what: str) -> str:
        why = str(self._rules.index.explain(dict(case.event), rule))
        return f"{rule} ({self._rules.place(rule)}) {what}\n{textwrap.indent(why, '  ')}"


def event_text(case: Case) -> str:
    """The event of a case on one line."""
    return json.dumps(case.event, ensure_ascii=False, default=str)
