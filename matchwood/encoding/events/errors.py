"""What is said of events that do not fit: which row, which attribute, which value, and what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from matchwood.encoding.attribute import Source
from matchwood.encoding.events.columns.parts import Misfits
from matchwood.encoding.events.hints import hint_for
from matchwood.encoding.events.strictness import Complaint
from matchwood.errors import EventError


class Faults(NamedTuple):
    """The misfits of a chunk, each with its source, in the order of sources."""

    first_row: int
    misfits: list[tuple[Source, Misfits]]

    @property
    def total(self) -> int:
        return sum(len(misfits.rows) for _, misfits in self.misfits)

    def counts(self) -> dict[str, int]:
        """How many values did not fit, by attribute."""
        counts: dict[str, int] = {}
        for source, misfits in self.misfits:
            counts[source.name] = counts.get(source.name, 0) + len(misfits.rows)
        return counts

    def first(self) -> EventError | None:
        """The error of the first row that has one, of its first attribute."""
        firsts = [(int(misfits.rows.min()), source, misfits) for source, misfits in self.misfits if len(misfits.rows)]
        if not firsts:
            return None
        _, source, misfits = min(firsts, key=lambda entry: entry[0])
        return self._error(source, misfits, int(np.argmin(misfits.rows)))

    def report(self) -> list[tuple[int, str]]:
        """Each misfit's row and message, in the order of rows, then of sources."""
        return sorted(self._messages(), key=lambda entry: entry[0])

    def _messages(self) -> Iterator[tuple[int, str]]:
        for source, misfits in self.misfits:
            for position, row in enumerate(misfits.rows.tolist()):
                yield self.first_row + row, Complaint(str(self._error(source, misfits, position)), source.name)

    def _error(self, source: Source, misfits: Misfits, position: int) -> EventError:
        where = f"event {self.first_row + int(misfits.rows[position])}"
        expected = misfits.expected or source.kind
        got = misfits.got(position)
        hint = None if misfits.expected else hint_for(source.name, source.kind, got)
        return EventError(source.name, where=where, got=got, expected=expected, hint=hint)
