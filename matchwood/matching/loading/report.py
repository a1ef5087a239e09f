"""What a bulk insertion did: how many rules went in, and each one that did not, with the reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from matchwood.encoding import Settled
from matchwood.errors import MatchwoodError, ParseError, TypeConflict, kind_in_words
from matchwood.matching.loading.preparation import as_expression

if TYPE_CHECKING:
    from matchwood.matching.loading.votes import Votes

EXAMPLES = 5
"""Rejected rules that a message shows."""


@dataclass(slots=True, repr=False)
class Report:
    """Counts and rejected rules; `rejected` is a table of id, expression, error, line, column."""

    inserted: int = 0
    replaced: int = 0
    id_type: pa.DataType = field(default_factory=pa.string)
    """The type of the index's ids, which `rejected` shares unless an id is of another kind."""
    _rejects: list[tuple[Any, Any, Exception]] = field(default_factory=list)

    def reject(self, rule_id: Any, expression: Any, error: Exception) -> None:
        """Note one refused rule."""
        self._rejects.append((rule_id, expression, _by_itself(error)))

    def add(self, other: Report) -> None:
        """Take over the counts and rejects of another report."""
        self.inserted += other.inserted
        self.replaced += other.replaced
        self.id_type = other.id_type
        self._rejects.extend(other._rejects)

    @property
    def rejected(self) -> pa.Table:
        """The refused rules; line and column are NULL when the text itself is sound."""
        return self._table(self._rejects)

    @property
    def rejections(self) -> int:
        """How many rules were refused."""
        return len(self._rejects)

    def first_rejected(self) -> pa.Table:
        """The first few of them."""
        return self._table(self._rejects[:EXAMPLES])

    @property
    def misfits(self) -> dict[str, int]:
        """How many rules were refused for the type of an attribute, by attribute."""
        return dict(Counter(error.what for error in self.conflicts()))

    def conflicts(self) -> list[TypeConflict]:
        """The errors about types."""
        return [error for _, _, error in self._rejects if isinstance(error, TypeConflict)]

    def refuses_majority(self, votes: Votes, settled: Mapping[str, Settled]) -> bool:
        """Whether a rule was refused for a type that most rules ask for."""
        for rule_id, source, error in self._rejects:
            if isinstance(error, TypeConflict) and error.what in settled:
                kinds = dict(votes.uses(rule_id, source))
                if kinds.get(error.what) == settled[error.what].kind:
                    return True
        return False

    def retell(self, votes: Votes, settled: Mapping[str, Settled]) -> None:
        """Say in errors about types how many rules say otherwise."""
        votes.alone.settled = dict(settled)
        for place, (rule_id, source, error) in enumerate(self._rejects):
            if isinstance(error, TypeConflict) and error.what in settled:
                try:
                    votes.alone.check(as_expression(source), rule_id)
                except TypeConflict as told:
                    self._rejects[place] = (rule_id, source, _by_itself(told))

    def _table(self, rejects: list[tuple[Any, Any, Exception]]) -> pa.Table:
        errors = [error for _, _, error in rejects]
        located = [error if isinstance(error, ParseError) else None for error in errors]
        return pa.table(
            {
                "id": _ids([rule_id for rule_id, _, _ in rejects], self.id_type),
                "expression": pa.array([_text(expression) for _, expression, _ in rejects], pa.string()),
                "error": pa.array([_text(error) for error in errors], pa.string()),
                "line": pa.array([error and error.line for error in located], pa.int64()),
                "column": pa.array([error and error.column for error in located], pa.int64()),
            }
        )

    def __repr__(self) -> str:
        return f"<Report: {self}>"

    def __str__(self) -> str:
        return f"{self.inserted:,} inserted, {self.replaced:,} replaced, {self.rejections:,} rejected"


def _by_itself(error: Exception) -> Exception:
    """An error without the frames that it came through: these would keep all scratch memory of the load."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


def in_words(rejected: pa.Table) -> list[str]:
    """Some rejected rules with the first line of the reason."""
    rows = rejected.slice(0, EXAMPLES).to_pylist()
    reasons = [row["error"].split("\n")[0].removeprefix(f"rule {row['id']!r}: ") for row in rows]
    return [f"rule {row['id']!r}: {reason}" for row, reason in zip(rows, reasons, strict=True)]


def _ids(ids: list[Any], usual: pa.DataType) -> pa.Array:
    """Ids as int64 where all are integers, otherwise as text, since a refused id may be anything; None is NULL."""
    given = [rule_id for rule_id in ids if rule_id is not None]
    if not given:
        return pa.nulls(len(ids), usual)
    if all(type(rule_id) is int and -(2**63) <= rule_id < 2**63 for rule_id in given):
        return pa.array(ids, pa.int64())
    return pa.array([_text(rule_id) for rule_id in ids], pa.string())


MOST_SHOWN = 100_000
"""Characters of a refused rule that are kept: a JSON rule may hold one object many times, and be endless as text."""


def _text(value: Any) -> str | None:
    """A value as printable text, JSON where that was given; what UTF-8 cannot hold is escaped."""
    if value is None:
        return None
    try:
        text = _json_text(value) if isinstance(value, Mapping) else str(value)
    except (TypeError, ValueError, RecursionError, MatchwoodError):
        text = f"<{kind_in_words(value)} that cannot be shown>"
    return text.encode("utf-8", "backslashreplace").decode()


def _json_text(value: Mapping[Any, Any]) -> str:
    pieces, size = [], 0
    for piece in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(dict(value)):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_SHOWN:
            return "".join(pieces)[:MOST_SHOWN] + "…"
    return "".join(pieces)
