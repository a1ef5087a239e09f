"""What a match will do, settled on the driver before Spark sees it: version, columns, strategy."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from matchwood import storage
from matchwood.encoding import near_misses
from matchwood.errors import EventError, InvalidArgument
from matchwood.spark.frames import checked_frame
from matchwood.spark.locations import location_for
from matchwood.spark.match.arguments import Arguments, Unfit, arguments_for, column_places, field_places
from matchwood.spark.match.layout import layout_names
from matchwood.spark.match.opened import OpenedIndex, current, open_version
from matchwood.spark.match.options import MatchOptions, position_of
from matchwood.spark.match.plan_text import plan_text
from matchwood.spark.match.strategy import chosen
from matchwood.spark.match.task import Task
from matchwood.spark.match.unfit import tell_unfit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_log = logging.getLogger("matchwood.spark")
_NAMES_LISTED = 20


class MatchPlan(NamedTuple):
    """A match as it will run.

    `strategy`, `estimate`  what was chosen, and why
    `missing`               attributes that rules name and no column has, each with names that may have been meant
    `arguments`             the expressions that travel to the Python workers, or names of columns that do
    `may_misfit`            attributes of which some values may not fit
    `unfit`                 attributes whose columns have a type that none of their values can have
    `travelling`            the columns, fields included, that Python workers get
    `engine`, `bytes`       of the index
    `event`                 the column that holds the event, if one does

    `print` tells all of it.
    """

    strategy: str
    estimate: str
    missing: dict[str, list[str]]
    shards: int
    task: Task
    id_type: pa.DataType
    arguments: list[Column | str]
    may_misfit: Sequence[str] = ()
    unfit: Sequence[Unfit] = ()
    travelling: Sequence[str] = ()
    engine: str = ""
    bytes: int = 0
    event: str | None = None

    def __str__(self) -> str:
        return plan_text(self)

    @property
    def version(self) -> int:
        return self.task.version


def planned(events: DataFrame, path: storage.Path, options: MatchOptions, refuses: bool = True) -> MatchPlan:
    """Pin the version, find the columns, choose the strategy; all that can be refused is refused here.

    `refuses`  whether columns that are missing or never fit are, or only stand in the plan
    """
    checked_frame(events, "events")
    place = location_for(events.sparkSession, path)
    version = current(place, options.version)
    index, schema = open_version(place, version, room=0), events.schema
    form, arguments = _arguments(schema, index, options)
    absent = [name for name in arguments.missing if name in index.attributes]
    missing = {name: near_misses(name, _given(schema, options)) for name in absent}
    unfit = [each for each in arguments.unfit if each.name in index.attributes]
    if refuses:
        _tell_missing(missing, options.missing)
        tell_unfit(unfit, options.on_error, options.event)
    strategy, estimate, room = chosen(events, index, options)
    how = (options.output, options.missing, options.on_error, strategy)
    ranking, weights = _ranking(schema, index, options)
    task = Task(place, version, form, arguments.layout, *how, *ranking, options.metrics is not None, room)
    values: list[Column | str] = [*(arguments.values or [sf.lit(None).cast("boolean")]), *weights]
    may_misfit = arguments.may_misfit if form == "columns" else list(index.attributes)
    found = (unfit, _travelling(schema, arguments, options), index.engine, index.bytes, options.event)
    return MatchPlan(strategy, estimate, missing, len(index.shards), task, index.id_type, values, may_misfit, *found)


def _travelling(schema: st.StructType, arguments: Arguments, options: MatchOptions) -> list[str]:
    """The columns that rules ask for, by name; of a struct the fields."""
    names = list(layout_names(arguments.layout)) if arguments.layout or options.event is None else [options.event]
    return [*names, *([options.weights] if isinstance(options.weights, str) else [])]


def _arguments(schema: st.StructType, index: OpenedIndex, options: MatchOptions) -> tuple[str, Arguments]:
    """How the events come, and what of them travels."""
    asked = index.asked(options.top is not None)
    if options.event is None:
        return "columns", arguments_for(asked, column_places(schema), index.event_settings)
    position = position_of(schema.names, options.event, "event")
    kind, value = schema.fields[position].dataType, sf.col(f"_{position}")
    if isinstance(kind, st.StructType):
        return "columns", arguments_for(asked, field_places(kind, value), index.event_settings)
    if isinstance(kind, st.MapType) and isinstance(kind.keyType, st.StringType):
        return "map", Arguments([value], (), [])
    if isinstance(kind, st.StringType):
        return "json", Arguments([value], (), [])
    if isinstance(kind, st.BinaryType):
        cast = f"events.withColumn({options.event!r}, F.col({options.event!r}).cast('string'))"
        raise InvalidArgument(
            f"event: {options.event!r} is binary; if it holds JSON in UTF-8, as Kafka's values do, write {cast}"
        )
    raise InvalidArgument(
        f"event: {options.event!r} must be a struct, a map with text for keys, or JSON text (got {kind.simpleString()})"
    )


def _ranking(
    schema: st.StructType, index: OpenedIndex, options: MatchOptions
) -> tuple[tuple[int | None, dict[str, float] | None, bool], list[Column]]:
    """What a task must know to rank, and the column of weights that travels."""
    if options.top is None:
        return (None, None, False), []
    if options.weight == "only":
        return (int(options.top), index.best(options.top, None, "only").weights.of(0), False), []
    if not isinstance(options.weights, str):
        _tell_unknown(index.best(options.top, options.weights).weights.unknown(), index.asked(True))
        weights = {name: float(weight) for name, weight in (options.weights or {}).items()}
        return (int(options.top), weights, False), []
    position = position_of(schema.names, options.weights, "weights")
    value, kind = sf.col(f"_{position}"), schema.fields[position].dataType
    if isinstance(kind, st.StructType):
        return (int(options.top), None, True), [value]
    if isinstance(kind, st.MapType) and isinstance(kind.keyType, st.StringType):
        return (int(options.top), None, True), [value.cast("map<string, double>")]
    raise InvalidArgument(
        f"weights: {options.weights!r} must be a struct, or a map with text for keys (got {kind.simpleString()})"
    )


def _tell_unknown(unknown: dict[str, int], known: Iterable[str]) -> None:
    """Warn of weights that have no effect; a column of weights may well hold some for other uses."""
    if unknown:
        listed = "; ".join(_told(name, near_misses(name, known)) for name in list(unknown)[:_NAMES_LISTED])
        _log.warning("weights were given for attributes that no rule has, and have no effect: %s", listed)


def _told(name: str, near: list[str]) -> str:
    return f"no {name!r}" + (f", but {', '.join(map(repr, near))}" if near else "")


def _given(schema: st.StructType, options: MatchOptions) -> list[str]:
    """The names that the events do have: of columns, or of the fields of the struct that holds them."""
    if options.event is None:
        return list(schema.names)
    return list(getattr(schema[options.event].dataType, "names", []))


def _tell_missing(missing: dict[str, list[str]], how: str) -> None:
    if not missing:
        return
    told = [_told(name, near) for name, near in missing.items()]
    more = f", and {len(told) - _NAMES_LISTED} more" if len(told) > _NAMES_LISTED else ""
    listed = "; ".join(told[:_NAMES_LISTED]) + more
    if how == "error":
        names = ", ".join(missing)
        raise EventError(names, where="the events' columns", got=listed, expected="given, because rules name it")
    _log.warning("rules name attributes that no column of the events has, so they are NULL: %s", listed)
