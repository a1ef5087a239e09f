"""What live rules ask of events, prepared once and kept until the list of sources changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from matchwood.encoding.attribute import Source
from matchwood.encoding.events.columns.fixed_layout import Layouts
from matchwood.encoding.events.one_event.numbers import NumberLines
from matchwood.encoding.events.paths import Node, key_trie
from matchwood.encoding.events.quick import TypedReaders, quick_keys
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

CHUNKS_A_THREAD, GOOD_ROWS, LEAST_ROWS = 4, 2_000, 256
"""What each of several threads gets of the events, so that all end at about the same time: as many chunks, but no more
than give each of them GOOD_ROWS, and one that has LEAST_ROWS. A chunk costs some milliseconds however small it is, and
engines match many events together: BEGen at 1% takes a third less in groups of 4,000 events than in groups of 1,000."""


class EventPlan(NamedTuple):
    """The sources of one version of an encoder, the trie of their names, how values are read, and what is plain.

    `readings`  of each source; `of_pandas` those of its DataFrames
    `misfits`   counts values that do not fit
    `quick`     keys of which a pair is one look-up; `slow` are all others
    `numbers`   keys of which a kernel finds the pairs of an event, if they are numbers
    `unclear`   whether nobody can say beforehand how many labels an event may have
    """

    version: int
    sources: list[Source]
    trie: Node
    readings: list[ValueReading]
    of_pandas: list[ValueReading]
    misfits: MisfitCounter
    quick: dict[str, TypedReaders]
    slow: frozenset[str]
    numbers: NumberLines
    layouts: Layouts
    unclear: bool


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
    readings = settings.readings(encoder.zone, names)
    quick = quick_keys(trie, sources, readings, nan_is_null)
    slow = frozenset(trie) - quick.keys()
    return EventPlan(
        version,
        sources,
        trie,
        readings,
        settings.readings(encoder.zone, names, from_pandas=True),
        encoder.misfits,
        quick,
        slow,
        NumberLines(quick, slow),
        Layouts(trie, sources, nan_is_null),
        len(sources) > LABELS // ROWS or any(source.derived is not None for source in sources),
    )


class Pace:
    """How many rows the next chunk may have, so that its labels stay bounded: told by those of the last one.

    Sources may be many while events hold few of them, and any number of derived attributes may hold of a value.
    """

    def __init__(self, encoder: Encoder, threads: int = 1, count: int | None = None) -> None:
        """For so many threads, and so many rows if that is known."""
        self._most = ROWS if threads == 1 else _shared(ROWS if count is None else count, threads)
        self._rows = min(self._most, FIRST_ROWS if event_plan(encoder).unclear else ROWS)

    def __call__(self) -> int:
        return self._rows

    def note(self, rows: int, labels: int) -> None:
        """A chunk of so many rows became so many labels."""
        if rows:
            self._rows = max(1, min(self._most, 4 * self._rows, LABELS * rows // max(labels, 1)))


def _shared(count: int, threads: int) -> int:
    """Rows of a chunk, so that each of some threads gets several if there are enough for that.

    >>> [_shared(count, 2) for count in (100, 1_000, 2_000, 4_000, 100_000, 1_000_000)]
    [256, 500, 1000, 2000, 12500, 16384]
    """
    chunks = threads * max(1, min(CHUNKS_A_THREAD, count // (threads * GOOD_ROWS)))
    return min(ROWS, max(LEAST_ROWS, -(-count // chunks)))
