"""Events of a stream that are set aside, with the reason, instead of stopping it: unreadable, late and repeated ones.

An event is read and matched once: its batch is held by Spark until both the hits and what is set aside are written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as sf

from matchwood import storage
from matchwood.spark.match.answer import ANSWER, kept_columns, observed, shaped
from matchwood.spark.match.match import answers_beside
from matchwood.spark.match.options import MatchOptions
from matchwood.spark.match.plan import planned
from matchwood.spark.match.task import ERROR
from matchwood.spark.stream.seen import PROBLEM, REASON, Seen

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNREADABLE = "unreadable"


class Parted(NamedTuple):
    """The hits of a batch, and the events that are set aside: all their columns, `problem` and `reason`."""

    hits: DataFrame
    aside: DataFrame


@contextlib.contextmanager
def parted(
    batch: DataFrame, batch_id: int, path: storage.Path, options: MatchOptions, seen: Seen | None
) -> Iterator[Parted]:
    """Match a batch, and set aside what is wrong with it; what was seen of it is recorded when all is written."""
    with contextlib.ExitStack() as held:
        if seen is None:
            yield _matched(batch, path, options, held)
            return
        judged = _held(seen.judged(batch, batch_id), held)
        problem = sf.col(PROBLEM)
        columns = [f"_{position}" for position in range(len(batch.columns))]
        fresh = judged.filter(problem.isNull()).select(*columns).toDF(*batch.columns)
        found = _matched(fresh, path, options, held)
        others = _named(judged.filter(problem.isNotNull()), batch.columns, [problem, sf.col(REASON)], options)
        yield Parted(found.hits, found.aside.union(others))
        seen.record(batch, judged, batch_id)


def _matched(events: DataFrame, path: storage.Path, options: MatchOptions, held: contextlib.ExitStack) -> Parted:
    """By the option `raise`, an event with an error has no hits; by the others, it is matched by what does fit."""
    plan, kept = planned(events, path, options), kept_columns(events, options)
    plan = plan._replace(task=plan.task._replace(on_error="report"))
    everything = list(range(len(events.columns)))
    answered = _held(answers_beside(events, plan, everything, options), held)
    error = sf.col(ANSWER)[ERROR]
    aside = _named(answered.filter(error.isNotNull()), events.columns, [sf.lit(UNREADABLE), error], options)
    sound = observed(answered, plan.may_misfit, options)
    sound = sound.filter(error.isNull()) if options.on_error == "raise" else sound
    return Parted(shaped(sound, kept, options), aside)


def _held(frame: DataFrame, held: contextlib.ExitStack) -> DataFrame:
    kept: DataFrame = frame.persist()
    held.callback(kept.unpersist)
    return kept


def _named(rows: DataFrame, names: list[str], told: list[Column], options: MatchOptions) -> DataFrame:
    columns = [sf.col(f"_{position}") for position in range(len(names))]
    return rows.select(*columns, *told).toDF(*names, options.prefix + PROBLEM, options.prefix + REASON)
