"""A plan in words, for the people who will run it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from matchwood.spark.match.unfit import told_unfit

if TYPE_CHECKING:
    from matchwood.spark.match.plan import MatchPlan

_LISTED = 30


def plan_text(plan: MatchPlan) -> str:
    """One line a fact."""
    task = plan.task
    ranking = "" if task.top is None else f", the best {task.top} of an event"
    lines = {
        "index": f"{task.path}, version {task.version}, engine {plan.engine}{ranking}",
        "strategy": f"{plan.strategy}: {plan.estimate}",
        "on a host": _held(plan),
        "travels": _listed(plan.travelling) or "no column: no rule asks for one that the events have",
        "no column has": _listed(_near(name, near) for name, near in plan.missing.items()),
        "never fits": "; ".join(told_unfit(each, plan.event) for each in plan.unfit),
        "may not fit": _listed(plan.may_misfit),
    }
    width = max(map(len, lines))
    return "\n".join(f"{name.ljust(width)}  {told}" for name, told in lines.items() if told)


def _held(plan: MatchPlan) -> str:
    size, room = f"{plan.bytes / 2**20:,.1f} MiB", (plan.task.room or 0) / 2**20
    if plan.strategy == "broadcast":
        return f"{size}, mapped once for all of its workers"
    if plan.strategy == "sharded":
        return f"up to {room:,.1f} MiB of {size} mapped, and one more shard at a time"
    return f"one of {plan.shards} shards for each worker, of {size} together"


def _near(name: str, near: list[str]) -> str:
    return name + (f" (but {', '.join(near)})" if near else "")


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f", and {len(every) - _LISTED:,} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more
