"""Events that lack what rules name: found when asked for, and told with the names that may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import numpy as np

from matchwood.encoding.events.pieces import Pieces
from matchwood.encoding.events.sources import Chunk
from matchwood.errors import EventError

_NAMES_LISTED = 20


def near_misses(name: str, given: Iterable[str]) -> list[str]:
    """The given names that may have been meant, most alike first; case is no difference here.

    >>> near_misses("country", ["age", "contry", "COUNTRY"])
    ['COUNTRY', 'contry']
    """
    by_folded: dict[str, list[str]] = {}
    for candidate in given:
        by_folded.setdefault(candidate.casefold(), []).append(candidate)
    close = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    return [candidate for folded in close for candidate in by_folded[folded] if candidate != name][:3]


def check_present(names: Sequence[str], pieces: Pieces, chunk: Chunk) -> None:
    """Refuse a chunk in which a row lacks an attribute; columns that are lacking altogether are told first."""
    absent = [name for position, name in enumerate(names) if chunk.mappings is None and not pieces.may_hold(position)]
    if absent:
        raise _missing(absent, "the events' columns", pieces)
    lacking = [~pieces.covered(position, chunk.size) for position in range(len(names))]
    firsts = [int(np.argmax(rows)) for rows in lacking if rows.any()]
    if firsts:
        row = min(firsts)
        without = [name for name, rows in zip(names, lacking, strict=True) if rows[row]]
        raise _missing(without, f"event {chunk.first_row + row}", pieces)


def _missing(names: Sequence[str], where: str, pieces: Pieces) -> EventError:
    given = pieces.names()
    listed = ", ".join(_absence(name, given) for name in names[:_NAMES_LISTED])
    more = f", and {len(names) - _NAMES_LISTED} more" if len(names) > _NAMES_LISTED else ""
    return EventError(", ".join(names), where=where, got=listed + more, expected="given, because rules name it")


def _absence(name: str, given: Sequence[str]) -> str:
    near = ", ".join(map(repr, near_misses(name, given)))
    return f"no {name!r}, but {near}" if near else f"no {name!r}"
