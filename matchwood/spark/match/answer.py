"""The UDF that answers events, and its answers as the columns that users get."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_type

from matchwood.errors import InvalidArgument
from matchwood.spark.match.options import RANKED, MatchOptions, position_of
from matchwood.spark.match.task import ERROR, FOUND, MISFITS, WORK, WORK_TYPE, Task, answers, found_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ANSWER, _HIT = "matchwood_answer", "matchwood_hit"
STEPS = ("encode", "match", "emit")
"""What seconds are counted for."""


def answer_of(task: Task, id_type: pa.DataType) -> Any:
    """The function of the arguments that returns a struct: what was found and, if errors are reported, the error.

    It is deterministic, so that filters on the events' own columns move below it, to the files that are read.
    """

    def matchwood(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return answers(task, batches)

    # What plans, and so the Spark UI, call it.
    matchwood.__name__ = f"matchwood_{re.sub(r'[^A-Za-z0-9]+', '_', str(task.path).rpartition('/')[2])}_v{task.version}"

    found = from_arrow_type(found_type(task.output, id_type, task.top is not None)).simpleString()
    work = from_arrow_type(WORK_TYPE).simpleString()
    types = {FOUND: found, ERROR: "string", MISFITS: "array<string>", WORK: work}
    fields = ", ".join(f"{name}: {types[name]}" for name in task.fields)
    return sf.arrow_udf(matchwood, f"struct<{fields}>")


def answered_by(columns: DataFrame, kept: Iterable[int], answer: Column, output: str) -> DataFrame:
    """The kept columns of the events, called by position, with their answers, found once.

    Spark repeats a deterministic UDF below every filter on its result, and adds such a filter itself below an explode
    of a plain column: events would be matched twice. Neither passes an explode of anything else: `rows` explodes a
    field of the answer, and the other outputs get the answer out of an array of one.
    """
    names = [f"_{position}" for position in kept]
    answered = columns.select(*names, answer.alias(ANSWER))
    if output == "rows":
        return answered
    return answered.select(*names, sf.explode(sf.array(ANSWER)).alias(ANSWER))


def observed(answered: DataFrame, names: Iterable[str], options: MatchOptions) -> DataFrame:
    """The same frame, which also counts events, hits, work and values that did not fit, as it is read."""
    if options.metrics is None:
        return answered
    answer = sf.col(ANSWER)
    work, misfits = answer[WORK], answer[MISFITS]
    hits = answer[FOUND] if options.output == "count" else sf.size(answer[FOUND])
    counts = {
        "events": sf.count(sf.lit(1)),
        "hits": _total(hits),
        "candidates": _total(work["candidates"]),
        MISFITS: _total(sf.size(sf.coalesce(misfits, sf.array().cast("array<string>")))),
        **{f"{MISFITS}.{name}": sf.count_if(sf.array_contains(misfits, name)) for name in names},
    }
    seconds = [sf.coalesce(sf.sum(work[step]), sf.lit(0.0)).alias(f"seconds.{step}") for step in STEPS]
    counted = [column.cast("bigint").alias(name) for name, column in counts.items()]
    return answered.observe(options.metrics, *counted, *seconds, sf.max(work["engine"]).alias("engine"))


def _total(column: Column) -> Column:
    return sf.coalesce(sf.sum(column), sf.lit(0))


def shaped(answered: DataFrame, kept: dict[int, str], options: MatchOptions) -> DataFrame:
    """What users get, from a frame that has the answers beside the events' columns, called by position."""
    found, error = sf.col(ANSWER)[FOUND], sf.col(ANSWER)[ERROR]
    report = options.on_error == "report"
    if options.output != "rows":
        return _named(answered, kept, [found, error][: 1 + report], options)
    if not report and options.top is None:
        return _named(answered, kept, [sf.explode(found)], options)
    explode = sf.explode_outer if report else sf.explode
    rows = answered.select("*", explode(found).alias(_HIT), *([error.alias(ERROR)] if report else []))
    if report:
        rows = rows.filter(sf.col(_HIT).isNotNull() | sf.col(ERROR).isNotNull())
    hits = [sf.col(_HIT)] if options.top is None else [sf.col(_HIT)[name] for name in RANKED]
    return _named(rows, kept, [*hits, *([sf.col(ERROR)] if report else [])], options)


def _named(frame: DataFrame, kept: dict[int, str], added: list[Column], options: MatchOptions) -> DataFrame:
    columns = [sf.col(f"_{position}").alias(name) for position, name in kept.items()]
    return frame.select(*columns, *(column.alias(name) for column, name in zip(added, options.added, strict=True)))


def kept_columns(events: DataFrame, options: MatchOptions) -> dict[int, str]:
    """The positions and names of the events' columns to return; refused if an added one has such a name."""
    names = events.columns
    positions: Iterable[int] = range(len(names))
    if options.keep is not None:
        positions = [position_of(names, name, "keep") for name in options.keep]
    kept = {position: names[position] for position in positions}
    refuse_clash(events, list(kept.values()), options.added)
    return kept


def _folds_case(events: DataFrame) -> bool:
    return bool(events.sparkSession.conf.get("spark.sql.caseSensitive", "false") != "true")


def refuse_clash(events: DataFrame, kept: list[str], added: list[str]) -> None:
    """InvalidArgument if a column that is added has the name of one that is kept."""
    folds = _folds_case(events)
    spelled = {(name.lower() if folds else name): name for name in kept}
    clashes = [spelled[folded] for name in added if (folded := name.lower() if folds else name) in spelled]
    if clashes:
        raise InvalidArgument(
            f"the events already have a column {clashes[0]!r}: give prefix= for the added ones ({', '.join(added)}), "
            "or leave it out with keep="
        )
