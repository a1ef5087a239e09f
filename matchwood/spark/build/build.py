"""Build an index from a table of rules: parsed, checked and laid out on the executors, published by the driver."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from matchwood import storage
from matchwood.encoding import Declared, EventSettings, Settled, read_schema, types_of_events
from matchwood.errors import InvalidArgument, LimitExceeded, MatchwoodError, counted_were
from matchwood.index import Index
from matchwood.matching import (
    ONLY_PART,
    USUAL,
    RejectLimit,
    alone_header,
    checked_flag,
    checked_options,
    checked_text,
    index_part,
    index_settings,
)
from matchwood.progress import Progress
from matchwood.sharding import layout_of, summary_of, total_uses
from matchwood.spark.build.notes import counting_rules
from matchwood.spark.build.reading import (
    AssemblyTask,
    ReadFile,
    ReadTask,
    files_by_shard,
    most_at_once,
    read_files,
    reading_tasks,
)
from matchwood.spark.build.report import BuildReport
from matchwood.spark.build.rule_columns import RuleColumns, checked_rules, id_type, in_shards, read_once
from matchwood.spark.build.rule_stream import SHOWN
from matchwood.spark.build.shard_task import TOLD, BuildSettings, ShardTask, Told, read_told
from matchwood.spark.build.sizes import RuleTotals, shard_bytes, shards_for, totals_of
from matchwood.spark.build.small import SmallTask, TooLarge, is_small, refuse_too_large
from matchwood.spark.build.type_conflicts import settled
from matchwood.spark.jobs import described
from matchwood.spark.locations import location_for
from matchwood.spark.match.unfit import warn_of_unfit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ON_ERROR, ON_DUPLICATE = ("quarantine", "fail"), ("error", "last")
MOST_SHARDS = 50_000
"""What fits the manifest of a version: shards that describe themselves take up to 500 bytes of its 32 MiB, rejects
included."""

APART_FROM = 64
"""From so many shards on they describe themselves. Of fewer the manifest tells all, 36 KB for a shard of `kindex`: one
file to read."""


def build(
    rules: DataFrame,
    path: Any,
    id: str = "id",
    expression: str = "expression",
    weight: str | None = None,
    weights: str | None = None,
    engine: str = "auto",
    options: Mapping[str, Any] | None = None,
    schema: Any = None,
    shards: int | str = "auto",
    on_error: str = "quarantine",
    on_duplicate: str = "error",
    order: str | None = None,
    nan: str | None = None,
    coerce: Mapping[str, str] | None = None,
    events: Any = None,
    max_rejected: float | None = None,
    allow_empty: bool = False,
) -> BuildReport:
    """Build an index from a table of rules, and publish it as a new version at `path`.

    `id`, `expression`   columns with the ids (integers or text) and the rules (text or JSON)
    `weight`, `weights`  columns with constant weights, and with weights by attribute or value (JSON, map or struct)
    `engine`, `options`, `schema`, `nan`, `coerce`  as for `Index`; the time zone is the session's
    `shards`             how many; `auto` makes one, or more if it would not fit into a worker. If there are more cores
                         than shards, half a million rules or more are read on all of them, and each shard is put
                         together on one
    `on_error`           `quarantine` keeps rejected rules as a table (see `rejects`), `fail` then publishes nothing
    `on_duplicate`       a repeated id fails the build, or with `last` the rule with the highest `order` counts
    `order`              the column for `on_duplicate="last"`
    `events`             the events that will be matched, or their schema: attributes that `schema` does not declare
                         have the types of its columns, else those that most rules need. A
                         column that can never fit what `schema` or `coerce` declares is a warning
    `max_rejected`       how many rules may be rejected before nothing is published (LimitExceeded): a number (an int)
                         or a share (a float); by default a tenth, and ten for a small table
    `allow_empty`        publish a version without any rule: an empty table, or one whose rules were all rejected

    Rules can be in any order: rule order is the order of ids.
    """
    started = time.monotonic()
    check_choices(on_error, on_duplicate, order)
    plain = checked_rules(rules, RuleColumns(id, expression, weight, weights, order))
    limit, allow_empty = RejectLimit.of(max_rejected), checked_flag("allow_empty", allow_empty)
    settings = build_settings(rules.sparkSession, engine, options, schema, nan, coerce, events)
    given, place = checked_shards(shards), location_for(plain.sparkSession, path)
    job = Job(plain, settings, 1, on_duplicate == "last", on_error, limit, allow_empty)
    return published(job, place, given, started)


def published(
    job: Job, place: storage.Location, shards: int | None, started: float, after: int | None = None
) -> BuildReport:
    """Publish what a job builds, in so many shards, or in as many as its rules need.

    `after`  the version that must still be current, see `Staging.publish`
    """
    with described(job.rules.sparkSession, f"building {place}") as line:
        job = replace(job, line=line)
        version, told = _at_once(job, place, shards, after) or _in_steps(job, place, shards, after)
    return job.report(version, told, time.monotonic() - started)


def _at_once(job: Job, place: storage.Location, shards: int | None, after: int | None) -> tuple[int, list[Told]] | None:
    """Build a small table in one job; None for others. An order of rules may be of any type, so Spark must find it."""
    if shards not in (None, 1) or job.keeps_last or not is_small(job.rules):
        return None
    try:
        with begin_version(place, 1) as staging:
            return replace(job, at_once=True).publish(staging, after=after)
    except TooLarge:
        return None


def _in_steps(job: Job, place: storage.Location, shards: int | None, after: int | None) -> tuple[int, list[Told]]:
    """Count the rules first, then build as many shards as they need."""
    spark = job.rules.sparkSession
    with read_once(job.rules):
        totals = totals_of(job.rules)
        count = shards or _fitting(shards_for(totals, spark))
        with begin_version(place, count) as staging:
            return replace(job, shards=count, totals=totals).publish(staging, after=after)


def begin_version(place: storage.Location, shards: int) -> storage.Staging:
    """Claim a version for so many shards."""
    return storage.begin(place, apart=shards >= APART_FROM)


def check_choices(on_error: str, on_duplicate: str, order: str | None) -> None:
    for name, given, known in (("on_error", on_error, ON_ERROR), ("on_duplicate", on_duplicate, ON_DUPLICATE)):
        if given not in known:
            raise InvalidArgument(f"{name} must be {' or '.join(map(repr, known))} (got {given!r:.80})")
    if (on_duplicate == "last") != (order is not None):
        raise InvalidArgument(
            "on_duplicate='last' and order= (the column that tells which rule is the last) go together"
        )


def checked_shards(shards: int | str) -> int | None:
    """The number of shards, None for `auto`."""
    if shards == "auto":
        return None
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise InvalidArgument(f"shards must be 'auto' or a number from 1 to {MOST_SHARDS:,} (got {shards!r:.80})")
    return shards


def _fitting(shards: int) -> int:
    """The number of shards that `auto` came to; LimitExceeded before the work if a version cannot have so many."""
    if shards > MOST_SHARDS:
        raise LimitExceeded(
            f"these rules would take {shards:,} shards of what a worker can build, and a version has {MOST_SHARDS:,} "
            f"at most: give workers more memory (spark.executor.pyspark.memory), or say shards={MOST_SHARDS}"
        )
    return shards


def build_settings(
    spark: SparkSession,
    engine: str = "auto",
    options: Mapping[str, Any] | None = None,
    schema: Any = None,
    nan: str | None = None,
    coerce: Mapping[str, str] | None = None,
    events: Any = None,
) -> BuildSettings:
    """The settings, tried on an index of the driver's own, so that a slip costs no job."""
    zone, reading = spark.conf.get("spark.sql.session.timeZone"), EventSettings.of(nan, coerce)
    declared = reading.declare(read_schema(schema))
    named = checked_text("engine", engine), checked_options(options)
    settings = BuildSettings(*named, declared, str(zone), **reading._asdict())
    settings.index()
    warn_of_unfit(events, declared.types, reading)
    return replace(settings, settled=_undeclared(types_of_events(events), declared))


