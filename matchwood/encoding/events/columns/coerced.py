"""Arrow columns read as another type because the index asks for it, at once wherever Arrow can say it.

`events/coercion.py` says what is converted, and does it for one value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from matchwood.encoding.events.coercion import UNITS, Coercion
from matchwood.encoding.events.columns.text_values import Values, values_of_text
from matchwood.encoding.events.columns.types import family, raw_values, valid_rows


def coerced_column(how: Coercion, array: pa.Array) -> Values | None:
    """The converted column; a list where no Arrow type holds it. None if the readers convert value by value, or not.

    >>> coerced_column(Coercion("timestamp"), pa.array([0, None])).type
    TimestampType(timestamp[s, tz=UTC])
    """
    convert = _CONVERTERS.get((how.kind, family(array.type)))
    return None if convert is None else convert(array, how)


def _from_text(array: pa.Array, how: Coercion) -> Values | None:
    """Text that is not UTF-8 is left to the reader."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return values_of_text(how.kind, array)


def _as_text(array: pa.Array, how: Coercion) -> Values:
    return array.cast(pa.string())


def _moments(array: pa.Array, how: Coercion) -> Values | None:
    if array.type == pa.uint64():
        return None
    return array.cast(pa.int64()).view(pa.timestamp(how.unit, "UTC"))


def _moments_of_doubles(array: pa.Array, how: Coercion) -> Values | None:
    """Microseconds, towards the past; None if one of them has more than 64 bits."""
    values = raw_values(array).astype(np.float64)
    valid = valid_rows(array)
    with np.errstate(invalid="ignore", over="ignore"):
        micros = np.floor(values // 1_000 if how.unit == "ns" else values * float(UNITS[how.unit]))
        fits = (micros >= -(2.0**63)) & (micros < 2.0**63)
    if not (fits if valid is None else fits | ~valid).all():
        return None
    whole: Any = np.where(fits, micros, 0).astype(np.int64)
    return pa.array(whole, mask=None if valid is None else ~valid).view(pa.timestamp("us", "UTC"))


def _days(array: pa.Array, how: Coercion) -> Values | None:
    """Of moments that name no zone."""
    return None if array.type.tz is not None else pc.floor_temporal(array, unit="day").cast(pa.date32())


_CONVERTERS: dict[tuple[str, str], Callable[[pa.Array, Coercion], Values | None]] = {
    **{(kind, "string"): _from_text for kind in ("bool", "int", "number", "double", "list<int>", "list<string>")},
    ("string", "int"): _as_text,
    ("string", "bool"): _as_text,
    ("timestamp", "int"): _moments,
    ("timestamp", "float"): _moments_of_doubles,
    ("date", "timestamp"): _days,
}
