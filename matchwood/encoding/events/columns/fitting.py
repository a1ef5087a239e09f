"""Whether the values of an Arrow type can fit an attribute at all, told by the types alone."""

from __future__ import annotations

import pyarrow as pa

from matchwood.encoding.events.coercion import Coercion
from matchwood.encoding.events.columns.arrow import reads
from matchwood.encoding.events.columns.fixed import fixed_kind
from matchwood.encoding.events.columns.types import family, is_wrapper

_CONVERTED = {
    "int": ("string", "float"),
    "double": ("string",),
    "bool": ("string", "int"),
    "string": ("int", "bool"),
    "date": ("timestamp",),
    "timestamp": ("int", "float"),
    "list<int>": ("string",),
    "list<string>": ("string",),
}
_ELEMENTS = {"list<int>": ("int", "decimal"), "list<string>": ("string",)}


def can_fit(kind: str, arrow_type: pa.DataType, how: Coercion | None = None) -> bool:
    """Whether some value of the type fits an attribute of a kind, or can be converted to it.

    >>> can_fit("int", pa.string()), can_fit("int", pa.string(), Coercion("int")), can_fit("date", pa.string())
    (False, True, True)
    """
    decoded = _decoded_type(arrow_type)
    found = family(decoded)
    if kind == "any" or found in ("null", "union") or (how is not None and found in _CONVERTED[how.kind]):
        return True
    if found == "list" and kind in _ELEMENTS:
        element = family(_decoded_type(decoded.value_type))
        return element in ("null", "union", *_ELEMENTS[kind])
    return reads(kind, found) and (kind, found) != ("int", "float")


def always_fits(kind: str, arrow_type: pa.DataType) -> bool:
    """Whether all values of the type fit, as far as types tell: the columns that kernels read, and text."""
    decoded = _decoded_type(arrow_type)
    return fixed_kind(kind, decoded) is not None or (kind == "string" and family(decoded) == "string")


def _decoded_type(arrow_type: pa.DataType) -> pa.DataType:
    """The type of the values themselves."""
    while True:
        if is_wrapper(arrow_type):
            arrow_type = arrow_type.storage_type
        elif pa.types.is_dictionary(arrow_type) or pa.types.is_run_end_encoded(arrow_type):
            arrow_type = arrow_type.value_type
        elif pa.types.is_string_view(arrow_type):
            return pa.string()
        elif pa.types.is_decimal(arrow_type):
            return pa.decimal128(38, 0)
        else:
            return arrow_type
