"""The façade: rules in, events in, the rules that are true out."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from matchwood import insight
from matchwood.choosing import (
    AutoMatcher,
    begin_choice,
    get_ready,
    matcher_for,
    reconsider_if_due,
)
from matchwood.core import BeginAgain, ReadersWriterLock, at_rest, begun_again, count_of, little_work, tell_of_compiling
from matchwood.encoding import Encoder, EventSettings, Schema, Strictness, can_be_read_again
from matchwood.errors import CorruptSnapshot, MatchwoodError, counted
from matchwood.matching import (
    ALL_RULES,
    INDEX_KIND,
    MOST_THREADS,
    ONLY_PART,
    OPENERS,
    Batch,
    BestRules,
    Items,
    Matcher,
    Origin,
    Preparation,
    Report,
    Request,
    ResultFormat,
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
    is_large,
    is_little,
    load_rules,
    not_one_event,
    record_batches,
    reload_index,
    restore_part,
    save_index,
    stored_uses,
    strictness_of_one,
    taken_spaces,
    turns_of,
    with_errors,
)
from matchwood.progress import LoadProgress
from matchwood.ranking import GivenWeights, check_one
from matchwood.rules import RuleTable
from matchwood.storage import Snapshot, ready_to_save

if TYPE_CHECKING:
    from matchwood.engines import NodeView
    from matchwood.insight import Explanation

Done = TypeVar("Done")


class Index(MutableMapping[Any, str]):
    """A set of rules that tells you, for any event, which of them are true.

    It is a mapping from ids (all int or all str) to rules, in rule order. One thread can change it while others match:
    every answer is the one before a change or the one after it, never a mixture.

    >>> index = Index()
    >>> index["adults"] = "age >= 18 and country in ('US', 'CA')"
    >>> index["minors"] = "age < 18"
    >>> index.match({"age": 20, "country": "US"})
    ['adults']

    `engine`         how to match: `auto`, `scan`, `counting`, `kindex`, `pstbloom`,
                     `psthash`, `hem`, `betree`, `atree` or `oracle`
    `schema`         types of attributes: a dict, an Arrow or Spark schema, or DDL; others are inferred
    `options`        settings of the engine, and `spaces`; `as_published` for the system that its paper describes
    `dnf_limit`      a rule with more conjunctions than this is matched as a whole, by the fall-back
    `timezone`       the time zone of dates, and of timestamps without a zone
    `strict_schema`  refuse attributes that the schema does not declare
    `nan`            what NaN in events means: `value`, as in SQL (equal to itself, greater than all numbers), or
                     `null`; the same for dicts, Arrow, pandas and Spark. By default, NaN is NULL in pandas, where it
                     marks missing values, and a value everywhere else
    `coerce`         values to convert, by attribute: `{"age": "int", "ts": "timestamp[ms]"}` reads numbers from text
                     and times from counts since 1970; it also declares the attribute's type
    """

    _rehearsed: frozenset[str] = frozenset()
    """What the kernels of this index are known to be ready for."""
    _only_user: int | None = None
    """The first thread that used the index: while it is the only one, nobody waits for its locks."""
    _shared = False
    """Whether another thread has used the index as well."""
    _rehearses = False
    """Whether this is no more than a rehearsal: nobody else knows it, and it begins no trials."""
    _little_turn: Any = None
    """The turn of a reader of an index that is so small that it need not wait for compiled code, if it is."""

    def __init__(
        self,
        engine: str = "auto",
        schema: Any = None,
        options: Mapping[str, Any] | None = None,
        dnf_limit: int = 256,
        timezone: str = "UTC",
        strict_schema: bool = False,
        nan: str | None = None,
        coerce: Mapping[str, str] | None = None,
    ) -> None:
        self._dnf_limit, self._options = checked_limit(dnf_limit), checked_options(options)
        spaces = taken_spaces(checked_text("engine", engine), self._options)
        types = Schema(schema, strict=checked_flag("strict_schema", strict_schema))
        settings = EventSettings.of(nan, coerce)
        types.declared = settings.declare(types.declared)
        self._encoder = Encoder(types, checked_text("timezone", timezone), spaces, settings)
        self._table = RuleTable()
        self._matcher: Matcher = matcher_for(engine, self._encoder, self._table, self._options, self._dnf_limit)
        self._read_only, self._opened, self._checked, self._unsaved = False, False, True, False
        self._origin: Origin | None = None
        self._set_up_locks()

    def _set_up_locks(self) -> None:
        tell_of_compiling()
        self._lock = ReadersWriterLock()
        # Preparing a rule reads the schema that writing changes, so writers take turns as a whole.
        self._writer = threading.RLock()
        self._watch_types()
        self._size_up()

    def _size_up(self) -> None:
        self._little_turn, self._matching_turn = turns_of(self)

    def _reading(self) -> Any:
        return self._little_turn or self._lock.reading()

    def _watch_types(self) -> None:
        """Errors of types name a rule that says otherwise."""
        self._encoder.schema.find_witness = self._find_witness

    # ------------------------------------------------------------------ rules

    def __setitem__(self, rule_id: Any, source: Any) -> None:
        with self._changing():
            rule_id = self._table.checked_id(rule_id)
            row, schema = self._table.find(rule_id), self._encoder.schema
            replaced = stored_uses(schema, self._table.text(row)) if row >= 0 else []
            preparation = Preparation(self._encoder, self._matcher.normal, weight_caps=self._matcher.weight_caps)
            prepared = preparation.prepare(rule_id, source, self._table.options(row), replaced)
            with self._storing():
                batch = Batch.of([rule_id], [prepared])
                if row >= 0:
                    self._matcher.replace(np.array([row], np.int32), batch, [(use, 1) for use in replaced])
                else:
                    self._matcher.insert(batch)

    def insert_many(
        self,
        rules: Any,
        on_error: str = "collect",
        on_duplicate: str = "error",
        max_rejected: float | None = None,
        progress: bool | Callable[[LoadProgress], None] = False,
    ) -> Report:
        """Insert many rules: (id, expression[, options]) tuples, a mapping, or a table.

        `on_error`      `collect` lists bad rules in the report, `raise` inserts nothing if there is one
        `on_duplicate`  `error` treats an id that exists as a bad rule, `replace` replaces the rule
        `max_rejected`  how many rules may be bad before nothing is inserted (LimitExceeded): a number (an int) or a
                        share (a float); by default a tenth, and ten for a small batch
        `progress`      True shows a line on standard error if it takes long: rules read, rejected, seconds left; a
                        function gets them as a `LoadProgress` after each part that is stored

        If neither the schema nor earlier rules give an attribute a type, the majority of these rules decides.
        """
        if is_large(rules):
            get_ready(self, "loading", beside=False)
        with self._changing(count_of(rules)):
            return load_rules(self, rules, on_error, on_duplicate, max_rejected, progress)

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
        with self._reading():
            return self._table.text(self._table.row_of(rule_id))

    def __contains__(self, rule_id: object) -> bool:
        with self._reading():
            return self._table.find(rule_id) >= 0

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Any]:
        """The ids in rule order, as they are when the iteration begins."""
        with self._reading():
            return iter(self._table.id_list(self._table.live_rows()))

    def items(self) -> Items:
        """Ids and texts in rule order."""
        return Items(self)

    def values(self) -> RuleValues:
        """Texts in rule order."""
        return RuleValues(self)

    def _entries_of(self, ids: list[Any]) -> list[tuple[Any, str]]:
        """Some ids with their texts, without those that are no longer there."""
        with self._reading():
            rows = self._table.rows_of(ids).tolist()
            return [(rule_id, self._table.text(row)) for rule_id, row in zip(ids, rows, strict=True) if row >= 0]

    def __reduce__(self) -> Any:
        raise TypeError(
            "an index cannot be pickled: save(path) it, and call mw.open(path) where it is needed; on Spark, "
            "matchwood.spark.match(events, path) does so on the executors"
        )

    def __repr__(self) -> str:
        return f"<matchwood.Index: {counted(len(self), 'rule')}, engine {self.engine!r}>"

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
        with self._reading():
            return self._encoder.schema.types()

    def arrow_types(self) -> dict[str, pa.DataType]:
        """Column types for reading events from text, by column; columns whose type may vary are left out."""
        return arrow_types(self.types())

    # --------------------------------------------------------------- matching

    def match(self, event: Mapping[str, Any], on_error: str = "raise", missing: str = "null") -> list[Any]:
        """The ids of the rules that are true for one event, in rule order.

        `on_error`  what to do with a value that does not fit its attribute: `raise` (or `fail`) an EventError, or
                    treat it as `null`
        `missing`   what an attribute is that rules name and the event does not have: `null`, or an `error`
        """
        strictness = strictness_of_one(missing, on_error)
        if type(event) is not dict and not isinstance(event, Mapping):
            raise not_one_event(event)
        return self._answer(event, ALL_RULES, strictness)

    def _answer(self, event: Mapping[str, Any], request: Request, strictness: Strictness) -> list[Any]:
        get_ready(self, "ranking" if request.ranks else None)
        try:
            with self._reading() if request.ranks else self._matching_turn:
                found = self._matcher.listed(event, request, strictness)
        except BeginAgain as again:
            again.get_ready()
            return self._answer(event, request, strictness)
        reconsider_if_due(self)
        return found

    def match_many(
        self, events: Any, missing: str = "null", threads: int | None = 1, on_error: str = "raise"
    ) -> pa.Table:
        """A table (event: int64 row position, rule) for many events, by event and then rule order.

        `missing`   what a column is that rules name and the events do not have: `null`, or an `error`
        `threads`   the number of threads, each for a part of the events; None for one per core. The answer is the same
        `on_error`  as in `match`; `report` treats values that do not fit as NULL and adds a column `match_error`, with
                    a row without a rule for an event that has an error but no hit
        """
        return self._answer_many(events, ALL_RULES, Strictness.of(missing, on_error), checked_threads(threads))

    def _answer_many(self, events: Any, request: Request, strictness: Strictness, threads: int) -> pa.Table:
        little = is_little(self, events=count_of(events))
        threads = 1 if little else threads  # others do not know how little it is
        again = not request.ranks and can_be_read_again(events)
        get_ready(self, None if again else "ranking" if request.ranks else "reading", little)

        def found() -> pa.Table:
            with self._matching_turn if again else self._lock.reading(), little_work(little):
                results = ResultFormat.of(self._table, request)
                asked = self._matcher.ask(events, request.without_rows(), strictness.anew(), threads)
                return pa.Table.from_batches(all_batches(results, asked, threads), schema=results.schema)

        table = begun_again(found)
        reconsider_if_due(self)
        return table if strictness.told is None else with_errors(table, strictness.told)

    def match_batches(
        self, events: Any, missing: str = "null", threads: int | None = 1, on_error: str = "raise"
    ) -> pa.RecordBatchReader:
        """What `match_many` returns, batch by batch in bounded memory.

        Each batch is the answer of one moment; rules changed between two batches show in the later one. With several
        threads, parts of the events are matched at the same moment, before the first of their batches is returned.
        `on_error` is `raise` or `null`.
        """
        little, strictness = is_little(self, events=count_of(events)), strictness_of_one(missing, on_error)
        threads = min(checked_threads(threads), 1 if little else MOST_THREADS)
        get_ready(self)
        with self._lock.reading(), little_work(little):
            results = ResultFormat.of(self._table, ALL_RULES)
            asked = self._matcher.ask(events, ALL_RULES.without_rows(), strictness, threads)
        batches = record_batches(results, asked, functools.partial(self._matching, little), threads)
        return pa.RecordBatchReader.from_batches(results.schema, batches)

    def top(
        self,
        event: Mapping[str, Any],
        n: int = 5,
        weights: Mapping[str, float] | None = None,
        on_error: str = "raise",
        missing: str = "null",
        weight: str = "added",
    ) -> list[tuple[Any, float]]:
        """The `n` best rules that are true for one event, as (id, score), best first, ties in rule order.

        `weights`   the weights of the event by attribute; 1 by default
        `weight`    `added`: a rule's constant weight is added to the score of its predicates; `only`: it is the score
        `on_error`  and `missing`: as in `match`

        >>> index = Index()
        >>> report = index.insert_many([("a", "age > 18"), ("b", "age > 18 and vip", {"weights": {"vip": 3}})])
        >>> index.top({"age": 20, "vip": True}, weights={"age": 0.5})
        [('b', 3.5), ('a', 0.5)]
        """
        check_one(event, weights)
        return self._answer(event, self._best(n, weights, weight), strictness_of_one(missing, on_error))

    def top_many(
        self,
        events: Any,
        n: int = 5,
        weights: Any = None,
        missing: str = "null",
        threads: int | None = 1,
        on_error: str = "raise",
        weight: str = "added",
    ) -> pa.Table:
        """A table (event, rank from 1, rule, score) with the `n` best rules of each of many events.

        `weights`  the weights of events: one mapping by attribute for all of them; or one per event, as a list of
                   mappings or an Arrow array of structs or maps
        `missing`  `threads`, `on_error`: as in `match_many`
        `weight`   as in `top`
        """
        threads, strictness = checked_threads(threads), Strictness.of(missing, on_error)
        return self._answer_many(events, self._best(n, weights, weight), strictness, threads)

    def _best(self, n: int, weights: Any, weight: str = "added") -> BestRules:
        with self._reading():
            given = GivenWeights(weights, self._encoder.schema.names(), weight)
            self._matcher.ledger.work.pass_over(sum(given.unknown().values()))
        return BestRules(checked_rank(n), given)

    def explain(self, event: Mapping[str, Any], rule_id: Any) -> Explanation:
        """Why a rule is true, false or unknown for an event: print the result, or read its `.decided_by`."""
        with self._reading():
            text, types = self._table.text(self._table.row_of(rule_id)), self._encoder.schema.types()
            timezone, settings = self._encoder.timezone, self._encoder.event_settings
        return insight.explain_text(text, event, types, timezone, settings)

    # ---------------------------------------------------------------- insight

    def find(self, expression: Any, semantics: str = "stabbing_subscription") -> list[Any]:
        """The ids of the rules that relate to an expression (text, JSON or Expression) in a given way, in rule order.

        `semantics`  `stabbing_subscription`, `stabbing_event`, `symmetric`, `containment`, `enclosure`, `exact`: as in
                     the BE-Tree paper; `implies`, `implied_by`: rules that imply the expression, or follow from it

        >>> index = Index()
        >>> index["young"] = "age between 20 and 25"
        >>> index.find("age between 18 and 30", semantics="containment")
        ['young']
        """
        if not self._checked:
            self._at_rest(self._check)
        self._gather()
        get_ready(self)
        query_of, found_rows = insight.query_of, insight.found_rows  # imported here, outside the turn

        def found() -> list[Any]:
            with self._matching_turn:
                query = query_of(expression, semantics, self._encoder.schema, self._encoder.timezone)
                return self._table.id_list(found_rows(self._matcher, query))

        return begun_again(found)

    def lint(self) -> pa.Table:
        """Rules that are probably mistakes or unnecessary: a table (id, problem, other, detail).

        Problems: `never` true, `always` true, `duplicate` of an earlier rule, `implied` by another.
        """
        lint_rules = insight.lint_rules

        def linted() -> pa.Table:
            self._check()
            return lint_rules(self._table, self._encoder, self._matcher, self._dnf_limit)

        return self._at_rest(linted)

    def stats(self) -> dict[str, Any]:
        """Counts, bytes and the work done so far, as plain data."""
        stats_of = insight.stats_of
        with self._reading():
            return stats_of(self._table, self._encoder, self._matcher)

    def nodes(self) -> list[NodeView]:
        """The nodes of the engine `atree`, one by one; InvalidArgument for other engines and for large trees."""
        tree_nodes = insight.tree_nodes
        return self._at_rest(lambda: tree_nodes(self._table, self._encoder, self._matcher))

    def draw(
        self,
        format: str | None = None,
        limit: int = insight.MOST_NODES,
        attribute: str | None = None,
        event: Mapping[str, Any] | None = None,
    ) -> str:
        """A picture of the tree of `atree` or `betree` (as `mermaid`, `dot` or `svg`), or of a triangle of `hem` (SVG).

        A tree of more than `limit` nodes is an error, because nobody could read it. A triangle shows one `attribute`,
        by default the one that most rules constrain, and what an `event` excludes; more points than `limit` are shades.
        """
        shown, picture_of = (format, limit, attribute, event), insight.picture_of
        return self._at_rest(lambda: picture_of(self._table, self._encoder, self._matcher, *shown))

    plot = property(lambda self: insight.IndexPlots(self, Index), doc="Charts of rules and events: `IndexPlots`.")

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when all structures are sound."""
        audit_of = insight.audit_of
        return self._at_rest(lambda: audit_of(self._table, self._encoder, self._matcher))

    def compact(self) -> None:
        """Free the memory of deleted and replaced rules; answers do not change."""
        with self._changing(), self._storing():
            self._matcher.compact()

    # ------------------------------------------------------------- snapshots

    def save(self, path: Any) -> int:
        """Save the index as a new version at `path`; returns its number. Readers see it completely or not at all.

        What the current version already has is not written again.
        """
        with little_work(is_little(self)):
            ready_to_save()
            with self._unchanged():
                return save_index(self, path)

    @property
    def version(self) -> int | None:
        """The version that this index was opened from, or last saved as; None if neither."""
        origin = self._origin
        return origin.version if origin else None

    def reload(self, verify: str = "auto", discard: bool = False) -> bool:
        """Switch to the current version at the path that the index was opened from or last saved to.

        Returns True if there was a new version; if there was none, this costs one small read. Other threads can match
        while the new version is opened, and every answer comes from one version.

        `discard`  drop changes that were not saved; without it, they are an error
        """
        if self._lock.is_reading():
            raise MatchwoodError("an index cannot be loaded again by the events that it is matching")
        with self._unchanged():
            return reload_index(self, verify, checked_flag("discard", discard))

    # ------------------------------------------------------------------ turns

    def _rehearsal(self, engine: str) -> Index:
        """An empty index of the same kind that nobody else knows."""
        options = {**self._options, "spaces": self._encoder.vocabulary.spaces.name}
        made = Index(engine, options=options, dnf_limit=self._dnf_limit)
        made._rehearses = True
        made._size_up()
        return made

    @contextlib.contextmanager
    def _matching(self, little: bool) -> Iterator[None]:
        """One of the turns of a reader that matches."""
        with self._matching_turn, little_work(little):
            yield
        reconsider_if_due(self)

    @contextlib.contextmanager
    def _changing(self, rules: float = 0) -> Iterator[None]:
        """The turn of one writer, in which it takes the lock when it is ready to change something.

        `rules`  how many may come at once; one more or less does not make an index large
        """
        if self._read_only:
            raise MatchwoodError("this index was opened with read_only=True; open it without to change it in memory")
        little = is_little(self, rules)
        get_ready(self, "changes", little)
        if self._lock.is_reading():
            # Waiting for another writer, which waits for this reader, would take for ever.
            raise MatchwoodError("an index cannot be changed by the events that it is matching: finish matching first")
        with self._writer, little_work(little):
            self._lock.refuse_if_poisoned()
            self._check()
            yield
            self._unsaved = True
            if self._matcher.merge_due:
                self._lay_out_anew()
            self._size_up()
        if isinstance(self._matcher, AutoMatcher) and self._matcher.choice_due:
            begin_choice(self, self._matcher)

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

    def _at_rest(self, work: Callable[[], Done]) -> Done:
        self._gather()
        get_ready(self)
        return at_rest(self._writer, self._lock, work)

    def _gather(self) -> None:
        """Have all rules in one structure, as they are, before others have to wait; an index of shards has several."""

    def _check(self) -> None:
        """Look once at all that an opened snapshot holds. Matching checks what it follows; changing trusts it."""
        if not self._checked:
            self._matcher.check()
            self._checked = True

    def _find_witness(self, attribute: str, kind: str, passed_over: Container[Any] = ()) -> Any:
        return insight.find_witness(self._table, self._encoder.schema, attribute, kind, passed_over)


def index_from(path: Any, snapshot: Snapshot, read_only: bool = False, part: str = ONLY_PART) -> Index:
    """The index in one part of a snapshot, which was loaded from `path`."""
    index = Index.__new__(Index)
    restore_part(index, path, snapshot, part, read_only, matcher_for)
    index._set_up_locks()
    return index


OPENERS[INDEX_KIND] = index_from