def _undeclared(settled: dict[str, Settled], declared: Declared) -> dict[str, Settled]:
    """What the events' columns decide: attributes that are declared keep their types."""
    return {name: kind for name, kind in settled.items() if declared.type_of(name) is None}


@dataclass(frozen=True)
class Job:
    """One build under way: `rules` are plain ones, see `rule_columns`.

    `line`     that shows how far it is, if somebody watches; `totals` is what there is to be read, if that is known
    `follows`  the state of a table that the version stands for, if it follows one
    `at_once`  whether one task reads the rules and builds the only shard; TooLarge if they turn out to be too many
    """

    rules: DataFrame
    settings: BuildSettings
    shards: int
    keeps_last: bool = False
    on_error: str = "quarantine"
    limit: RejectLimit = USUAL
    allow_empty: bool = False
    line: Progress | None = None
    totals: RuleTotals | None = None
    follows: Mapping[str, Any] | None = None
    at_once: bool = False

    def publish(
        self, staging: storage.Staging, after: int | None = None, more: Iterable[dict[str, Any]] = ()
    ) -> tuple[int, list[Told]]:
        """Build all shards and make them the current version; `more` are descriptions of further parts."""
        files = (
            [] if self.at_once else self._read(ReadTask(staging, self.settings, id_type(self.rules), self.keeps_last))
        )
        kind = AssemblyTask if files else ShardTask
        task = kind(
            staging, self.settings, id_type(self.rules), self.keeps_last, self.shards == 1, self.line is not None
        )
        told = self._run(task, files)
        _refuse_met_twice(told, self.keeps_last)
        if self.shards > 1 and _disagree(told):
            placed = in_shards(self.rules, self.shards)
            found = settled(placed, self.settings, task.id_type, self.keeps_last)
            known = replace(self.settings, settled={**self.settings.settled, **found})
            told = self._run(replace(task, settings=known), files) if found else told
        self._judge(told)
        told = told or [_empty(task)]
        descriptions = [described for each in told for described in (each.description, *each.rejects)]
        header = followed(self._header(told), self.follows)
        return staging.publish([*descriptions, *more], header, after=after), told

    def _judge(self, told: list[Told]) -> None:
        """Refuse to publish what was not asked for: rejected rules, too many of them, or a version without any rule."""
        rules, rejected = sum(each.summary.rules for each in told), sum(each.rejected for each in told)
        examples = [example for each in told for example in each.examples]
        if rejected and self.on_error == "fail":
            raise MatchwoodError(refusal(rejected, examples))
        refuse_beyond(self.limit, rejected, rules + rejected, examples)
        if not rules and not self.allow_empty:
            raise MatchwoodError(_refused_empty(rejected, examples))

    def _read(self, task: ReadTask) -> list[ReadFile]:
        """Files of rules that were read, if there are more cores than shards for that; none if shards read them."""
        tasks = reading_tasks(self.totals.rules if self.totals else 0, self.shards, self.rules.sparkSession)
        files = read_files(self.rules, task, self.shards, tasks) if tasks else []
        _refuse_met_twice(files, self.keeps_last)
        return files

    def _run(self, task: ShardTask, files: list[ReadFile]) -> list[Told]:
        session = self.rules.sparkSession
        built = SmallTask(task, most_at_once(), shard_bytes(session)) if self.at_once else task

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return built(batches)

        with counting_rules(self.line, task.staging, self.totals.rules if self.totals else None):
            rows = self._source(files).mapInArrow(run, TOLD).collect()
        refuse_too_large(rows)
        return sorted(map(read_told, rows), key=lambda told: told.shard)

    def _source(self, files: list[ReadFile]) -> DataFrame:
        """What the tasks get: all rules for one of them, files of rules that were read, or rules by shard."""
        if self.at_once:
            return self.rules.coalesce(1)
        if files:
            return files_by_shard(self.rules.sparkSession, files, self.shards)
        return in_shards(self.rules, self.shards)

    def _header(self, told: list[Told]) -> dict[str, Any]:
        settings = index_settings(self.settings.index())
        if self.shards == 1:
            return alone_header(settings, told[0].summary)
        return layout_of([each.description["name"] for each in told], [each.summary for each in told]).header(settings)

    def report(self, version: int, told: list[Told], seconds: float) -> BuildReport:
        """What became of it all."""
        return BuildReport(
            rules=sum(each.summary.rules for each in told),
            rejected=sum(each.rejected for each in told),
            shards=len(told),
            bytes=sum(storage.described_bytes(each.description) for each in told),
            version=version,
            seconds=seconds,
            misfits=dict(sum((Counter(each.misfits) for each in told), Counter[str]())),
        )


