"""The ways to hand over many rules at once, all turned into chunks of plain tuples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.encoding import check_column, is_frame
from matchwood.errors import InvalidArgument, MatchwoodError

CHUNK_RULES = 20_000
"""Rules prepared at a time: enough to vectorise, few enough that their trees take tens of megabytes."""

REQUIRED, OPTIONAL = ("id", "expression"), ("weight", "weights")


class RuleSource(NamedTuple):
    """One rule as handed over: nothing is checked yet. `problem` says why it cannot even be one."""

    id: Any
    expression: Any
    options: Any = None
    problem: MatchwoodError | None = None


class _Replayed:
    """What an iterator yields, kept, so that it can be walked again."""

    def __init__(self, items: Iterator[Any], schema: pa.Schema | None = None) -> None:
        self.schema = schema
        self._items, self._held = items, list[Any]()

    def __iter__(self) -> Iterator[Any]:
        yield from self._held
        for item in self._items:
            self._held.append(item)
            yield item


_LASTING = (Mapping, list, tuple, str, bytes, pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table)


def replayable(rules: Any) -> Any:
    """The same rules, which can be walked more than once; of a stream, what has passed is kept as it came."""
    if isinstance(rules, _LASTING) or is_frame(rules, "pandas"):
        return rules
    if hasattr(rules, "__arrow_c_stream__"):
        reader = _reader(rules)
        return _Replayed(iter(reader), reader.schema)
    return _Replayed(iter(rules)) if isinstance(rules, Iterator) else rules


def rule_chunks(rules: Any) -> Iterator[list[RuleSource]]:
    """Chunks of rules from tuples, a mapping, Arrow data, pandas, or anything that speaks Arrow."""
    return _chunks(_rules(rules))


def _chunks(each: Iterator[RuleSource]) -> Iterator[list[RuleSource]]:
    while chunk := list(itertools.islice(each, CHUNK_RULES)):
        yield chunk


def _rules(rules: Any) -> Iterator[RuleSource]:
    if isinstance(rules, Mapping):
        rules = rules.items()
    if is_frame(rules, "pandas"):
        return _from_pandas(rules)
    if isinstance(rules, pa.StructArray):
        rules = pa.RecordBatch.from_struct_array(rules)
    if isinstance(rules, pa.RecordBatch):
        return _from_arrow(pa.Table.from_batches([rules]).to_reader())
    if isinstance(rules, _Replayed) and rules.schema is not None:
        return _from_arrow(rules)
    if hasattr(rules, "__arrow_c_stream__"):
        return _from_arrow(_reader(rules))
    if isinstance(rules, str | bytes | pa.Array) or not isinstance(rules, Iterable):
        raise InvalidArgument(
            "rules must be (id, expression) tuples, a mapping, or a table with the columns id and expression "
            f"(got {type(rules).__name__})"
        )
    return (_from_tuple(position, rule) for position, rule in enumerate(rules))


def _from_tuple(position: int, rule: Any) -> RuleSource:
    if isinstance(rule, tuple | list) and len(rule) in (2, 3):
        return RuleSource(*rule)
    wanted = "(id, expression) or (id, expression, {'weight': …, 'weights': …})"
    return RuleSource(None, rule, None, InvalidArgument(f"rule {position}: must be {wanted} (got {rule!r:.80})"))


def _check_columns(names: list[Any]) -> None:
    for name in (*REQUIRED, *OPTIONAL):
        if names.count(name) > 1:
            raise InvalidArgument(f"the table of rules has {names.count(name)} columns {name!r}")
        if name in REQUIRED and name not in names:
            shown = ", ".join(map(str, names)) or "none"
            raise InvalidArgument(f"the table of rules has no column {name!r} (its columns: {shown})")


def _reader(rules: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(rules)
    except (pa.ArrowInvalid, TypeError) as error:
        raise InvalidArgument(f"an Arrow stream of rules must hold the columns id and expression ({error})") from None


def _from_arrow(reader: pa.RecordBatchReader | _Replayed) -> Iterator[RuleSource]:
    assert reader.schema is not None
    names = reader.schema.names
    _check_columns(names)
    wanted = [name for name in (*REQUIRED, *OPTIONAL) if name in names]
    slices = (batch.slice(start, CHUNK_RULES) for batch in reader for start in range(0, len(batch), CHUNK_RULES))
    return _rows({name: _sound_cells(name, part) for name in wanted} for part in slices)


def _sound_cells(name: str, part: pa.RecordBatch) -> list[Any]:
    """The cells of a column whose offsets have been checked: Arrow follows them without looking."""
    column = pa.chunked_array([part.column(name)])
    check_column(name, column, "the rules")
    try:
        cells: list[Any] = column.to_pylist()
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"column {name!r} of the rules holds text that is not UTF-8 ({error})") from None
    return cells


def _from_pandas(frame: Any) -> Iterator[RuleSource]:
    """Python values rather than Arrow's: a column of objects may hold ids of any type, each judged by itself."""
    names = list(frame.columns)
    _check_columns(names)
    wanted = [name for name in (*REQUIRED, *OPTIONAL) if name in names]
    slices = (frame.iloc[start : start + CHUNK_RULES] for start in range(0, len(frame), CHUNK_RULES))
    return _rows({name: _values(part[name]) for name in wanted} for part in slices)


def _values(series: Any) -> list[Any]:
    return [None if missing else value for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)]


def _rows(parts: Iterable[dict[str, list[Any]]]) -> Iterator[RuleSource]:
    """Rules from columns; an option that is NULL is not given."""
    for columns in parts:
        given = [name for name in OPTIONAL if name in columns]
        for cells in zip(columns["id"], columns["expression"], *(columns[name] for name in given), strict=True):
            options = {name: cell for name, cell in zip(given, cells[2:], strict=True) if cell is not None}
            yield RuleSource(cells[0], cells[1], options or None)
