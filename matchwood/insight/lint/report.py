"""`index.lint()`: rules that are never or always true, that repeat another, or that another implies.

`never`, `always` and `duplicate` are read off the units of each rule; rules with a form, and rules of several
conjunctions of which the empty event satisfies one, are searched case by case. `implied` compares single
conjunctions. `docs/lint.md` says what may be missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.insight.lint.units import Rows, UnitsOfRows
from matchwood.logic import dnf_of, is_always, is_never
from matchwood.matching import Matcher, as_engine_matcher, as_expression
from matchwood.rules import RuleTable

PROBLEMS = ("never", "always", "duplicate", "implied")

_NOBODY = -1


class _Findings(NamedTuple):
    """Rows with one kind of problem, the row that each has it with, or -1, and the words around the other's id."""

    problem: str
    rows: NDArray[np.int32]
    others: NDArray[np.int32]
    words: tuple[str, str]


def lint_rules(table: RuleTable, encoder: Encoder, matcher: Matcher, dnf_limit: int) -> pa.Table:
    """All findings as a table (id, problem, other, detail), by problem and then rule order.

    Its metadata tell of how many rules the search for implications gave up on: `unsearched`.
    """
    id_type = table.id_type
    table, encoder, indexed = as_engine_matcher(table, encoder, matcher, dnf_limit)
    units = UnitsOfRows(table, indexed.parts)
    never, always = _searched(table, encoder, dnf_limit, units.rows_to_search())
    never, always = np.union1d(never, units.rows_without_any()), np.union1d(always, units.rows_of_empty_conjunction())
    implied = units.implied()
    findings = [
        _alone("never", never, "no event can make it true"),
        _alone("always", always, "every event makes it true"),
        _without(_Findings("duplicate", *units.duplicates(), ("the same as rule ", "")), never, always),
    ]
    stronger = [found.rows for found in findings]
    words = ("true whenever rule ", " is")
    findings.append(_without(_Findings("implied", implied.rows, implied.others, words), *stronger))
    schema = pa.schema({"id": id_type, "problem": pa.string(), "other": id_type, "detail": pa.string()})
    result = pa.concat_tables([_table(table, found) for found in findings]).cast(schema)
    return result.replace_schema_metadata({"unsearched": str(implied.gave_up)})


def _alone(problem: str, rows: Rows, detail: str) -> _Findings:
    return _Findings(problem, rows.astype(np.int32), np.full(len(rows), _NOBODY, np.int32), (detail, ""))


def _without(found: _Findings, *stronger: Rows) -> _Findings:
    """Leave out rows that have a stronger finding."""
    kept = ~np.isin(found.rows, np.concatenate(stronger))
    return found._replace(rows=found.rows[kept], others=found.others[kept])


def _table(table: RuleTable, found: _Findings) -> pa.Table:
    named = found.others != _NOBODY
    some = table.ids(np.where(named, found.others, found.rows))
    others = pc.if_else(pa.array(named), some, pa.scalar(None, some.type))
    between = pc.fill_null(others.cast(pa.string()), "")
    detail = pc.binary_join_element_wise(found.words[0], between, found.words[1], "")
    problem = pa.array([found.problem] * len(found.rows), pa.string())
    return pa.table({"id": table.ids(found.rows), "problem": problem, "other": others, "detail": detail})


def _searched(table: RuleTable, encoder: Encoder, dnf_limit: int, rows: Rows) -> tuple[Rows, Rows]:
    """Which of these rules are never true, and which always: decided case by case, within a budget for each."""
    never, always = [], []
    for row in rows.tolist():
        normal = dnf_of(as_expression(table.text(row)), encoder.bind, dnf_limit)
        if is_never(normal):
            never.append(row)
        elif is_always(normal):
            always.append(row)
    return np.array(never, np.int32), np.array(always, np.int32)
