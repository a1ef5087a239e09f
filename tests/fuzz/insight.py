"""What can be said of `find` and `lint` without their code: they must not contradict any event that is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fuzz.judge import Judge, zone_of
from tests.fuzz.trees import Tree
from tests.fuzz.worlds import Find, Match, Rule, Top, World


def truth_of(tree: Tree, world: World) -> list[bool]:
    """Whether a tree is TRUE of each event of a world."""
    zone = zone_of(world.timezone)
    events = [event for step in world.steps if isinstance(step, Match | Top) for event in step.events]
    return [Judge(zone, event.holds).judge(tree)[0] is True for event in events]


def wrong_find(step: Find, found: list[Any], known: Mapping[Any, Rule], world: World) -> str | None:
    """A rule that is said to imply the query, or to follow from it, and does not."""
    if step.semantics not in ("implies", "implied_by"):
        return None
    asked = truth_of(step.query, world)
    for rule_id in found:
        own = truth_of(known[rule_id].tree, world)
        narrow, wide = (own, asked) if step.semantics == "implies" else (asked, own)
        if any(one and not other for one, other in zip(narrow, wide, strict=True)):
            return f"rule {rule_id!r} is found by {step.semantics!r}, and an event tells otherwise"
    return None


def wrong_lint(found: list[dict[str, Any]], known: Mapping[Any, Rule], world: World) -> str | None:
    """A finding that an event refutes."""
    for row in found:
        own = truth_of(known[row["id"]].tree, world)
        other = truth_of(known[row["other"]].tree, world) if row["other"] is not None else own
        wrong = {
            "never": any(own),
            "always": not all(own),
            "duplicate": own != other,
            "implied": any(two and not one for one, two in zip(own, other, strict=True)),
        }[row["problem"]]
        if wrong:
            return f"an event refutes {row!r}"
    return None
