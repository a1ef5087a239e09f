"""Loading many rules: prepare a chunk while readers go on, note what is refused, then store it at one stroke.

Whether the batch is taken at all is judged when its last chunk is prepared, before that is stored: types by the
majority of its rules (`votes.py`), and how many may be refused (`limits.py`). What earlier chunks stored is then
taken out again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import BulkMemory, bulk_memory, without_collecting
from matchwood.encoding import CompiledRules, RuleReader, Settled
from matchwood.errors import InvalidArgument, LimitExceeded, MatchwoodError, TypeConflict
from matchwood.matching.loading.chunk_columns import ChunkColumns, OldRules
from matchwood.matching.loading.chunks import LEAST_COMPILED, MOST_BYTES, RuleChunk, RuleSource
from matchwood.matching.loading.filling import Filling
from matchwood.matching.loading.limits import RejectLimit
from matchwood.matching.loading.preparation import PreparedRule
from matchwood.matching.loading.read_rules import read_chunk
from matchwood.matching.loading.rehearsal import Rehearsal
from matchwood.matching.loading.report import Report
from matchwood.matching.loading.sources import replayable, rule_chunks, with_last
from matchwood.matching.loading.storing import (
    SEEN_TOGETHER,
    SLICE_RULES,
    Replacement,
    batches_of,
    is_shared,
    replacing_of,
    store_at_once,
    store_in_slices,
)
from matchwood.matching.loading.telling import Tell, rule_count, telling
from matchwood.matching.loading.undo import Undo
from matchwood.matching.loading.votes import Votes, votes_of

if TYPE_CHECKING:
    from matchwood.index import Index

TURN_RULES = 20_000
"""Rules prepared one by one at a time: few enough that their trees take tens of megabytes."""

ON_ERROR = ("collect", "raise")
ON_DUPLICATE = ("error", "replace")

Chunks = Callable[[], Iterator[RuleChunk]]
"""The rules from the first on, as often as it is called."""


def is_large(rules: Any) -> bool:
    """Whether these rules may be read as columns; it is not known how many there are in a stream."""
    return not isinstance(rules, Sized) or len(rules) >= LEAST_COMPILED


def load_rules(
    index: Index, rules: Any, on_error: str, on_duplicate: str, max_rejected: Any = None, progress: Any = False
) -> Report:
    """Insert rules from any source; the caller is the only writer."""
    _check("on_error", on_error, ON_ERROR)
    _check("on_duplicate", on_duplicate, ON_DUPLICATE)
    limit, given = RejectLimit.of(max_rejected), replayable(rules)

    def chunks() -> Iterator[RuleChunk]:
        return rule_chunks(given)

    if on_error == "raise":
        _rehearse(index, chunks, on_duplicate)
    total = rule_count(rules)
    with telling(progress, total) as tell, bulk_memory(total) as memory:
        try:
            return _Load(index, chunks, on_duplicate, limit, tell, memory).run()
        except _Outvoted as found:
            return _Load(index, chunks, on_duplicate, limit, tell, memory, found.settled).run()


def _check(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArgument(f"{name} must be {' or '.join(map(repr, known))} (got {value!r:.80})")


def _rehearse(index: Index, chunks: Chunks, on_duplicate: str) -> None:
    """Raise the first error; of rules that contradict each other on a type, that of the few."""
    try:
        _rehearse_with(index, chunks, on_duplicate, {})
    except TypeConflict as error:
        settled = votes_of(index._encoder, index._encoder.schema, chunks(), on_duplicate == "replace").settled()
        if error.what in settled:
            _rehearse_with(index, chunks, on_duplicate, settled)
        raise


def _rehearse_with(index: Index, chunks: Chunks, on_duplicate: str, settled: Mapping[str, Settled]) -> None:
    rehearsal = Rehearsal(index, on_duplicate, settled)
    for chunk in list(chunks()):
        rehearsal.insert(chunk)


class _Outvoted(Exception):
    """The types that came first are not those of most rules."""

    def __init__(self, settled: dict[str, Settled]) -> None:
        self.settled = settled


class _Load(Rehearsal):
    """One bulk insertion under way: a chunk is prepared without the lock, and stored with it."""

    def __init__(
        self,
        index: Index,
        chunks: Chunks,
        on_duplicate: str,
        limit: RejectLimit,
        tell: Tell,
        memory: BulkMemory,
        settled: Mapping[str, Settled] | None = None,
    ) -> None:
        super().__init__(index, on_duplicate, settled)
        self._all_chunks, self._tell, self._memory, self._read = chunks, tell, memory, 0
        self._limit, self._undo, self._filling = limit, Undo(index), Filling(index)
        self._known = self._schema.copy()
        """The types before this load."""
        self._reader = RuleReader(index._encoder)
        self._report = Report()
        self._chunks = 0
        self._fresh: dict[Any, PreparedRule] = {}
        self._replacing: dict[Any, Replacement] = {}
        self._comes_twice = False
        """Whether an id of the chunk does: then types agree when the whole of it is stored, and not before."""

    def run(self) -> Report:
        """Take all rules, or none if too many are refused."""
        try:
            for chunk, is_last in with_last(self._all_chunks()):
                self._take_chunk(chunk, is_last)
        except (_Outvoted, LimitExceeded):
            self._filling.end()
            self._undo.undo()
            raise
        except BaseException:
            self._filling.end()
            raise
        return self.finish()

    @without_collecting()
    def _take_chunk(self, chunk: RuleChunk, is_last: bool) -> None:
        """Prepare and store a chunk: as columns if it can be, otherwise in parts that are small enough to be taken in
        turn, of which each may again be columns."""
        if self._filling.fills:
            self._memory.expect(self._read + len(chunk))
        whole = chunk.nbytes <= MOST_BYTES and not self._in_slices
        taken = self._tried(chunk) if whole else None
        if taken is not None:
            self._end_chunk(taken, len(chunk), is_last)
            return
        for start in range(0, len(chunk), TURN_RULES):
            part = chunk.part(start, start + TURN_RULES)
            ends = is_last and start + TURN_RULES >= len(chunk)
            self._end_chunk(self._ready(part, not whole or len(part) < len(chunk)), len(part), ends)

    def _ready(self, chunk: RuleChunk, may_be_columns: bool) -> ChunkColumns | None:
        """A chunk of new rules as columns; of any other, the rules wait to be stored."""
        taken = self._tried(chunk) if may_be_columns else None
        if taken is None:
            self.insert(chunk)
        return taken

    def _tried(self, chunk: RuleChunk) -> ChunkColumns | None:
        """A chunk as columns; if it cannot be, all is as before."""
        taken = self._columns(chunk)
        if taken is None:
            self._schema.follow(self._index._encoder.schema)
            self._waiting = {}
        return taken

    def _end_chunk(self, taken: ChunkColumns | None, read: int, is_last: bool) -> None:
        if is_last:
            self._judge()
        self._store(taken, is_last)
        self._read += read
        self._tell(self._read, self._report.rejections)

    def _columns(self, chunk: RuleChunk) -> ChunkColumns | None:
        """A chunk as columns; None if it has to be taken in turn.

        What is not taken so is prepared as if it came first. That makes no difference as long as no rule is against
        another of the chunk, which shows when they are compared with those in columns in the end. Those in columns are
        against none of the rules that the chunk replaces either, so it does not matter when these go. Rules that are
        against one in columns before them are refused for that, whatever else there is.
        """
        rows = self._rows_to_replace(chunk)
        allowed = None if rows is None else self._allowed(chunk)
        if rows is None or allowed is None:
            return None
        compiled = allowed.agreeing()
        if 2 * len(compiled) < len(allowed):
            self._vote_at_once(compiled)
        outcome = self._prepared_beside(chunk, allowed, compiled, rows)
        if outcome is None:
            return None
        prepared, rejected = outcome
        taken = ChunkColumns(chunk, prepared, compiled, rows, None)
        replaced = taken.replaced_rows
        self._report.inserted += taken.total - len(replaced)
        self._report.replaced += len(replaced)
        for rule, error in rejected:
            self._report.reject(rule.id, rule.expression, error)
        if not len(replaced):
            return taken
        index = self._index
        return taken._replace(old=OldRules(self._reader, index._encoder.schema, index._table, replaced))

    def _allowed(self, chunk: RuleChunk) -> CompiledRules | None:
        """The rules that may be stored as columns if they agree with each other; None if there are too few."""
        compiled = read_chunk(chunk, self._reader, self._index._matcher).allowed_by(self._schema)
        return compiled if len(compiled) >= LEAST_COMPILED else None

    def _vote_at_once(self, first: CompiledRules) -> None:
        """Raise if the types of the rules that come first are not those of most: all others would be refused in turn,
        and then taken after all."""
        settled = self._votes().settled()
        if any(use[0] in settled and use[1] not in ("any", settled[use[0]].kind) for use, _, _ in first.uses()):
            raise _Outvoted(settled)

    def _votes(self) -> Votes:
        return votes_of(self._index._encoder, self._known, self._all_chunks(), self._replaces, self._reader)

    def _rows_to_replace(self, chunk: RuleChunk) -> NDArray[np.int32] | None:
        """The row of the rule that each would replace, -1 if it is new; None if the chunk has to be taken in turn.

        So it is if there are too few rules, if an id may not be inserted, or if one comes twice.
        """
        if self._index._matcher.takes_columns is None or len(chunk) < LEAST_COMPILED:
            return None
        try:
            rows, firsts = self._index._table.locate(chunk.ids)
        except InvalidArgument:
            return None
        may = (firsts == np.arange(len(rows))).all() and (self._replaces or (rows < 0).all())
        return rows if may else None

    def _prepared_beside(
        self, chunk: RuleChunk, allowed: CompiledRules, compiled: CompiledRules, rows: NDArray[np.int32]
    ) -> tuple[dict[int, PreparedRule], list[tuple[RuleSource, MatchwoodError]]] | None:
        """The other rules by position, and those refused; None if types depend on who comes first."""
        prepared: dict[int, PreparedRule] = {}
        rejected: dict[int, tuple[RuleSource, MatchwoodError]] = {}
        others, replaces = np.flatnonzero(~compiled.wanted), bool((rows >= 0).any())
        contrary = allowed.wanted[others]
        if len(others) > TURN_RULES or len(compiled) < LEAST_COMPILED:
            return None
        for position, rule in _rules_at(chunk, others[~contrary]):
            try:
                prepared[position] = self._prepared(rule, int(rows[position]))[1]
            except MatchwoodError as error:
                if isinstance(error, TypeConflict) and (replaces or self._is_open(error.what)):
                    return None
                rejected[position] = rule, error
        if not compiled.agree_with(self._schema) or (replaces and contrary.any()):
            return None
        if contrary.any():
            self._schema.add_all((use, count, chunk.id_at(first)) for use, count, first in compiled.uses())
        for position, rule in _rules_at(chunk, others[contrary]):
            try:
                self._prepared(rule, -1)
            except TypeConflict as error:
                rejected[position] = rule, error
            else:
                return None
        return prepared, [rejected[position] for position in sorted(rejected)]

    def _is_open(self, attribute: str) -> bool:
        """Whether the attribute had no type before this chunk, so that the first of its rules gives it one."""
        return attribute not in self._schema.settled and self._index._encoder.schema.kind(attribute) == "any"

    def _take(self, rule: RuleSource, row: int) -> None:
        try:
            rule_id, prepared, old = self._prepared(rule, row)
        except MatchwoodError as error:
            self._report.reject(rule.id, rule.expression, error)
            return
        # Of an id that comes twice in a chunk only the last rule is stored, in the place of the first.
        self._comes_twice |= rule_id in self._fresh or rule_id in self._replacing
        if old is None or rule_id in self._fresh:
            self._fresh[rule_id] = prepared
        else:
            before = self._replacing.get(rule_id)
            self._replacing[rule_id] = Replacement(prepared, old if before is None else before.old)
        self._report.replaced += old is not None
        self._report.inserted += old is None

    def _judge(self) -> None:
        """Raise if most rules of the batch say otherwise on a type, or if too many were refused."""
        if not all(self._known.is_decided(error.what) for error in self._report.conflicts()):
            votes = self._votes()
            settled = votes.settled()
            if self._report.refuses_majority(votes, settled):
                raise _Outvoted(settled)
            self._report.retell(votes, settled)
        self._limit.check(self._report)

    @property
    def _in_slices(self) -> bool:
        """Whether others would wait: they use the index, and it has rules."""
        return is_shared(self._index) and not self._filling.fills

    def _store(self, taken: ChunkColumns | None, is_last: bool) -> None:
        index, table = self._index, self._index._table
        replaced = table.rows_of(list(self._replacing)) if taken is None else taken.replaced_rows
        if len(replaced):
            self._filling.end()
        elif not is_last:
            self._filling.begin()
        if len(replaced) and not is_last:
            self._undo.note_replaced(replaced)
        total = len(self._replacing) + len(self._fresh) if taken is None else taken.total
        sliced = self._in_slices and not self._comes_twice and total > SEEN_TOGETHER
        size = SLICE_RULES if sliced else max(1, total)
        if taken is None:
            replacing, batches = replacing_of(index, self._replacing, size), batches_of(self._fresh, size)
        else:
            replacing, batches = taken.replacing(size), taken.batches(size)
        for batch in (store_in_slices if sliced else store_at_once)(index, replacing, batches):
            if not is_last:
                self._undo.note_inserted(batch.ids)
        self._schema.follow(index._encoder.schema)
        self._chunks += 1
        self._fresh, self._replacing, self._waiting, self._comes_twice = {}, {}, {}, False

    def finish(self) -> Report:
        """Engines lay out tightest what comes at once: worth a rebuild if most of the rules came in several chunks."""
        index = self._index
        # What was remembered of predicates makes room for what the engine needs.
        self._reader.forget()
        if not self._filling.end() and self._chunks > 1 and 2 * self._report.inserted > len(index._table):
            index._lay_out_anew()
        self._report.id_type = index._table.id_type
        return self._report


def _rules_at(chunk: RuleChunk, positions: NDArray[np.int64]) -> Iterator[tuple[int, RuleSource]]:
    """The rules at some positions, with these."""
    listed = positions.tolist()
    return zip(listed, chunk.sources(listed) if listed else (), strict=True)
