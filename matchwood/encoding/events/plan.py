"""What live rules ask of events, prepared once and kept until the list of sources changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from matchwood.encoding.attribute import Source
from matchwood.encoding.events.columns.fixed_layout import Layouts
from matchwood.encoding.events.paths import Node, key_trie
from matchwood.encoding.events.strictness import MisfitCounter
from matchwood.encoding.events.unwrapping import ValueReading

if TYPE_CHECKING:
    from matchwood.encoding.encoder import Encoder

ROWS = 16_384
"""Rows of a chunk: the labels of 20 columns then fill some 1.3 MB, and stay in the cache between the steps."""

LABELS = 8 * 2**20
"""Labels of a chunk, NULLs of columns included: with more than 512 columns, chunks have fewer rows."""

FIRST_ROWS = 64
"""Rows of the first chunk where nobody can say beforehand how many labels a row has."""

CHUNKS_A_THREAD, LEAST_ROWS = 4, 32
"""What each of several threads gets of the events, so that all end at about the same time; and no smaller chunks."""

LABEL_BITS = 32
"""A pair as one integer: the attribute above that many bits of label."""

_QUICK_TYPES: dict[str, tuple[bool, type | None]] = {
    "int": (True, None),
    "number": (True, float),
    "double": (True, float),
    "string": (False, str),
}


class Quick(NamedTuple):
    """A key with one attribute, whose commonest values only have to be located: integers, values of another type.

    `known`  the labels of values that were located lately
    """

    takes_int: bool
    type: type | None
    base: int
    known: dict[Any, int]
    locate: Callable[[Any], int]


class EventPlan(NamedTuple):
    """The sources of one version of an encoder, the trie of their names, how values are read, and what is plain.

    `readings`  of each source; `of_pandas` those of its DataFrames
    `misfits`   counts values that do not fit
    """

    version: int
    sources: list[Source]
    trie: Node
    readings: list[ValueReading]
    of_pandas: list[ValueReading]
    misfits: MisfitCounter
    quick: dict[str, Quick]
    layouts: Layouts


def event_plan(encoder: Encoder) -> EventPlan:
    """The encoder's plan, made anew when its sources have changed."""
    plan: EventPlan | None = encoder.event_plan
    if plan is None or plan.version != encoder.version:
        plan = encoder.event_plan = _made(encoder)
    return plan


def _made(encoder: Encoder) -> EventPlan:
    version, sources = encoder.version, list(encoder.sources())
    names = [source.name for source in sources]
    trie, settings = key_trie(names), encoder.event_settings
    nan_is_null = settings.nan_is_null(from_pandas=False)
    return EventPlan(
        version,
        sources,
        trie,
        settings.readings(encoder.zone, names),
        settings.readings(encoder.zone, names, from_pandas=True),
        encoder.misfits,
        _quick_keys(trie, sources, nan_is_null),
        Layouts(trie, sources, nan_is_null),
    )


class Pace:
    """How many rows the next chunk may have, so that its labels stay bounded: told by those of the last one.

    Sources may be many while events hold few of them, and any number of derived attributes may hold of a value.
    """

    def __init__(self, encoder: Encoder, threads: int = 1, count: int | None = None) -> None:
        """For so many threads, and so many rows if that is known."""
        sources = event_plan(encoder).sources
        unclear = len(sources) > LABELS // ROWS or any(source.derived is not None for source in sources)
        self._most = ROWS if threads == 1 else _shared(ROWS if count is None else count, threads)
        self._rows = min(self._most, FIRST_ROWS if unclear else ROWS)

    def __call__(self) -> int:
        return self._rows

    def note(self, rows: int, labels: int) -> None:
        """A chunk of so many rows became so many labels."""
        if rows:
            self._rows = max(1, min(self._most, 4 * self._rows, LABELS * rows // max(labels, 1)))


def _shared(count: int, threads: int) -> int:
    """Rows of a chunk, so that each of some threads gets several."""
    return min(ROWS, max(LEAST_ROWS, -(-count // (CHUNKS_A_THREAD * threads))))


def _quick_keys(trie: Node, sources: list[Source], nan_is_null: bool) -> dict[str, Quick]:
    quick = {}
    for key, edge in trie.items():
        source = sources[edge.here[0]] if edge.sole else None
        if source is None or source.kind not in _QUICK_TYPES or source.derived is not None or len(source.direct) != 1:
            continue
        number, spaces = source.direct[0]
        if spaces is not None:
            takes_int, other = _QUICK_TYPES[source.kind]
            # Doubles that may be NULL are looked at more closely.
            other = None if nan_is_null and other is float else other
            quick[key] = Quick(takes_int, other, number << LABEL_BITS, spaces.memo, spaces.locate)
    return quick