def followed(header: Mapping[str, Any], follows: Mapping[str, Any] | None) -> dict[str, Any]:
    """A version's header, with the state of the table that it stands for, if it follows one."""
    return dict(header) if follows is None else {**header, storage.FOLLOWS: dict(follows)}


def _disagree(told: list[Told]) -> bool:
    """Whether rules may contradict each other on a type, within a shard or between two."""
    kinds: dict[str, str] = {}
    uses = total_uses(each.summary for each in told)
    across = any(kind != "any" and kinds.setdefault(name, kind) != kind for name, kind in uses)
    return across or any(each.misfits for each in told)


def _refuse_met_twice(told: Sequence[Told | ReadFile], keeps_last: bool) -> None:
    ids = [rule_id for each in told for rule_id in each.ids]
    refuse_duplicates(sum(each.twice for each in told), ids, keeps_last)


def refuse_duplicates(twice: int, ids: list[Any], keeps_last: bool) -> None:
    if twice:
        listed = ", ".join(map(repr, ids[:SHOWN])) + (", …" if twice > len(ids[:SHOWN]) else "")
        why = "with the same order, so none is the last" if keeps_last else "(on_duplicate='last' takes one by order=)"
        raise InvalidArgument(f"nothing was published: ids occur more than once {why}: {listed}")


def refuse_beyond(limit: RejectLimit, rejected: int, total: int, examples: list[str]) -> None:
    """LimitExceeded if too many rules were rejected."""
    if not limit.allows(rejected, total):
        raise limit.exceeded(rejected, total, examples[:5], "published")


def _refused_empty(rejected: int, examples: list[str]) -> str:
    shown = "".join(f"\n  {example}" for example in examples[:5])
    rules = "its only rule was" if rejected == 1 else f"all {rejected:,} rules were"
    why = f"{rules} rejected" if rejected else "the table has no rules"
    return f"nothing was published: {why} (allow_empty=True publishes a version without rules){shown}"


def refusal(rejected: int, examples: list[str]) -> str:
    shown = "\n".join(f"  {example}" for example in examples[:5])
    more = f"\n  and {rejected - 5:,} more" if rejected > 5 else ""
    were = counted_were(rejected, "rule")
    return f"nothing was published: {were} rejected, and on_error='fail' asks for none\n{shown}{more}"


def _empty(task: ShardTask) -> Told:
    """A shard without rules, for a table without rows."""
    index: Index = task.settings.index()
    name = ONLY_PART if task.alone else "base-0"
    description = task.staging.write_part(name, index_part(index))
    return Told(0, description, summary_of(index, task.id_type), 0)
