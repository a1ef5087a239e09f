"""Columns none of whose values can ever fit, told before the job runs, with the cast to write."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import types as st

from matchwood.encoding import EventSettings
from matchwood.errors import EventError
from matchwood.spark.match.arguments import Unfit, arguments_for, column_places

_log = logging.getLogger("matchwood.spark")
_LISTED = 5
_CASTS = {
    "bool": "boolean",
    "int": "bigint",
    "number": "double",
    "list<int>": "array<bigint>",
    "list<string>": "array<string>",
}
"""Spark's names of types where they differ from ours."""


def tell_unfit(unfit: Sequence[Unfit], on_error: str, event: str | None) -> None:
    """EventError for attributes whose columns never fit; a warning where users chose to have misfits taken for NULL."""
    if not unfit:
        return
    told = [told_unfit(each, event) for each in unfit[:_LISTED]]
    more = f"; and {len(unfit) - _LISTED:,} more" if len(unfit) > _LISTED else ""
    if on_error != "raise":
        _log.warning("columns of the events can never fit, so their attributes are NULL: %s", "; ".join(told) + more)
        return
    first = unfit[0]
    others = (
        f" (the same for {', '.join(repr(each.name) for each in unfit[1:_LISTED])}{more})" if len(unfit) > 1 else ""
    )
    null = "on_error='null' treats its values as NULL"
    raise EventError(
        first.name,
        where="the events' columns",
        got=f"a column of {first.given}, none of whose values can fit{others}",
        expected=first.wanted,
        hint=null if first.is_list else f"{_advice(first, event)}; {null}",
    )


def warn_of_unfit(events: Any, declared: Mapping[str, str], settings: EventSettings) -> None:
    """Warn of columns of events, given as a frame or its schema, that can never fit what is declared of them."""
    schema = getattr(events, "schema", events)
    if isinstance(schema, st.StructType):
        named = {name: kind for name, kind in declared.items() if kind != "any"}
        tell_unfit(arguments_for(named, column_places(schema), settings).unfit, "null", None)


def told_unfit(unfit: Unfit, event: str | None) -> str:
    """One of them in words, with what to write."""
    advice = "" if unfit.is_list else f" ({_advice(unfit, event)})"
    return f"{unfit.name!r} must be {unfit.wanted}, and its column is {unfit.given}{advice}"


def _advice(unfit: Unfit, event: str | None) -> str:
    """What to write: a cast of the column, or the index's own conversion."""
    to = _CASTS.get(unfit.wanted, unfit.wanted)
    coerce = f"build the index with coerce={{{unfit.name!r}: {'double' if to == 'double' else unfit.wanted!r}}}"
    if event is not None or "." in unfit.name or "`" in unfit.name:
        return f"cast the field to {to}, or {coerce}"
    return f"write events.withColumn({unfit.name!r}, F.col({unfit.name!r}).cast({to!r})), or {coerce}"
