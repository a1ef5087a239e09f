"""Whether Arrow data is what it says: a file or another process may have sent anything.

Arrow follows offsets and indices without looking, out of its buffers if they say so. So each column that a rule
names is checked once before anything reads it. Text that is not UTF-8 is not refused here: readers tell the row that
holds it.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pat

from matchwood.errors import InvalidArgument

_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}


def check_column(name: str, column: pa.ChunkedArray, of: str = "the events") -> None:
    """InvalidArgument for a column whose offsets, indices or buffers contradict each other."""
    try:
        for chunk in column.chunks:
            _check(chunk)
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise InvalidArgument(f"column {name!r} of {of} is damaged: {error!s:.300}") from None
    except RecursionError:
        raise InvalidArgument(f"column {name!r} of {of} is nested too deep") from None


def _check(array: pa.Array) -> None:
    array.validate()
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if not pat.is_primitive(array.type):
        array.view(without_text(array.type)).validate(full=True)


def without_text(kind: pa.DataType) -> pa.DataType:
    """The same layout with bytes for text: their check leaves UTF-8 out. As deep as the type, as Arrow's own walk."""
    if kind in _BYTES:
        return _BYTES[kind]
    if pat.is_dictionary(kind):
        return pa.dictionary(kind.index_type, without_text(kind.value_type), kind.ordered)
    if pat.is_run_end_encoded(kind):
        return pa.run_end_encoded(kind.run_end_type, without_text(kind.value_type))
    if pat.is_struct(kind):
        return pa.struct([field.with_type(without_text(field.type)) for field in kind])
    if pat.is_map(kind):
        return pa.map_(without_text(kind.key_type), without_text(kind.item_type))
    if pat.is_fixed_size_list(kind):
        return pa.list_(without_text(kind.value_type), kind.list_size)
    for holds, made in _LISTS:
        if holds(kind):
            return made(without_text(kind.value_type))
    return kind


_LISTS = (
    (pat.is_list, pa.list_),
    (pat.is_large_list, pa.large_list),
    (pat.is_list_view, pa.list_view),
    (pat.is_large_list_view, pa.large_list_view),
)
