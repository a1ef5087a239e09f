"""What an index must answer, by the judge alone: rules in rule order, hits, scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.fuzz.judge import Judge, Verdict, zone_of
from tests.fuzz.worlds import Delete, Event, Put, Rule, Upkeep


class Model:
    """The rules that an index holds; verdicts are kept, for the same events are asked again."""

    def __init__(self, timezone: str) -> None:
        self.zone = zone_of(timezone)
        self.rules: dict[int | str, Rule] = {}
        self._known: dict[tuple[int, int], Verdict] = {}
        self._kept: list[Any] = []
        """Keeps what `_known` names by its address."""

    def follow(self, step: Put | Delete | Upkeep) -> None:
        """A replacement keeps the place of the rule, and one by assignment its weights."""
        if isinstance(step, Put):
            assigned = step.how in ("set", "json")
            self.rules.update({rule.id: self._weighed(rule) if assigned else rule for rule in step.rules})
        elif isinstance(step, Delete):
            del self.rules[step.id]
        elif step.what == "clear":
            self.rules.clear()

    def _weighed(self, rule: Rule) -> Rule:
        """A rule with the weights of the one that it replaces."""
        old = self.rules.get(rule.id)
        return rule if old is None else replace(rule, weight=old.weight, weights=old.weights)

    def verdict(self, rule: Rule, event: Event) -> Verdict:
        known = (id(rule), id(event))
        if known not in self._known:
            self._kept += [rule, event]
            self._known[known] = Judge(self.zone, event.holds).judge(rule.tree)[0]
        return self._known[known]

    def verdicts(self, event: Event) -> list[Verdict]:
        return [self.verdict(rule, event) for rule in self.rules.values()]

    def match(self, event: Event) -> list[int | str]:
        return [rule_id for rule_id, rule in self.rules.items() if self.verdict(rule, event)]

    def top(self, event: Event, n: int, weights: Mapping[str, float]) -> list[tuple[int | str, float]]:
        """Best first, ties in rule order."""
        found = []
        for rule_id in self.match(event):
            rule = self.rules[rule_id]
            _, score = Judge(self.zone, event.holds, rule.weights, weights).judge(rule.tree)
            found.append((rule_id, score + rule.weight))
        return sorted(found, key=lambda pair: -pair[1])[:n]
