"""A world as a program: lines of Python that anybody can run, each question with the answer that is right.

The lines themselves are what is run; so the snippet of a failure is the failure.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.fuzz.answers import Model
from tests.fuzz.domains import KINDS
from tests.fuzz.spelling import Writer, weight_key
from tests.fuzz.worlds import Delete, Event, Find, Match, Put, Rule, Step, Top, World

IMPORTS = """\
import datetime, tempfile
from decimal import Decimal
from math import inf, nan
import numpy as np, pyarrow as pa
import matchwood as mw
"""
_UPKEEP = {
    "compact": "asked = index; index.compact()",
    "clear": "asked = index; index.clear()",
    "reopen": "index.save(path); index = asked = mw.open(path)",
    "read": "index.save(path); asked = mw.open(path, read_only=True)",
}
_ARROW = {
    "bool": "pa.bool_()",
    "int": "pa.int64()",
    "double": "pa.float64()",
    "decimal": "pa.decimal256(76, 30)",
    "string": "pa.string()",
    "date": "pa.date32()",
    "timestamp": "pa.timestamp('us', 'UTC')",
    "list<int>": "pa.list_(pa.int64())",
    "list<string>": "pa.list_(pa.string())",
}


@dataclass
class Line:
    """A statement, or a question with its answer; `cases` are the pairs of a rule and an event that it judges.

    `kind` is change, equal (the answer must be so), oracle (the same, but no engine has a part in it, so it is asked
    once), find (the oracle knows the answer) or lint.
    """

    source: str
    kind: str
    answer: Any = None
    cases: int = 0
    step: Step | None = None
    known: dict[int | str, Rule] | None = None

    @property
    def changes(self) -> bool:
        """Whether it has to be run for later ones to make sense."""
        return self.kind == "change" or self.source.startswith("index.")


@dataclass
class Program:
    lines: list[Line]
    world: World


def program_of(world: World) -> Program:
    """All lines of a world; what `find` must answer is not known yet."""
    model, lines = Model(world.timezone), []
    for step in world.steps:
        lines += _lines(step, model)
        if not isinstance(step, Match | Top | Find):
            model.follow(step)
            lines.append(Line("asked.audit()", "equal", []))
    return Program(lines, world)


def opening(world: World, engine: str, options: dict[str, Any]) -> str:
    """The line that makes the index."""
    given = f"engine={engine!r}, schema={world.schema!r}, options={options!r}"
    return f"index = asked = mw.Index({given}, dnf_limit={world.dnf_limit}, timezone={world.timezone!r})"


def _lines(step: Step, model: Model) -> list[Line]:
    if isinstance(step, Put):
        return [Line("asked = index", "change"), _put(step)]
    if isinstance(step, Delete):
        return [Line(f"asked = index; del index[{step.id!r}]", "change")]
    if isinstance(step, Match):
        return [_match(step, model)]
    if isinstance(step, Top):
        return [_top(step, model)]
    if isinstance(step, Find):
        source = f"asked.find({Writer(step.style).text(step.query)!r}, {step.semantics!r})"
        return [Line(source, "find", cases=1, step=step, known=dict(model.rules))]
    if step.what == "lint":
        return [Line("asked.lint().to_pylist()", "lint", cases=1, step=step, known=dict(model.rules))]
    return [Line(_UPKEEP[step.what], "change")]


# ------------------------------------------------------------------------ rules


def _put(step: Put) -> Line:
    if step.how in ("set", "json"):
        text = f"{Writer(step.rules[0].style).text(step.rules[0].tree)!r}"
        value = f"mw.parse({text}).to_json()" if step.how == "json" else text
        return Line(f"index[{step.rules[0].id!r}] = {value}", "change")
    handed = _table_of_rules(step.rules) if step.how == "table" else repr([*map(_entry, step.rules)])
    return Line(f"index.insert_many({handed}, on_duplicate='replace').rejected.to_pylist()", "equal", [])


def _entry(rule: Rule) -> tuple[Any, ...]:
    text = Writer(rule.style).text(rule.tree)
    if not rule.weights and rule.weight == 0.0:
        return rule.id, text
    return rule.id, text, {"weight": rule.weight, "weights": _weights(rule)}


def _weights(rule: Rule) -> dict[str, Any]:
    return {
        name: {weight_key(value): each for value, each in weight.items()} if isinstance(weight, dict) else weight
        for name, weight in rule.weights.items()
    }


def _table_of_rules(rules: list[Rule]) -> str:
    columns = {
        "id": [rule.id for rule in rules],
        "expression": [Writer(rule.style).text(rule.tree) for rule in rules],
        "weight": [rule.weight for rule in rules],
        "weights": [json.dumps(_weights(rule)) for rule in rules],
    }
    return f"pa.table({columns!r})"


# -------------------------------------------------------------------- questions


def _match(step: Match, model: Model) -> Line:
    hits = [model.match(event) for event in step.events]
    cases = len(step.events) * len(model.rules)
    given = _events(step.events)
    if step.how == "one":
        return Line(f"[asked.match(event) for event in {given}]", "equal", hits, cases)
    if step.how == "verdicts":
        source = f"[[asked.explain(event, rule).verdict for rule in asked] for event in {given}]"
        return Line(source, "oracle", [model.verdicts(event) for event in step.events], cases)
    call = {"many": f"match_many({given})", "threads": f"match_many({given}, threads=2)"}.get(step.how)
    if step.how == "batches":
        call = f"match_batches({given}).read_all()"
    elif step.how == "table":
        call = f"match_many({_table_of_events(step.events, model.zone) or given})"
    answer = {
        "event": [place for place, found in enumerate(hits) for _ in found],
        "rule": [rule for found in hits for rule in found],
    }
    return Line(f"asked.{call}.to_pydict()", "equal", answer, cases)


def _top(step: Top, model: Model) -> Line:
    weights = step.weights if step.how in ("one", "each") else step.weights * len(step.events)
    best = [model.top(event, step.n, own) for event, own in zip(step.events, weights, strict=True)]
    given, cases = _events(step.events), len(step.events)
    if step.how == "one":
        pairs = f"zip({given}, {step.weights!r})"
        return Line(f"[asked.top(event, {step.n}, own) for event, own in {pairs}]", "equal", best, cases)
    if step.how == "table":
        given = _table_of_events(step.events, model.zone) or given
    own = step.weights if step.how == "each" else step.weights[0]
    answer = {
        "event": [place for place, found in enumerate(best) for _ in found],
        "rank": [rank for found in best for rank, _ in enumerate(found, 1)],
        "rule": [rule for found in best for rule, _ in found],
        "score": [score for found in best for _, score in found],
    }
    return Line(f"asked.top_many({given}, {step.n}, {own!r}).to_pydict()", "equal", answer, cases)


def _events(events: list[Event]) -> str:
    return repr([event.given for event in events])


def _table_of_events(events: list[Event], zone: datetime.tzinfo) -> str | None:
    """The events as columns; None where a column would have to hold ints and doubles."""
    names = list(dict.fromkeys(name for event in events for name in event.holds))
    columns = []
    for name in names:
        values = [event.holds.get(name) for event in events]
        kind = KINDS[name] if KINDS[name] != "number" else _column_kind(values)
        if kind is None:
            return None
        if kind == "timestamp":
            values = [each and _in_utc(each, zone) for each in values]
        columns.append(f"{name.strip('`')!r}: pa.array({values!r}, {_ARROW[kind]})")
    # A table without columns has no rows.
    return "pa.table({" + ", ".join(columns) + "})" if columns else None


def _column_kind(values: list[Any]) -> str | None:
    kinds = {type(value) for value in values if value is not None}
    if Decimal in kinds:
        fits = all(type(each) is Decimal and -30 < each.adjusted() < 40 for each in values if each is not None)
        return "decimal" if fits else None
    return None if len(kinds) > 1 else "double" if float in kinds else "int"


def _in_utc(value: datetime.date, zone: datetime.tzinfo) -> datetime.datetime:
    known = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    known = known if known.tzinfo else known.replace(tzinfo=zone)
    return known.astimezone(datetime.UTC)
