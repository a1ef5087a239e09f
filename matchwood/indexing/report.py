"""What a bulk insertion did: how many rules went in, and each one that did not, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from matchwood.errors import ParseError


@dataclass(slots=True)
class Report:
    """Counts and rejected rules; `rejected` is a table of id, expression, error, line, column."""

    inserted: int = 0
    replaced: int = 0
    _rejects: list[tuple[Any, Any, Exception]] = field(default_factory=list, repr=False)

    def reject(self, rule_id: Any, expression: Any, error: Exception) -> None:
        """Note one refused rule."""
        self._rejects.append((rule_id, expression, error))

    def add(self, other: Report) -> None:
        """Take over the counts and rejects of another report."""
        self.inserted += other.inserted
        self.replaced += other.replaced
        self._rejects.extend(other._rejects)

    @property
    def rejected(self) -> pa.Table:
        """The refused rules; line and column are NULL when the text itself is sound."""
        ids = [rule_id for rule_id, _, _ in self._rejects]
        errors = [error for _, _, error in self._rejects]
        located = [error if isinstance(error, ParseError) else None for error in errors]
        return pa.table(
            {
                "id": id_array(ids),
                "expression": pa.array([_text(expression) for _, expression, _ in self._rejects], pa.string()),
                "error": pa.array([str(error) for error in errors], pa.string()),
                "line": pa.array([error and error.line for error in located], pa.int64()),
                "column": pa.array([error and error.column for error in located], pa.int64()),
            }
        )

    def __str__(self) -> str:
        return f"{self.inserted:,} inserted, {self.replaced:,} replaced, {len(self._rejects):,} rejected"


def id_array(ids: list[Any]) -> pa.Array:
    """Ids as int64 where all are integers, otherwise as text: a refused id may be of any type."""
    if ids and all(isinstance(rule_id, int) and not isinstance(rule_id, bool) and abs(rule_id) < 2**63 for rule_id in ids):
        return pa.array(ids, pa.int64())
    return pa.array([_text(rule_id) for rule_id in ids], pa.string())


def _text(value: Any) -> str | None:
    """A value as printable text; what UTF-8 cannot hold is escaped."""
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()
