"""Rules as DuckDB's SQL, and DuckDB's verdicts: the second opinion on what rules mean.

Translated are only the points where the semantics differ on purpose. A comparison of integers with doubles that
DuckDB would round is put in terms of the nearest value that the column can hold; an attribute that holds
both has two columns; `like` gets its escape character; names become c0, c1, … because DuckDB ignores their case.
Everything with a time in it goes to DuckDB as text, so that DuckDB does its own reading of zones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, reduce
from typing import Any

import duckdb
import pyarrow as pa

from matchwood.language.tree import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor, Xor, postorder
from tests.cases import Workload
from tests.pools import Attributes

_ARROW = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "list<int>": pa.list_(pa.int64()),
    "list<string>": pa.list_(pa.string()),
    "date": pa.string(),
    "timestamp": pa.string(),
    "decimal": pa.decimal128(38, 18),
}
_UNITS = 10**18
"""Of the last digit of a decimal column."""
_LIST_TESTS = {
    "one of": "list_has_any({0}, {1})",
    "all of": "list_has_all({0}, {1})",
    "none of": "NOT list_has_any({0}, {1})",
    "contains": "list_contains({0}, {1})",
    "not contains": "NOT list_contains({0}, {1})",
}
_NULL = object()


def verdicts(work: Workload, timezone: str = "UTC") -> list[tuple[bool | None, ...]]:
    """For each event, DuckDB's verdict on every rule; one query."""
    translate = Translation(work.attributes)
    columns = ", ".join(f"({translate.expression(rule)}) AS r{number}" for number, rule in enumerate(work.rules))
    connection = _connection()
    connection.execute(f"SET TimeZone = '{timezone}'")
    connection.register("raw", translate.table(work.events))
    connection.execute(f"CREATE OR REPLACE TABLE events AS SELECT {translate.casts()} FROM raw")
    return connection.execute(f"SELECT {columns} FROM events ORDER BY row").fetchall()


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for all queries, on one thread: starting DuckDB takes longer than most of them."""
    return duckdb.connect(config={"threads": 1})


class Translation:
    """The columns of some attributes, and rules over them as SQL."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.columns = {name: f"c{number}" for number, name in enumerate(attributes)}

    def table(self, events: list[dict[str, Any]]) -> pa.Table:
        """The events as columns; times as text."""
        made = {"row": pa.array(range(len(events)), pa.int64())}
        for name, kind in self.attributes.items():
            values = [field(event, name) for event in events]
            for column, part, taken in self._parts(name, kind):
                made[column] = pa.array([_text(each) if taken(each) else None for each in values], _ARROW[part])
        return pa.table(made)

    def casts(self) -> str:
        """The columns as they are tested: text becomes an instant in the session's zone."""
        times = [self.columns[name] for name, kind in self.attributes.items() if kind in ("date", "timestamp")]
        return f"* REPLACE ({', '.join(f'{column}::TIMESTAMPTZ AS {column}' for column in times)})" if times else "*"

    def _parts(self, name: str, kind: str) -> list[tuple[str, str, Any]]:
        column = self.columns[name]
        if kind != "number":
            return [(column, kind, lambda value: value is not None)]
        return [
            (f"{column}_i", "int", lambda value: isinstance(value, int)),
            (f"{column}_d", "double", lambda value: isinstance(value, float)),
            (f"{column}_n", "decimal", lambda value: isinstance(value, Decimal)),
        ]

    def expression(self, root: Expression) -> str:
        """A rule as SQL."""
        done: list[str] = []
        for node in postorder(root):
            start = len(done) - len(node.operands)
            text = self.predicate(node) if isinstance(node, Predicate) else _node(node, done[start:])
            del done[start:]
            done.append(text)
        return done[0]

    def predicate(self, node: Predicate) -> str:
        """A predicate as SQL, in parentheses."""
        kind = self.attributes[node.attr]
        tests = [(column, _test(node, column, part)) for column, part, _ in self._parts(node.attr, kind)]
        if len(tests) == 1:
            return f"({tests[0][1]})"
        if node.op == "is null":
            return f"({' AND '.join(f'{column} IS NULL' for column, _ in tests)})"
        if node.op == "is not null":
            return f"({' OR '.join(f'{column} IS NOT NULL' for column, _ in tests)})"
        return f"(CASE {' '.join(f'WHEN {column} IS NOT NULL THEN {test}' for column, test in tests)} END)"


def field(event: Mapping[str, Any], name: str) -> Any:
    """The value of a generated event, which holds a path nested or as one key."""
    if name.startswith("`"):
        return event.get(name.strip("`"))
    outer, _, inner = name.partition(".")
    nested = event.get(outer) if inner else None
    return nested[inner] if isinstance(nested, Mapping) and inner in nested else event.get(name)


