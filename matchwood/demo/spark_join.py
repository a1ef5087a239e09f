"""The demo's job as a Spark SQL join: campaigns as a table of conditions, joined with page views on all of them.

That is how such rules are matched without Matchwood when they are data: one column for each kind of condition, NULL
where a campaign has none, and a join that looks at every pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matchwood.language import Expression, Not, Predicate, Truth, Xor, parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONDITIONS = {
    "age_low bigint": "v.age >= c.age_low",
    "age_high bigint": "v.age <= c.age_high",
    "countries array<string>": "array_contains(c.countries, v.country)",
    "interests_any array<string>": "arrays_overlap(v.interests, c.interests_any)",
    "interests_all array<string>": "size(array_except(c.interests_all, v.interests)) = 0",
    "hour_low bigint": "v.hour >= c.hour_low",
    "hour_high bigint": "v.hour <= c.hour_high",
    "plan_free boolean": "(v.plan LIKE 'free%') = c.plan_free",
    "plan string": "v.plan = c.plan",
    "plan_not string": "NOT (v.plan <=> c.plan_not)",
    "spend_above double": "v.spend > c.spend_above",
    "spend_from double": "v.spend >= c.spend_from",
    "spend_below double": "v.spend < c.spend_below",
    "site string": "v.site = c.site",
    "devices array<string>": "array_contains(c.devices, v.device)",
}
"""Each column of the table of campaigns, and what it asks of a page view."""

_SPEND = {">": "spend_above", ">=": "spend_from", "<": "spend_below"}


def joined_hits(campaigns: Mapping[str, str], views: DataFrame) -> DataFrame:
    """(view, rule): every page view with every campaign that it fulfils, by a join of the two."""
    rows = [(name, *_row(text)) for name, text in campaigns.items()]
    table = views.sparkSession.createDataFrame(rows, ", ".join(["rule string", *CONDITIONS]))
    asked = [f"(c.{column.split()[0]} IS NULL OR {condition})" for column, condition in CONDITIONS.items()]
    from pyspark.sql import functions as sf

    on = sf.expr(" AND ".join(asked))
    return views.alias("v").join(sf.broadcast(table.alias("c")), on).selectExpr("v.view", "c.rule")


def _row(text: str) -> list[Any]:
    """
    >>> [value for value in _row("age between 20 and 30 and site = 'a' and spend < 2.5") if value is not None]
    [20, 30, 2.5, 'a']
    """
    held: dict[str, Any] = {}
    for condition in parse(text).operands:
        held.update(_columns(condition))
    return [held.get(column.split()[0]) for column in CONDITIONS]


def _columns(condition: Expression) -> dict[str, Any]:
    if isinstance(condition, Xor):
        return {"devices": [_constant(operand) for operand in condition.operands]}
    if isinstance(condition, Truth):
        return {"plan_not": _constant(condition.operands[0])}
    if isinstance(condition, Not):
        return {"plan_free": False}
    assert isinstance(condition, Predicate)
    if condition.op == "between":
        return dict(zip((f"{condition.attr}_low", f"{condition.attr}_high"), condition.value, strict=True))
    if condition.op == "like":
        return {"plan_free": True}
    names = {"in": "countries", "one of": "interests_any", "all of": "interests_all"}
    if condition.op in names:
        return {names[condition.op]: list(condition.value)}
    return {_SPEND.get(condition.op, condition.attr): condition.value}


def _constant(predicate: Expression) -> Any:
    assert isinstance(predicate, Predicate)
    return predicate.value
