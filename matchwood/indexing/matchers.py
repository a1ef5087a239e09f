"""The two ways to match: compiled engines over encoded units, or the oracle over parsed trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Encoder
from matchwood.indexing.compiled import CompiledMatcher
from matchwood.indexing.preparation import Prepared
from matchwood.indexing.reference import OracleMatcher
from matchwood.rules import Rows, RuleTable


class Matcher(Protocol):
    """What the façade asks of a way to match. The caller holds the lock that each call needs."""

    name: str

    def insert(self, ids: Sequence[Any], prepared: Sequence[Prepared]) -> None:
        """Add new rules; they may stay invisible to matching until `flush`."""

    def flush(self) -> None:
        """Make all inserted rules visible."""

    def replace(self, row: int, prepared: Prepared) -> None:
        """Give the rule of a row another text; its id and place stay."""

    def remove(self, row: int) -> None:
        """Take one rule out."""

    def rows_of(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        """The rows of the rules that are true of one event, in rule order."""

    def row_batches(self, events: Any, missing: str) -> Iterator[Rows]:
        """The rows for many events, in bounded pieces."""

    def compact(self) -> None:
        """Give back the room of what is gone."""

    def stats(self) -> dict[str, Any]:
        """Counts and bytes of the engine and the stores."""

    def audit(self) -> list[str]:
        """Broken invariants, in words."""


def matcher_for(engine: str, encoder: Encoder, table: RuleTable, options: Mapping[str, Any]) -> Matcher:
    """The matcher for an engine's public name."""
    if engine == "oracle":
        return OracleMatcher(encoder, table, options)
    return CompiledMatcher(engine, encoder, table, options)