def _text(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _node(node: Expression, operands: list[str]) -> str:
    if isinstance(node, And | Or):
        return f"({(' AND ' if isinstance(node, And) else ' OR ').join(operands)})"
    if isinstance(node, Xor | Xnor):
        symbol = "<>" if isinstance(node, Xor) else "="
        return reduce(lambda left, right: f"({left} {symbol} {right})", operands)
    if isinstance(node, Not):
        return f"(NOT {operands[0]})"
    if isinstance(node, Truth):
        return f"({operands[0]} IS {'NOT ' if node.negated else ''}{node.test.upper()})"
    assert isinstance(node, Constant)
    return "true" if node.value else "false"


def _test(node: Predicate, column: str, kind: str) -> str:
    """A predicate on one column of one SQL type."""
    if node.value is None:
        return f"{column} {node.op.upper()}"
    if node.op in _LIST_TESTS:
        values = node.value if isinstance(node.value, tuple) else (node.value,)
        items = [_literal(value, kind[5:-1]) for value in values]
        wanted = f"[{', '.join(items)}]" if isinstance(node.value, tuple) else items[0]
        return _LIST_TESTS[node.op].format(column, wanted)
    if node.op.endswith("rlike"):
        return f"{'NOT ' if node.op.startswith('not') else ''}regexp_matches({column}, {_quoted(node.value)})"
    if node.op.endswith("like"):
        return f"{column} {node.op.upper()} {_quoted(node.value)} ESCAPE {_quoted(node.escape or chr(92))}"
    if isinstance(node.value, tuple):
        return _several(node, column, kind)
    return comparison(column, kind, node.op, node.value)


def _several(node: Predicate, column: str, kind: str) -> str:
    """`in` and `between`, spelled out only where a constant has no exact counterpart in the column."""
    exact = [_exact(value, kind) for value in node.value]
    positive = node.op.removeprefix("not ")
    if _NULL not in exact and positive == "in":
        return f"{column} {node.op.upper()} ({', '.join(_literal(value, kind) for value in exact)})"
    if _NULL not in exact:
        return f"{column} {node.op.upper()} {' AND '.join(_literal(value, kind) for value in exact)}"
    if positive == "in":
        spelled = " OR ".join(comparison(column, kind, "=", value) for value in node.value)
    else:
        low, high = node.value
        spelled = f"{comparison(column, kind, '>=', low)} AND {comparison(column, kind, '<=', high)}"
    return f"NOT ({spelled})" if node.op.startswith("not") else f"({spelled})"


def comparison(column: str, kind: str, operator: str, value: Any) -> str:
    """One comparison, exact even where the column's type cannot hold the constant."""
    exact = _exact(value, kind)
    if exact is not _NULL:
        return f"({column} {operator} {_literal(exact, kind)})"
    if operator in ("=", "!="):
        return f"({column} {'<>' if operator == '=' else '='} {column})"
    below = _below(column, kind, value)
    return below if operator.startswith("<") else f"(NOT {below})"


def _exact(value: Any, kind: str) -> Any:
    """The constant as a value of the column's type, or _NULL where none equals it."""
    if kind == "int":
        if value in (math.inf, -math.inf) or value != value or math.floor(value) != value:
            return _NULL
        return int(value) if -(2**63) <= value < 2**63 else _NULL
    if kind == "decimal":
        if (
            value in (math.inf, -math.inf)
            or value != value
            or _units(value).denominator > 1
            or abs(_units(value)) >= 10**38
        ):
            return _NULL
        return f"{int(_units(value))}E-18"
    if kind == "double" and isinstance(value, Decimal):
        return value
    if kind == "double" and isinstance(value, int):
        try:
            return float(value) if int(float(value)) == value else _NULL
        except OverflowError:
            return _NULL
    return value


def _below(column: str, kind: str, value: Any) -> str:
    """`column < value` for a constant that no value of the column equals."""
    if kind == "double":
        return f"({column} <= {_literal(_double_below(value), kind)})"
    most = 2**63 if kind == "int" else 10**20
    if value != value or value >= most:
        return f"({column} = {column})"
    if value < -most:
        return f"({column} <> {column})"
    if kind == "decimal":
        return f"({column} <= {_literal(f'{math.floor(_units(value))}E-18', kind)})"
    return f"({column} <= {_literal(math.floor(value), kind)})"


def _units(value: Any) -> Fraction:
    """A finite constant in units of a decimal column's last digit; a double that is not whole by its shortest text."""
    if isinstance(value, float) and not value.is_integer():
        return Fraction(repr(value)) * _UNITS
    return Fraction(value) * _UNITS


def _double_below(value: int) -> float:
    """The largest double below an integer that is none itself."""
    try:
        near = float(value)
    except OverflowError:
        return 1.7976931348623157e308 if value > 0 else -math.inf
    return near if int(near) < value else math.nextafter(near, -math.inf)


def _literal(value: Any, kind: str) -> str:
    if kind in ("date", "timestamp"):
        return f"TIMESTAMPTZ '{value.isoformat()}'"
    if kind == "double":
        return f"'{value}'::DOUBLE"
    if kind == "decimal":
        return f"'{Decimal(value):f}'::DECIMAL(38, 18)"
    if kind == "int":
        return f"({value})::BIGINT"
    return _quoted(value) if isinstance(value, str) else str(value).lower()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
