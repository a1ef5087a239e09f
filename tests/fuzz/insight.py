"""What can be said of `find` and `lint` without their code: they must not contradict any event that is at hand."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from tests.fuzz.cells import every_event
from tests.fuzz.judge import Judge, zone_of
from tests.fuzz.trees import Tree
from tests.fuzz.worlds import Find, Match, Rule, Top, World


def truth_of(tree: Tree, world: World) -> list[bool]:
    """Whether a tree is TRUE of each event of a world."""
    zone = zone_of(world.timezone)
    events = {id(event): event for step in world.steps if isinstance(step, Match | Top) for event in step.events}
    return [Judge(zone, event.holds).judge(tree)[0] is True for event in events.values()]


def wrong_find(step: Find, found: list[Any], known: Mapping[Any, Rule], world: World) -> str | None:
    """A rule that is said to imply the query, or to follow from it, and does not; or that does, and is left out."""
    if step.semantics not in ("implies", "implied_by"):
        return None
    for rule_id, rule in known.items():
        narrow, wide = (rule.tree, step.query) if step.semantics == "implies" else (step.query, rule.tree)
        if rule_id in found and not _implies(truth_of(narrow, world), truth_of(wide, world)):
            return f"rule {rule_id!r} is found by {step.semantics!r}, and an event tells otherwise"
        events = every_event([narrow, wide])
        if events is not None and _implies(_truth(narrow, events), _truth(wide, events)) is not (rule_id in found):
            return f"rule {rule_id!r} by {step.semantics!r}: all events there are tell otherwise"
    return None


def _truth(tree: Tree, events: list[dict[str, Any]]) -> list[bool]:
    return [Judge(datetime.UTC, event).judge(tree)[0] is True for event in events]


def _implies(narrow: list[bool], wide: list[bool]) -> bool:
    return not any(one and not other for one, other in zip(narrow, wide, strict=True))


def wrong_lint(found: list[dict[str, Any]], known: Mapping[Any, Rule], world: World) -> str | None:
    """A finding that an event refutes."""
    for row in found:
        own = truth_of(known[row["id"]].tree, world)
        other = truth_of(known[row["other"]].tree, world) if row["other"] is not None else own
        wrong = {
            "never": any(own),
            "always": not all(own),
            "duplicate": own != other,
            "implied": not _implies(other, own),
        }[row["problem"]]
        if wrong:
            return f"an event refutes {row!r}"
    return None
