"""Match a table or a stream of events against an index: one more column, or one row for each match.

A scalar Arrow UDF gets the columns that the live rules name, and nothing else; whatever else an event has stays in the
JVM. So there is no shuffle, no row needs an id, and a stream is matched as a table is.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matchwood import storage
from matchwood.spark.match.answer import answer_of, answered_by, kept_columns, observed, shaped
from matchwood.spark.match.event_columns import by_position
from matchwood.spark.match.options import MatchOptions
from matchwood.spark.match.partitioned import partitioned_answers
from matchwood.spark.match.plan import MatchPlan, planned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger("matchwood.spark")


def match(
    events: DataFrame,
    path: storage.Path,
    output: str = "rows",
    keep: Sequence[str] | None = None,
    top: int | None = None,
    weights: Any = None,
    strategy: str = "auto",
    version: int | None = None,
    key: str | None = None,
    event: str | None = None,
    on_error: str = "raise",
    missing: str = "null",
    prefix: str = "",
    metrics: Any = None,
    weight: str = "added",
) -> DataFrame:
    """The rules that are true for each event, from the index at `path`.

    `output`    `rows`: one row for each match, with the event's columns and `rule`, none for events without a match;
                `array`: one row for each event, with `rules` (empty, never NULL); `count`: with `rule_count`
    `keep`      the event columns to return: None for all, [] for none
    `top`       only the best `top` rules of each event: rows then have `rank` (from 1), `rule` and `score`, arrays hold
                structs of these; a count counts these rules
    `weights`   for `top`, the weights of events: a mapping from attributes to numbers, or the name of a column of maps
                or structs, one per event
    `strategy`  `broadcast`: each worker maps the whole index; `sharded`: shard after shard, in the memory of one;
                `partitioned`: shards on different workers, hits regrouped by `key=`; `auto` chooses by size
    `version`   a version of the index; None is the current one at the time of this call, also for a stream
    `key`       a column whose values are distinct; only `partitioned` needs it
    `event`     the struct, map or JSON text column that holds the event; None if columns are attributes
    `on_error`  for a value that does not fit its attribute: `raise` (or `fail`) fails the job, `null`
                counts it as missing, `report` does that and adds a column `match_error`; `rows` then has one row
                without a rule for an event that has an error but no match. A column in which no value can fit is
                refused at once; with `null` or `report` you get a warning
    `missing`   for an attribute that rules name and no column has: `null`, or an `error`
    `prefix`    a prefix for the names of added columns, if they would clash with those of the events
    `metrics`   a `pyspark.sql.Observation`, or a name for `observe`, that gets `events`, `hits`, `candidates`,
                `misfits`, how many values did not fit, `misfits.NAME` for each attribute that some may not fit,
                `seconds.encode`, `.match` and `.emit` of all workers together, and `engine`; `report` prints them
    `weight`    for `top`: a rule's constant weight is `added` to its score, or is the `only` thing that counts
    """
    how = (on_error, missing, prefix, metrics, weight)
    options = MatchOptions(output, keep, top, weights, strategy, version, key, event, *how)
    return matched(events, path, options)


def plan(events: DataFrame, path: storage.Path, **options: Any) -> MatchPlan:
    """What `match` would do with the same options; `print` it.

    It has the version, the engine, the strategy and its reason, what a host holds, the columns that are sent to Python,
    attributes that no column has, and columns whose type can never fit.
    """
    return planned(events, path, MatchOptions.from_names(options), refuses=False)


def matched(events: DataFrame, path: storage.Path, options: MatchOptions) -> DataFrame:
    """What `match` returns, by options that have been checked."""
    plan = planned(events, path, options)
    kept = kept_columns(events, options)
    if events.isStreaming:
        _record(plan)
    answered = answers_beside(events, plan, list(kept), options)
    return shaped(observed(answered, plan.may_misfit, options), kept, options)


def answers_beside(events: DataFrame, plan: MatchPlan, kept: list[int], options: MatchOptions) -> DataFrame:
    """The events' columns, at least the kept ones, called by position, and beside them what the index answers."""
    how = (plan.task.path, plan.version, plan.strategy, plan.estimate)
    _log.info("matching %s by version %d, strategy %s: %s", *how)
    if plan.strategy == "partitioned":
        return partitioned_answers(events, plan, kept, options)
    answer = answer_of(plan.task, plan.id_type)(*plan.arguments)
    return answered_by(by_position(events), kept, answer, options.output)


def _record(plan: MatchPlan) -> None:
    """Have `vacuum` spare the version that a stream keeps to; nobody can tell here whether it will ever start."""
    name = f"match-{uuid.uuid4().hex[:16]}"
    try:
        storage.pinned_version(plan.task.path, name, "match", 0, plan.version)
    except OSError as error:
        message = "%s: the version of this stream cannot be recorded (%s): vacuum may remove it while the stream runs"
        _log.warning(message, plan.task.path, error)
