"""The score programs: one for each rule that was ever scored, made when it is first needed.

The tests in programs have an encoder of their own, beside the one that matching uses: a rule's normal form drops
predicates that its score still asks about, and scoring must not move the labels that engines have stored. Events are
encoded a second time only if a program tests anything, which takes an OR, or weights by value.

A reader that finds rules without a program adds them itself, in turns of their own lock, while it reads the index.
A writer of the index has all readers out, and only has to say which rows changed.

Engines that need the programs of all rules have them saved with the index: `score_program_state` tells how.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Growable, ReadersWriterLock
from matchwood.encoding import (
    QUIET,
    Chunk,
    EncodedConjunctions,
    EncodedEvents,
    Encoder,
    EventChunk,
    Flat,
    Pace,
    event_plan,
    is_derived,
    read_key,
)
from matchwood.engines import DEAD, Programs, read_only
from matchwood.errors import CorruptSnapshot, EventError, MatchwoodError
from matchwood.language import Expression, parse
from matchwood.ranking import score_program_state as program_state
from matchwood.ranking._score_program_kernels import relabel_code
from matchwood.ranking.code import CodeDraft, Drafting, conjunction_draft
from matchwood.ranking.rule_weights import RuleWeights
from matchwood.ranking.score_program_state import ProgramState
from matchwood.ranking.trees import scoring_tree
from matchwood.ranking.written_rules import WrittenPrograms
from matchwood.rules import RuleTable

AT_ONCE = 4096
"""Rules whose trees are in memory at a time."""

FEWEST_DEAD = 1024
"""Programs of removed rules are kept until there are so many, and more than of rules that live."""


class ScorePrograms:
    """Programs by row, for the rules of one table.

    `encoder`  of the index: its schema and time zone hold here too
    """

    def __init__(self, encoder: Encoder, table: RuleTable) -> None:
        self._index_encoder, self._table = encoder, table
        self._lock, self._agreeing = ReadersWriterLock(), threading.Lock()
        self.version = 0
        """Grows whenever codes of events no longer hold."""
        self._start()

    def _start(self) -> None:
        own = self._index_encoder
        self._encoder = Encoder(own.schema, own.timezone, event_settings=own.event_settings)
        self._starts, self._code = Growable(np.int64), Growable(np.int32)
        self._weights = Growable(np.float64)
        self._names: dict[str, int] = {}
        self._agreed: tuple[int, int] | None = None
        self._attribute_names: tuple[Any, NDArray[np.int32]] = (None, _NO_ROWS)
        self._without: tuple[Any, NDArray[np.float64]] = (None, np.empty(0))
        self._dead = self.written = 0
        self._sound = True
        self.depth = self.slots = 1
        self.version += 1

    # ----------------------------------------------------------------- writing

    def forget(self, rows: NDArray[np.int32]) -> None:
        """The rules of these rows changed or went; the caller keeps all readers out."""
        self.check()
        known = rows[rows < len(self._starts)]
        written = known[self._starts.view()[known] >= 0]
        if not len(written):
            return
        self._starts.writable()[written] = -1
        self._dead += len(written)
        self.written -= len(written)
        if self._dead > max(FEWEST_DEAD, self.written):
            self._start()

    def renumber(self, moved: NDArray[np.int32]) -> None:
        """Rows have other numbers: the new one of each old one, -1 for those that went."""
        self.check()
        old = self._starts.view()
        kept = np.flatnonzero((moved[: len(old)] >= 0) & (old[: len(moved)] >= 0))
        if not len(kept):
            self._start()
            return
        starts = np.full(int(moved.max(initial=-1)) + 1, -1, np.int64)
        starts[moved[kept]] = old[kept]
        self._starts = Growable(np.int64, starts)

    def clear(self) -> None:
        """All rules are gone."""
        self._start()

    def write(self, rows: Sequence[int] | NDArray[np.int32], trees: Sequence[Expression]) -> None:
        """Programs for rows whose trees are at hand; the caller keeps all readers out, or holds the programs' turn."""
        self.check()
        drafts = [self._draft(row, tree) for row, tree in zip(_ints(rows), trees, strict=True)]
        self._store(rows, drafts)

    def write_columns(
        self, rows: NDArray[np.int32], places: NDArray[np.int64], trees: Sequence[Expression], columns: WrittenPrograms
    ) -> None:
        """The same for rows of which only those at some `places` have trees at hand, and the others are in columns."""
        self.check()
        drafts = []
        for place, row, tree in zip(places.tolist(), rows[places].tolist(), trees, strict=True):
            columns.number_before(place, self._number, self._weights)
            drafts.append(self._draft(row, tree))
        columns.number_before(len(rows), self._number, self._weights)
        self._store_columns(rows, places, drafts, columns)

    def _draft(self, row: int, tree: Expression) -> CodeDraft:
        text = self._table.weights_json(row)
        short = conjunction_draft(tree, self._number) if not text else None
        if short is not None:
            return short
        part = scoring_tree(tree, RuleWeights(text), self._encoder.bind)
        return Drafting(self._number, self._weights.append).draft(part)

    def _number(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))

    def _store(self, rows: Sequence[int] | NDArray[np.int32], drafts: list[CodeDraft]) -> None:
        leaves = [(leaf,) for draft in drafts for leaf in draft.leaves]
        tests = _tests(self._encode(leaves), range(len(leaves))) if leaves else iter(())
        words = [_filled(draft, tests) for draft in drafts]
        starts = _starts(np.fromiter(map(len, words), np.int64, len(words)), len(self._code))
        self._code.extend(list(chain.from_iterable(words)))
        self._note(rows, starts, drafts)

    def _store_columns(
        self, rows: NDArray[np.int32], places: NDArray[np.int64], drafts: list[CodeDraft], columns: WrittenPrograms
    ) -> None:
        leaves = [(leaf,) for draft in drafts for leaf in draft.leaves]
        owners = np.repeat(places, np.array([len(draft.leaves) for draft in drafts], np.int64))
        flat, positions = columns.tests_with(leaves, owners)
        encoded = self._encode(flat) if len(positions) else None
        own, theirs = positions[: len(leaves)], positions[len(leaves) :]
        tests = iter(()) if encoded is None else _tests(encoded, own.tolist())
        words = [_filled(draft, tests) for draft in drafts]
        lengths = np.empty(len(rows), np.int64)
        lengths[places] = np.fromiter(map(len, words), np.int64, len(words))
        lengths[columns.places] = columns.lengths(encoded, theirs)
        starts, code = _starts(lengths), np.empty(int(lengths.sum()), np.int32)
        for start, written in zip(starts[places].tolist(), words, strict=True):
            code[start : start + len(written)] = written
        columns.put(encoded, theirs, starts[columns.places], code)
        starts += len(self._code)
        self._code.extend(code)
        self._note(rows, starts, drafts)
        self.depth = max(self.depth, columns.depth)

    def _note(
        self, rows: Sequence[int] | NDArray[np.int32], starts: NDArray[np.int64], drafts: list[CodeDraft]
    ) -> None:
        """The programs of these rows begin there."""
        for draft in drafts:
            self.depth, self.slots = max(self.depth, draft.depth), max(self.slots, draft.slots)
        if len(self._starts) < self._table.row_count:
            self._starts.resize(self._table.row_count, -1)
        self._starts.writable()[np.asarray(rows)] = starts
        self.written += len(starts)

    def _encode(self, leaves: list[Any] | Flat) -> EncodedConjunctions:
        encoded = self._encoder.encode(leaves)
        for attribute, old, new in self._encoder.drain_relabelled():
            order = np.argsort(old)
            relabel_code(self._code.writable(), attribute, np.asarray(old)[order], np.asarray(new)[order])
        self.version += 1
        return encoded

    # ----------------------------------------------------------------- reading

    @contextmanager
    def reading(self, rows: NDArray[np.int32] | None) -> Iterator[Programs]:
        """The programs of these rows, or of all live rules; none of them moves meanwhile."""
        self.check()
        while True:
            self._complete(rows)
            with self._lock.reading():
                if not len(self._missing(rows)):
                    yield self._programs()
                    return

    def _missing(self, rows: NDArray[np.int32] | None) -> NDArray[np.int32]:
        """The rows that have no program yet, once each."""
        starts = self._starts.view()
        if rows is None:
            if self.written == len(self._table):
                return _NO_ROWS
            rows = self._table.live_rows()
        known = rows < len(starts)
        if known.all():
            return np.unique(rows[starts[rows] < 0])
        return np.unique(np.concatenate([rows[~known], rows[known][starts[rows[known]] < 0]]))

    def _complete(self, rows: NDArray[np.int32] | None) -> None:
        with self._lock.reading():
            if not len(self._missing(rows)):
                return
        with self._lock.writing():
            missing = self._missing(rows)
            for start in range(0, len(missing), AT_ONCE):
                part = missing[start : start + AT_ONCE]
                self.write(part, [tree_of(text) for text in self._table.texts(part).to_pylist()])

    def _programs(self) -> Programs:
        return Programs(self._starts.view(), self._code.view(), self._weights.view(), self._table.weights())

    def constants_without(self, dead: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The constant weights, DEAD for rules that count for nothing; the same array for the same rules."""
        known, constants = self._without
        if known is not dead or len(constants) != self._table.row_count:
            constants = read_only(np.where(dead, DEAD, self._table.weights()), np.float64)
            self._without = dead, constants
        return constants

    # ------------------------------------------------------------------- state

    def _state(self) -> ProgramState:
        return ProgramState(self._starts, self._code, self._weights, self._names, self._encoder)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, by name."""
        with self._lock.reading():
            return program_state.arrays_of(self._state())

    def header(self) -> dict[str, Any]:
        """What the encoder of the tests was made with."""
        return {"encoder": self._encoder.header()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
        """Take over a saved state; see `check`. Without one, programs are written when they are needed."""
        self._start()
        if header:
            state = program_state.restored(arrays, header, self._index_encoder)
            self._starts, self._code, self._weights, self._names, self._encoder = state
            self._sound = False

    def check(self) -> None:
        """Refuse a restored state that could lead a kernel out of its arrays."""
        if self._sound:
            return
        with self._agreeing:
            self.depth, self.slots, programs = program_state.surveyed(self._state(), self._table.row_count)
            self.written = int(np.count_nonzero(self._starts.view() >= 0))
            self._dead, self._sound = programs - self.written, True

    def audit(self) -> list[str]:
        """Whether no rule that is gone has a program."""
        known = self._starts.view() >= 0
        live = np.zeros(max(len(known), self._table.row_count), np.bool_)
        live[self._table.live_rows()] = True
        return ["a rule that is gone has a program"] if (known & ~live[: len(known)]).any() else []

    @property
    def attributes(self) -> int:
        """How many attributes the codes of events may have."""
        return len(self._encoder.vocabulary.table)

    @property
    def names(self) -> Mapping[str, int]:
        """The numbers of the attributes that event weights are given for."""
        return self._names

    def attribute_names(self) -> NDArray[np.int32]:
        """The number of the name of each of the index's attributes; one more than all for names that nothing scores."""
        table = self._index_encoder.vocabulary.table
        version = self._index_encoder.version, len(table), len(self._names)
        with self._agreeing:
            if self._attribute_names[0] != version:
                keys = table.keys()
                names = [read_key(key).source if is_derived(key) else key for key in keys]
                numbers = [self._names.get(name, len(self._names)) for name in names]
                self._attribute_names = version, np.array(numbers, np.int32)
            return self._attribute_names[1]

    @property
    def nbytes(self) -> int:
        return self._starts.nbytes + self._code.nbytes + self._weights.nbytes

    # ------------------------------------------------------------------ events

    def encode_event(self, event: Mapping[str, Any]) -> EncodedEvents:
        """One event's codes; the caller is reading. Whether values fit was found by matching."""
        if not self.attributes:
            return _untested(1)
        self._agree()
        try:
            return self._encoder.encode_event(event)
        except EventError:
            # A predicate that matching has no use for may still score: a value that does not fit it counts as missing.
            return self._encoder.encode_event(event, QUIET)

    def encode_chunk(self, given: Chunk) -> EncodedEvents:
        """The codes of a chunk of events; the caller is reading."""
        if not self.attributes:
            return _untested(given.size)
        self._agree()
        return EventChunk(self._encoder, given, Pace(self._encoder), QUIET).encode().events

    def _agree(self) -> None:
        """Read values as the index does: programs of removed rules may ask for other types."""
        version = self._index_encoder.version, self._encoder.version
        with self._agreeing:
            if self._agreed != version:
                schema = self._index_encoder.schema
                kinds = {source.name: source.kind for source in self._index_encoder.sources()}
                self._encoder.agree({name: kinds.get(name) or schema.kind(name) for name, _ in schema.counts()})
                event_plan(self._encoder)
                self._agreed = version


_NO_ROWS = np.empty(0, np.int32)


def _ints(rows: Sequence[int] | NDArray[np.int32]) -> list[int]:
    return np.asarray(rows).tolist()  # type: ignore[no-any-return]


def tree_of(text: str) -> Expression:
    try:
        return parse(text)
    except MatchwoodError as error:
        raise CorruptSnapshot(f"the text of a rule is damaged ({error}): {text!r:.80}") from error


def _starts(lengths: NDArray[np.int64], first: int = 0) -> NDArray[np.int64]:
    """Where programs of some lengths begin that lie end to end."""
    return np.cumsum(lengths) - lengths + first


def _tests(encoded: EncodedConjunctions, places: Iterable[int]) -> Iterator[list[int]]:
    """The words of the tests at some places: its attribute, the number of its intervals, and these; NULL is one."""
    ends = np.stack((encoded.low, encoded.high), axis=1).ravel().tolist()
    pieces, nulls, attributes = encoded.pieces.tolist(), encoded.accepts_null.tolist(), encoded.attributes.tolist()
    for place in places:
        first, stop = pieces[place], pieces[place + 1]
        null = [-1, 0] if nulls[place] else []
        yield [attributes[place], stop - first + nulls[place], *null, *ends[2 * first : 2 * stop]]


def _filled(draft: CodeDraft, tests: Iterator[list[int]]) -> list[int]:
    if not draft.holes:
        return draft.words
    words, before = list[int](), 0
    for hole in draft.holes:
        words += draft.words[before:hole]
        words += next(tests)
        before = hole
    return words + draft.words[before:]


def _untested(count: int) -> EncodedEvents:
    return EncodedEvents(np.zeros(count + 1, np.int64), _NO_ROWS, _NO_ROWS)
