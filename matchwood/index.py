"""The façade: rules in, events in, the rules that are true out."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np
import pyarrow as pa

from matchwood.choosing import (
    AutoMatcher,
    begin_trial,
    matcher_for,
    once,
    rehearse_changes,
    rehearse_ranking,
    rehearse_reading,
)
from matchwood.core import ReadersWriterLock, tell_of_compiling
from matchwood.encoding import Encoder, Schema
from matchwood.engines import BETree, NodeView
from matchwood.errors import CorruptSnapshot, InvalidArgument, MatchwoodError
from matchwood.insight import ENGINE as TRIANGLES
from matchwood.insight import (
    FORMATS,
    MOST_NODES,
    Explanation,
    atree_drawing,
    audit_of,
    betree_drawing,
    explain_text,
    find_witness,
    found_rows,
    lint_rules,
    query_of,
    stats_of,
    tree_nodes,
    triangle_picture,
)
from matchwood.matching import (
    ONLY_PART,
    Batch,
    Items,
    Matcher,
    Preparation,
    Report,
    RuleValues,
    all_batches,
    arrow_types,
    checked_flag,
    checked_limit,
    checked_options,
    checked_rank,
    checked_text,
    checked_threads,
    half_done,
    hits_schema,
    load_rules,
    ranked_batches,
    ranks_schema,
    record_batches,
    restore_part,
    save_index,
    stored_uses,
    taken_spaces,
)
from matchwood.ranking import GivenWeights, Wanted, check_one
from matchwood.rules import RuleTable
from matchwood.storage import Snapshot


class Index(MutableMapping[Any, str]):
    """A set of rules that answers, for any event, which of them are true of it.

    A mapping from ids (all int or all str) to rules, in rule order. One thread may change it while
    others match: every answer is that of some moment between two changes.

    >>> index = Index()
    >>> index["adults"] = "age >= 18 and country in ('US', 'CA')"
    >>> index["minors"] = "age < 18"
    >>> index.match({"age": 20, "country": "US"})
    ['adults']

    `engine`         how to match: `auto`, `scan`, `counting`, `kindex`, `pstbloom`,
                     `psthash`, `hem`, `atree` or `oracle`
    `schema`         types of attributes: a dict, an Arrow or Spark schema, or DDL; others are inferred
    `options`        settings of the engine, and `spaces`; `as_published` for the system that its paper describes
    `dnf_limit`      a rule with more conjunctions than this is matched as a whole, by the fall-back
    `timezone`       where dates begin and naive timestamps are read
    `strict_schema`  refuse attributes that the schema does not declare
    """

    _rehearsed: frozenset[Callable[[Any], None]] = frozenset()
    """What the kernels of this index are known to be ready for."""
    _only_user: int | None = None
    """The first thread that used the index: while it is the only one, nobody waits for its locks."""
    _rehearses = False
    """Whether this is no more than a rehearsal: nobody else knows it, and it begins no trials."""

    def __init__(
        self,
        engine: str = "auto",
        schema: Any = None,
        options: Mapping[str, Any] | None = None,
        dnf_limit: int = 256,
        timezone: str = "UTC",
        strict_schema: bool = False,
    ) -> None:
        self._dnf_limit, self._options = checked_limit(dnf_limit), checked_options(options)
        spaces = taken_spaces(checked_text("engine", engine), self._options)
        types = Schema(schema, strict=checked_flag("strict_schema", strict_schema))
        self._encoder = Encoder(types, timezone=checked_text("timezone", timezone), spaces=spaces)
        self._table = RuleTable()
        self._matcher: Matcher = matcher_for(engine, self._encoder, self._table, self._options, self._dnf_limit)
        self._read_only, self._opened, self._checked = False, False, True
        self._set_up_locks()

    def _set_up_locks(self) -> None:
        tell_of_compiling()
        self._lock = ReadersWriterLock()
        # Preparing a rule reads the schema that writing changes, so writers take turns as a whole.
        self._writer = threading.RLock()
        self._encoder.schema.find_witness = self._find_witness

    # ------------------------------------------------------------------ rules

    def __setitem__(self, rule_id: Any, source: Any) -> None:
        with self._changing():
            rule_id = self._table.checked_id(rule_id)
            row, schema = self._table.find(rule_id), self._encoder.schema
            replaced = stored_uses(schema, self._table.text(row)) if row >= 0 else ()
            preparation = Preparation(self._encoder, self._matcher.normal, given=self._matcher.given)
            prepared = preparation.prepare(rule_id, source, replaced=replaced)
            with self._storing():
                if row >= 0:
                    self._matcher.replace(np.array([row], np.int32), [prepared])
                else:
                    self._matcher.insert(Batch.of([rule_id], [prepared]))

    def insert_many(self, rules: Any, on_error: str = "collect", on_duplicate: str = "error") -> Report:
        """Insert many rules: (id, expression[, options]) tuples, a mapping, or a table.

        `on_error`      `collect` lists bad rules in the report, `raise` inserts nothing if there is one
        `on_duplicate`  `error` treats an id that exists as a bad rule, `replace` replaces the rule
        """
        with self._changing():
            return load_rules(self, rules, on_error, on_duplicate)

    def __delitem__(self, rule_id: Any) -> None:
        with self._changing():
            row = self._table.row_of(rule_id)
            with self._storing():
                self._matcher.remove(np.array([row], np.int32))

    def clear(self) -> None:
        """Delete all rules; declared types stay."""
        with self._changing(), self._storing():
            self._matcher.clear()

    def __getitem__(self, rule_id: Any) -> str:
        with self._lock.reading():
            return self._table.text(self._table.row_of(rule_id))

    def __contains__(self, rule_id: object) -> bool:
        with self._lock.reading():
            return self._table.find(rule_id) >= 0

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Any]:
        """The ids in rule order, as they are when the iteration begins."""
        with self._lock.reading():
            return iter(self._table.id_list(self._table.live_rows()))

    def items(self) -> Items:
        """Ids and texts in rule order."""
        return Items(self)

    def values(self) -> RuleValues:
        """Texts in rule order."""
        return RuleValues(self)

    def _entries_of(self, ids: list[Any]) -> list[tuple[Any, str]]:
        """Some ids with their texts, without those that are no longer there."""
        with self._lock.reading():
            rows = self._table.rows_of(ids).tolist()
            return [(rule_id, self._table.text(row)) for rule_id, row in zip(ids, rows, strict=True) if row >= 0]

    def __repr__(self) -> str:
        return f"<matchwood.Index: {len(self):,} rules, engine {self.engine!r}>"

    @property
    def engine(self) -> str:
        """The name of the engine that does the matching."""
        return self._matcher.name

    @property
    def id_kind(self) -> type[int] | type[str] | None:
        """Whether ids are int or str; None while there has been no rule."""
        return self._table.id_kind

    def types(self) -> dict[str, str]:
        """The types of all attributes that are declared or that rules compare with something."""
        with self._lock.reading():
            return self._encoder.schema.types()

    def arrow_types(self) -> dict[str, pa.DataType]:
        """Column types for reading events from text, by column; columns whose type may vary are left out."""
        return arrow_types(self.types())

    # --------------------------------------------------------------- matching

    def match(self, event: Mapping[str, Any]) -> list[Any]:
        """The ids of the rules that are true of one event, in rule order."""
        if not isinstance(event, Mapping):
            raise InvalidArgument(
                f"match takes one event as a dict (got {type(event).__name__}); match_many takes lists and tables"
            )
        self._get_ready(rehearse_reading)
        with self._lock.reading():
            found = self._table.id_list(self._matcher.rows_of(event))
        self._reconsider_if_due()
        return found

    def match_many(self, events: Any, missing: str = "null", threads: int | None = 1) -> pa.Table:
        """A table (event: int64 row position, rule) for many events, by event and then rule order.

        `missing`  `null` takes a column that rules name and events lack for NULL, `error` refuses such events
        `threads`  how many threads match, each a part of the events; None for one a core. The answer is the same
        """
        self._get_ready(rehearse_reading)
        threads = checked_threads(threads)
        with self._lock.reading():
            schema, asked = hits_schema(self._table), self._matcher.ask(events, missing, threads)
            found = pa.Table.from_batches(all_batches(self._table, schema, asked, threads), schema=schema)
        self._reconsider_if_due()
        return found

    def match_batches(self, events: Any, missing: str = "null", threads: int | None = 1) -> pa.RecordBatchReader:
        """What `match_many` returns, batch by batch in bounded memory.

        Each batch is the answer of one moment; rules changed between two batches show in the later one. With several
        threads, parts of the events are matched at the same moment, before the first of their batches is returned.
        """
        self._get_ready(rehearse_reading)
        threads = checked_threads(threads)
        with self._lock.reading():
            schema, asked = hits_schema(self._table), self._matcher.ask(events, missing, threads)
        batches = record_batches(self._table, schema, asked, self._matching, threads)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def top(
        self, event: Mapping[str, Any], n: int = 5, weights: Mapping[str, float] | None = None
    ) -> list[tuple[Any, float]]:
        """The `n` best of the rules that are true of one event, as (id, score), best first, ties in rule order.

        `weights`  what the event weighs, by attribute; 1 where nothing is given

        >>> index = Index()
        >>> report = index.insert_many([("a", "age > 18"), ("b", "age > 18 and vip", {"weights": {"vip": 3}})])
        >>> index.top({"age": 20, "vip": True}, weights={"age": 0.5})
        [('b', 3.5), ('a', 0.5)]
        """
        self._get_ready(rehearse_ranking)
        check_one(event, weights)
        with self._lock.reading():
            found = self._matcher.top_of(event, self._wanted(n, weights))
            best = list(zip(self._table.id_list(found.rows), found.scores.tolist(), strict=True))
        self._reconsider_if_due()
        return best

    def top_many(
        self, events: Any, n: int = 5, weights: Any = None, missing: str = "null", threads: int | None = 1
    ) -> pa.Table:
        """A table (event, rank from 1, rule, score) with the `n` best rules of each of many events.

        `weights`  what events weigh: a mapping by attribute for all of them; or one for each event, as a list of
                   mappings or an Arrow array of structs or maps
        `missing`  as in `match_many`, and so `threads`
        """
        self._get_ready(rehearse_ranking)
        threads = checked_threads(threads)
        with self._lock.reading():
            wanted, schema = self._wanted(n, weights), ranks_schema(self._table)
            asked = self._matcher.ask_top(events, missing, wanted, threads)
            batches = ranked_batches(self._table, schema, asked, wanted, threads)
            found = pa.Table.from_batches(batches, schema=schema)
        self._reconsider_if_due()
        return found

    def _wanted(self, n: int, weights: Any) -> Wanted:
        given = GivenWeights(weights, self._encoder.schema.names())
        self._matcher.work.pass_over(sum(given.unknown().values()))
        return Wanted(checked_rank(n), given)

    def explain(self, event: Mapping[str, Any], rule_id: Any) -> Explanation:
        """Why a rule is true, false or unknown for an event: `print` it, or read `.decided_by`."""
        with self._lock.reading():
            text, types = self._table.text(self._table.row_of(rule_id)), self._encoder.schema.types()
        return explain_text(text, event, types, self._encoder.timezone)

    # ---------------------------------------------------------------- insight

    def find(self, expression: Any, semantics: str = "stabbing_subscription") -> list[Any]:
        """The ids of the rules that stand in a relation to an expression (text, JSON or Expression), in rule order.

        `semantics`  `stabbing_subscription`, `stabbing_event`, `symmetric`, `containment`, `enclosure`, `exact`: as in
                     the BE-Tree's paper; `implies`, `implied_by`: what the rules imply, and what implies them

        >>> index = Index()
        >>> index["young"] = "age between 20 and 25"
        >>> index.find("age between 18 and 30", semantics="containment")
        ['young']
        """
        if not self._checked:
            with self._unchanged():
                self._check()
        with self._lock.reading():
            query = query_of(expression, semantics, self._encoder.schema, self._encoder.timezone)
            return self._table.id_list(found_rows(self._matcher, query))

    def lint(self) -> pa.Table:
        """Rules worth a second look: a table (id, problem, other, detail).

        Problems: `never` true, `always` true, `duplicate` of an earlier rule, `implied` by another.
        """
        with self._unchanged():
            self._check()
            return lint_rules(self._table, self._encoder, self._matcher, self._dnf_limit)

    def stats(self) -> dict[str, Any]:
        """Counts, bytes and the work done so far, as plain data."""
        with self._lock.reading():
            return stats_of(self._table, self._encoder, self._matcher)

    def nodes(self) -> list[NodeView]:
        """The nodes of the engine `atree`, one by one; InvalidArgument for other engines and for large trees."""
        with self._unchanged():
            return tree_nodes(self._table, self._encoder, self._matcher)

    def draw(
        self,
        format: str | None = None,
        limit: int = MOST_NODES,
        attribute: str | None = None,
        event: Mapping[str, Any] | None = None,
    ) -> str:
        """What the engine looks like: the tree of `atree` or `betree` for Mermaid or `dot`, a triangle of `hem` as SVG.

        A tree of more than `limit` nodes is an error: nobody could read it. A triangle is that of one `attribute`, by
        default the one that most rules constrain, with what an `event` excludes; more points than `limit` are shades.
        """
        engine = getattr(self._matcher, "engine", None)
        if self.engine != TRIANGLES and not isinstance(engine, BETree):
            return atree_drawing(self.nodes(), format or FORMATS[0], limit)
        with self._unchanged():
            if isinstance(engine, BETree):
                return betree_drawing(engine, self._table, self._encoder, format or FORMATS[0], limit)
            return triangle_picture(self._table, self._encoder, self._matcher, format, limit, attribute, event)

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when all structures are sound."""
        with self._unchanged():
            return audit_of(self._table, self._encoder, self._matcher)

    def compact(self) -> None:
        """Give back the room of deleted and replaced rules; answers do not change."""
        with self._changing(), self._storing():
            self._matcher.compact()

    # ------------------------------------------------------------- snapshots

    def save(self, path: Any) -> int:
        """Write a snapshot as a new version at `path`; returns its number. Readers see all of it or none."""
        with self._unchanged():
            return save_index(self, path)

    # ------------------------------------------------------------------ turns

    def _get_ready(self, rehearse: Callable[[Any], None]) -> None:
        """Have what a call needs compiled or loaded before it takes a lock, if several threads use the index."""
        if self._only_user is None:
            self._only_user = threading.get_ident()
        if self._only_user == threading.get_ident() and not self._rehearsed:
            return
        if rehearse in self._rehearsed or self._read_only or self._rehearses or self._lock.is_reading():
            return
        engine = self._matcher.setting
        if engine != "oracle":
            key = (rehearse.__name__, engine, repr(sorted(self._options.items())), self._encoder.vocabulary.spaces.name)
            once(key, lambda: rehearse(self._rehearsal(engine)))
        self._rehearsed |= {rehearse}

    def _rehearsal(self, engine: str) -> Index:
        """An empty index of the same kind that nobody else knows."""
        options = {**self._options, "spaces": self._encoder.vocabulary.spaces.name}
        made = Index(engine, options=options, dnf_limit=self._dnf_limit)
        made._rehearses = True
        return made

    @contextlib.contextmanager
    def _matching(self) -> Iterator[None]:
        """The turn of a reader that matches."""
        with self._lock.reading():
            yield
        self._reconsider_if_due()

    def _reconsider_if_due(self) -> None:
        """Lay the rules out anew if matching looked at too much; not while somebody changes them: a later call will."""
        if not self._matcher.reconsider_due or self._read_only or self._rehearses or self._lock.is_reading():
            return
        if isinstance(self._matcher, AutoMatcher):
            begin_trial(self, self._matcher)
        elif self._writer.acquire(blocking=False):
            try:
                self._check()
                with self._storing():
                    if self._matcher.reconsider_due:
                        self._matcher.reconsider()
            finally:
                self._writer.release()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """The turn of one writer, in which it takes the lock when it is ready to change something."""
        if self._read_only:
            raise MatchwoodError("this index was opened with read_only=True; open it without to change it in memory")
        self._get_ready(rehearse_changes)
        if self._lock.is_reading():
            # Waiting for another writer, which waits for this reader, would take for ever.
            raise MatchwoodError("an index cannot be changed by the events that it is matching: finish matching first")
        with self._writer:
            self._lock.refuse_if_poisoned()
            self._check()
            yield
            if self._matcher.merge_due:
                self._lay_out_anew()

    def _lay_out_anew(self) -> None:
        """Lay all rules out as if they had come at once. The caller is the only writer.

        An engine that can merges while others match, and only what it made is put in place within the lock.
        """
        built = self._matcher.merged()
        with self._storing():
            if built is None:
                self._matcher.rebuild()
            else:
                self._matcher.adopt(built)

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        """The part of a writer's turn in which it changes what others read, whole or not at all."""
        with self._lock.writing():
            try:
                yield
            except BaseException as error:
                self._lock.poison = functools.partial(half_done, error, self._opened)
                if isinstance(refusal := self._lock.poison(), CorruptSnapshot):
                    raise refusal from error
                raise

    @contextlib.contextmanager
    def _unchanged(self) -> Iterator[None]:
        """A time without writers for long work; those who match need not wait for a writer that does."""
        with contextlib.nullcontext() if self._lock.is_reading() else self._writer:
            self._lock.refuse_if_poisoned()
            yield

    def _check(self) -> None:
        """Look once at all that an opened snapshot holds. Matching checks what it follows; changing trusts it."""
        if not self._checked:
            self._matcher.check()
            self._checked = True

    def _find_witness(self, attribute: str, kind: str, passed_over: Container[Any] = ()) -> Any:
        return find_witness(self._table, self._encoder.schema, attribute, kind, passed_over)


def index_from(path: Any, snapshot: Snapshot, part: str = ONLY_PART, read_only: bool = False) -> Index:
    """The index in one part of a snapshot, which was loaded from `path`."""
    index = Index.__new__(Index)
    restore_part(index, path, snapshot, part, read_only, matcher_for)
    index._set_up_locks()
    return index
