"""Rules whose texts were read elsewhere: in other processes, many chunks at once; here they only have to be stored.

    Arrow batch ─► RulesApart.read ─► PackedChunk ─► ReadRules ─► index.insert_many

What kernels make of texts depends on the settings of an index and not on its rules, so an empty one with the same
settings can read them. Everything else about a load is the same: which rules are taken, in what order, and what is
stored of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from matchwood.encoding import CompiledRules, RuleReader, packed_rules, unpacked_rules
from matchwood.logic import ANY_RULE
from matchwood.matching.loading.chunks import ArrowRules, RuleChunk
from matchwood.matching.loading.sources import ReadyChunks, arrow_chunk

if TYPE_CHECKING:
    from matchwood.index import Index
    from matchwood.matching.matcher import Matcher

MOST_PACKED = 1 << 28
"""Bytes of what was made of a chunk, beyond which only its texts go on: rules of very many conjunctions."""

_NO_RULES = b""


class PackedChunk(NamedTuple):
    """A chunk on its way: its rules as an Arrow stream, and what kernels made of them, empty if nothing."""

    rules: pa.Buffer
    compiled: bytes


class RulesApart:
    """Reads chunks of rules for an index in another process, which has the settings of this one."""

    def __init__(self, index: Index) -> None:
        self._matcher, self._reader = index._matcher, RuleReader(index._encoder)

    def read(self, batch: pa.RecordBatch) -> PackedChunk:
        """One chunk; `batch` has the columns of a table of rules."""
        chunk = arrow_chunk(batch)
        compiled = _NO_RULES
        if isinstance(chunk, ArrowRules) and self._matcher.takes_columns is not None:
            compiled = packed_rules(read_chunk(chunk, self._reader, self._matcher))
        return PackedChunk(_streamed(batch), compiled if len(compiled) <= MOST_PACKED else _NO_RULES)


class ReadChunk(ArrowRules):
    """Rules in Arrow columns, with what kernels made of them."""

    def __init__(self, rules: ArrowRules, compiled: CompiledRules) -> None:
        super().__init__(rules.ids, rules.expressions, rules.options)
        self.compiled = compiled


class ReadRules(ReadyChunks):
    """Chunks that were read elsewhere, for `insert_many`. Only their texts are kept for a second walk."""

    def __init__(self, chunks: Iterable[PackedChunk]) -> None:
        self._chunks, self._held = iter(chunks), list[RuleChunk]()

    def __iter__(self) -> Iterator[RuleChunk]:
        yield from self._held
        for packed in self._chunks:
            chunk = arrow_chunk(_batch(packed.rules))
            self._held.append(chunk)
            if isinstance(chunk, ArrowRules) and packed.compiled:
                yield ReadChunk(chunk, unpacked_rules(packed.compiled))
            else:
                yield chunk


def read_chunk(chunk: RuleChunk, reader: RuleReader, matcher: Matcher) -> CompiledRules:
    """What kernels make of a chunk, unless they have done so already."""
    if isinstance(chunk, ReadChunk):
        return chunk.compiled
    texts = chunk.texts()
    return reader.read(*texts.utf8, texts.given, matcher.dnf_limit, matcher.takes_columns or ANY_RULE)


def _streamed(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def _batch(data: pa.Buffer) -> pa.RecordBatch:
    return pa.ipc.open_stream(data).read_next_batch()
