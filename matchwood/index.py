"""The façade: rules in, events in, the rules that are true out."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import pyarrow as pa

from matchwood._locks import ReadersWriterLock
from matchwood.encoding import Encoder, Schema
from matchwood.errors import InvalidArgument, MatchwoodError
from matchwood.explain import Explanation
from matchwood.indexing import bulk, explaining, health, lint, persistence, results
from matchwood.indexing.matchers import Matcher, matcher_for
from matchwood.indexing.preparation import Prepared, prepare
from matchwood.indexing.report import Report
from matchwood.rules import RuleTable


class Index(MutableMapping[Any, str]):
    """A set of rules that answers, for any event, which of them are true of it.

    A mapping from ids (all int or all str) to rules, in rule order. One thread may change it while
    others match: every answer is that of some moment between two changes.

    >>> index = Index()
    >>> index["adults"] = "age >= 18 and country in ('US', 'CA')"
    >>> index["minors"] = "age < 18"
    >>> index.match({"age": 20, "country": "US"})
    ['adults']

    `engine`         how to match: `auto`, `scan`, `counting` or `oracle`
    `schema`         types of attributes: a dict, an Arrow or Spark schema, or DDL; others are inferred
    `options`        settings of the engine, and `spaces`
    `dnf_limit`      a rule with more conjunctions than this is matched as a whole, by the fall-back
    `timezone`       where dates begin and naive timestamps are read
    `strict_schema`  refuse attributes that the schema does not declare
    """

    def __init__(
        self,
        engine: str = "auto",
        schema: Any = None,
        options: Mapping[str, Any] | None = None,
        dnf_limit: int = 256,
        timezone: str = "UTC",
        strict_schema: bool = False,
    ) -> None:
        if isinstance(dnf_limit, bool) or not isinstance(dnf_limit, int) or dnf_limit < 1:
            raise InvalidArgument(f"dnf_limit must be an integer of at least 1 (got {dnf_limit!r})")
        self._options = dict(options or {})
        spaces = self._options.pop("spaces", "sorted")
        self._encoder = Encoder(Schema(schema, strict=strict_schema), timezone=timezone, spaces=spaces)
        self._table = RuleTable()
        self._matcher: Matcher = matcher_for(engine, self._encoder, self._table, self._options)
        self._dnf_limit = dnf_limit
        self._read_only = False
        self._set_up_locks()

    def _set_up_locks(self) -> None:
        self._lock = ReadersWriterLock()
        # Preparing a rule reads the schema that writing changes, so writers take turns as a whole.
        self._writer = threading.RLock()
        self._encoder.schema.find_witness = self._find_witness

    # ------------------------------------------------------------------ rules

    def __setitem__(self, rule_id: Any, source: Any) -> None:
        with self._writer:
            self._refuse_if_read_only()
            row = self._table.find(rule_id)
            old = self._table.text(row) if row >= 0 else None
            prepared = prepare(self._encoder, self._dnf_limit, rule_id, source, replaced=old)
            with self._lock.writing():
                self._put(row, rule_id, prepared)

    def _put(self, row: int, rule_id: Any, prepared: Prepared) -> None:
        self._encoder.schema.add(prepared.uses, rule_id)
        if row >= 0:
            self._matcher.replace(row, prepared)
        else:
            self._matcher.insert([rule_id], [prepared])
            self._matcher.flush()

    def insert_many(self, rules: Any, on_error: str = "collect", on_duplicate: str = "error") -> Report:
        """Insert many rules: (id, expression[, options]) tuples, a mapping, or a table.

        `on_error`      `collect` lists bad rules in the report, `raise` inserts nothing if there is one
        `on_duplicate`  `error` treats an id that exists as a bad rule, `replace` replaces the rule
        """
        with self._writer:
            self._refuse_if_read_only()
            return bulk.insert_many(self, rules, on_error, on_duplicate)

    def __delitem__(self, rule_id: Any) -> None:
        with self._writer:
            self._refuse_if_read_only()
            with self._lock.writing():
                self._matcher.remove(self._table.row_of(rule_id))

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
            ids = self._table.ids(self._table.live_rows()).to_pylist()
        return iter(ids)

    def __repr__(self) -> str:
        return f"<matchwood.Index: {len(self):,} rules, engine {self.engine!r}>"

    @property
    def engine(self) -> str:
        """The name of the engine that does the matching."""
        return self._matcher.name

    # --------------------------------------------------------------- matching

    def match(self, event: Mapping[str, Any]) -> list[Any]:
        """The ids of the rules that are true of one event, in rule order."""
        if not isinstance(event, Mapping):
            raise InvalidArgument(
                f"match takes one event as a dict (got {type(event).__name__}); match_many takes lists and tables"
            )
        with self._lock.reading():
            return self._table.id_list(self._matcher.rows_of(event))

    def match_many(self, events: Any, missing: str = "null") -> pa.Table:
        """A table (event: int64 row position, rule) for many events, by event and then rule order."""
        with self._lock.reading():
            batches = list(results.record_batches(self._table, self._matcher.row_batches(events, missing)))
            return pa.Table.from_batches(batches, schema=results.hits_schema(self._table))

    def match_batches(self, events: Any, missing: str = "null") -> pa.RecordBatchReader:
        """What `match_many` returns, batch by batch in bounded memory.

        Each batch is the answer of one moment; rules changed between two batches show in the later one.
        """
        schema = results.hits_schema(self._table)
        return pa.RecordBatchReader.from_batches(schema, results.locked(self._lock, self._batches(events, missing)))

    def _batches(self, events: Any, missing: str) -> Iterator[pa.RecordBatch]:
        return results.record_batches(self._table, self._matcher.row_batches(events, missing))

    def explain(self, event: Mapping[str, Any], rule_id: Any) -> Explanation:
        """Why a rule is true, false or unknown for an event: `print` it, or read `.decided_by`."""
        with self._lock.reading():
            text = self._table.text(self._table.row_of(rule_id))
            return explaining.explain_text(text, event, self._encoder)

    # ---------------------------------------------------------------- insight

    def lint(self) -> pa.Table:
        """Rules worth a second look: a table (id, problem, other, detail).

        Problems: `never` true, `always` true, `duplicate` of an earlier rule, `implied` by another.
        """
        with self._lock.reading():
            return lint.lint(self._table, self._encoder, self._matcher, self._dnf_limit)

    def stats(self) -> dict[str, Any]:
        """Counts, bytes and the work done so far, as plain data."""
        with self._lock.reading():
            return health.stats(self._table, self._encoder, self._matcher)

    def audit(self) -> list[str]:
        """Every broken invariant in words; empty when all structures are sound."""
        with self._lock.reading():
            return [*self._table.audit(), *self._encoder.audit(), *self._matcher.audit()]

    def compact(self) -> None:
        """Give back the room of deleted and replaced rules; answers do not change."""
        with self._writer:
            self._refuse_if_read_only()
            with self._lock.writing():
                self._matcher.compact()

    # ------------------------------------------------------------- snapshots

    def save(self, path: Any) -> int:
        """Write a snapshot as a new version at `path`; returns its number. Readers see all of it or none."""
        with self._lock.reading():
            return persistence.save(self, path)

    def _refuse_if_read_only(self) -> None:
        if self._read_only:
            raise MatchwoodError("this index was opened with read_only=True; open it without to change it in memory")

    def _find_witness(self, attribute: str, kind: str) -> Any:
        return explaining.find_witness(self._table, attribute, kind)


def open_index(path: Any, read_only: bool = False, verify: str = "auto") -> Index:
    """Open a snapshot in milliseconds; changes stay in memory, files never change.

    `verify`  `auto` checks the manifest, sizes and, up to 256 MiB, every byte; `full` checks every byte
    """
    index = Index.__new__(Index)
    persistence.restore(index, path, read_only=read_only, verify=verify)
    index._set_up_locks()
    return index
