"""The ways to hand over many rules at once, all turned into chunks."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from matchwood.encoding import check_column, is_frame
from matchwood.errors import InvalidArgument
from matchwood.matching.loading.chunks import ArrowRules, ListedRules, RuleChunk, RuleSource, sources_of
from matchwood.rules import as_strings

CHUNK_RULES = 200_000
"""Rules looked at as columns at a time. Each chunk asks every attribute's spaces once, whatever it brings: BEGen with
20,000 at a time takes twice as long."""

REQUIRED, OPTIONAL = ("id", "expression"), ("weight", "weights")


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


class ReadyChunks(ABC):
    """Chunks as they are, which can be walked more than once."""

    @abstractmethod
    def __iter__(self) -> Iterator[RuleChunk]: ...


_LASTING = (Mapping, list, tuple, str, bytes, pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table)


def replayable(rules: Any) -> Any:
    """The same rules, which can be walked more than once; of a stream, what has passed is kept as it came."""
    if isinstance(rules, _LASTING) or is_frame(rules, "pandas"):
        return rules
    if hasattr(rules, "__arrow_c_stream__"):
        reader = _reader(rules)
        return _Replayed(iter(reader), reader.schema)
    return _Replayed(iter(rules)) if isinstance(rules, Iterator) else rules


def rule_chunks(rules: Any) -> Iterator[RuleChunk]:
    """Chunks of rules from tuples, a mapping, Arrow data, pandas, or anything that speaks Arrow."""
    if isinstance(rules, ReadyChunks):
        return iter(rules)
    if isinstance(rules, Mapping):
        rules = rules.items()
    if is_frame(rules, "pandas"):
        return _chunks(_from_pandas(rules))
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
    return _chunks(_from_tuple(position, rule) for position, rule in enumerate(rules))


def _chunks(each: Iterator[RuleSource]) -> Iterator[RuleChunk]:
    while chunk := list(itertools.islice(each, CHUNK_RULES)):
        yield ListedRules(chunk)


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


def _from_arrow(reader: pa.RecordBatchReader | _Replayed) -> Iterator[RuleChunk]:
    assert reader.schema is not None
    names = reader.schema.names
    _check_columns(names)
    return (arrow_chunk(part) for part in _filled(reader))


def _filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of CHUNK_RULES, whatever sizes they came in."""
    held: list[pa.RecordBatch] = []
    room = CHUNK_RULES
    for batch in batches:
        start = 0
        while len(batch) - start >= room:
            yield _one([*held, batch.slice(start, room)])
            held, start, room = [], start + room, CHUNK_RULES
        if start < len(batch):
            held.append(batch.slice(start))
            room -= len(batch) - start
    if held:
        yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _sound(name: str, part: pa.RecordBatch) -> pa.Array:
    """A column whose offsets have been checked: Arrow follows them without looking."""
    column = part.column(name)
    check_column(name, pa.chunked_array([column]), "the rules")
    return column


def arrow_chunk(part: pa.RecordBatch) -> RuleChunk:
    """One chunk of a table of rules whose columns were found by name."""
    columns = {name: _sound(name, part) for name in (*REQUIRED, *OPTIONAL) if name in part.schema.names}
    options = {name: column for name, column in columns.items() if name in OPTIONAL}
    texts = as_strings(columns["expression"])
    if texts is not None and all(_is_sound(column) for column in (columns["id"], *options.values())):
        return ArrowRules(columns["id"], texts, options)
    cells = [_cells(name, column) for name, column in columns.items()]
    return ListedRules(list(sources_of(cells, list(options))))


def _is_sound(column: pa.Array) -> bool:
    """Whether a column can be turned into Python objects: text that is not UTF-8 cannot."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _cells(name: str, column: pa.Array) -> list[Any]:
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
    options = [name for name in wanted if name in OPTIONAL]
    return (rule for part in slices for rule in sources_of([_values(part[name]) for name in wanted], options))


def _values(series: Any) -> list[Any]:
    return [None if missing else value for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)]


def with_last(chunks: Iterator[RuleChunk]) -> Iterator[tuple[RuleChunk, bool]]:
    """Each chunk, and whether it is the last; where the source fails, what came before is still taken."""
    held = next(chunks, None)
    while held is not None:
        try:
            following = next(chunks, None)
        except BaseException:
            yield held, False
            raise
        yield held, following is None
        held = following
