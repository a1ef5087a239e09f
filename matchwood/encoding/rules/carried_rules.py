"""Rules in columns on their way to another process, with the leaves, cuts and keys that they use and no others.

One process reads texts (`RuleReader`), another stores what came of them. Numbers are those of whoever read the texts,
so what they stand for goes along. On the way it is one row of an Arrow stream, with a list for every array and the rest
as JSON: what lies in a file between two tasks is only ever read as data.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.encoding.rules.asked_uses import AskedUses
from matchwood.encoding.rules.compiled_rules import CompiledRules, LeafColumns, by_first_use
from matchwood.encoding.rules.flattening import running
from matchwood.encoding.rules.predicate_book import CutNumbers, KeyNumbers
from matchwood.encoding.rules.written_terms import NO_LEAF, WrittenTerms
from matchwood.encoding.spaces.decimals import FineDecimal
from matchwood.logic import START, Cut, ExpandedRules, FormShapes

_DECIMAL = "decimal"
_NO_LEAVES = np.empty(0, np.int32)


class CarriedNumbers(NamedTuple):
    """What the numbers of keys and cuts stand for where rules have arrived."""

    keys: KeyNumbers
    cuts: CutNumbers


class CarriedLeaves:
    """What the numbers of leaves stand for there."""

    def __init__(self, columns: LeafColumns) -> None:
        self._columns, self.count = columns, len(columns[0])

    def leaf_columns(self) -> LeafColumns:
        return self._columns


def packed_rules(rules: CompiledRules) -> bytes:
    """The rules as bytes, for `unpacked_rules` in another process."""
    expanded, asked, written = rules._expanded, rules._asked, rules._written
    terms = () if written is None else written
    tested = _NO_LEAVES if written is None else written.leaves[written.leaves != NO_LEAF]
    leaf_of, held = by_first_use(np.concatenate((expanded.leaves, tested)), rules._expander.count)
    if written is not None:
        terms = written._replace(leaves=np.full_like(written.leaves, NO_LEAF))
        terms.leaves[written.leaves != NO_LEAF] = leaf_of[len(expanded.leaves) :]
    columns, keys, cuts = _only_held(rules, held)
    rows: list[NDArray[Any]] = [
        expanded.counts,
        expanded.lengths,
        leaf_of[: len(expanded.leaves)],
        asked.uses,
        asked.ends,
    ]
    values, sides = zip(*cuts[1:], strict=True) if len(cuts) > 1 else ((), ())
    shapes = expanded.shapes or ()
    told = {"keys": keys, "attributes": list(asked.attributes), "values": values, "sides": sides, "forms": bool(shapes)}
    return _streamed([*map(_narrow, rows), rules.wanted.view(np.uint8), *columns, *terms, *shapes], told)


def unpacked_rules(data: bytes) -> CompiledRules:
    """The rules that another process has packed."""
    (counts, lengths, leaves, uses, ends, wanted, *columns), told = _read(data)
    numbers = CarriedNumbers(KeyNumbers(), CutNumbers())
    numbers.keys.keys = told["keys"]
    numbers.cuts.cuts = [START, *zip(told["values"], told["sides"], strict=True)]
    asked = AskedUses(told["attributes"], uses.astype(np.int64), ends.astype(np.int64))
    key_of, nulls, cut_ends, cut_of, *more = columns
    known = CarriedLeaves((key_of, nulls, cut_ends, cut_of))
    # What Arrow holds cannot be written to, and kernels would be compiled once more for it.
    more = [each.copy() for each in more]
    shapes = FormShapes(*more) if told["forms"] else None
    expanded = ExpandedRules(
        counts.astype(np.int64), lengths.astype(np.int64), leaves.astype(np.int32), shapes=shapes
    )  # fmt: skip
    written = WrittenTerms(*more) if more and shapes is None else None
    return CompiledRules(numbers, known, expanded, asked, wanted.view(np.bool_), written)


def _streamed(arrays: list[NDArray[Any]], told: dict[str, Any]) -> bytes:
    header = pa.array([json.dumps(told, default=_spelled).encode()], pa.large_binary())
    lists = [pa.LargeListArray.from_arrays([0, len(each)], pa.array(each)) for each in arrays]
    row = pa.record_batch([header, *lists], [str(number) for number in range(len(lists) + 1)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as stream:
        stream.write_batch(row)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _read(data: bytes) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    header, *lists = pa.ipc.open_stream(data).read_next_batch().columns
    told = json.loads(header[0].as_py(), object_hook=_meant)
    return [each.flatten().to_numpy() for each in lists], told


def _spelled(place: Any) -> dict[str, str]:
    """The only place on the line of numbers that JSON does not know."""
    if not isinstance(place, FineDecimal):
        raise TypeError(f"{place!r} is no place of a cut")
    return {_DECIMAL: str(place)}


def _meant(told: dict[str, Any]) -> Any:
    return FineDecimal(told[_DECIMAL]) if _DECIMAL in told else told


def _only_held(rules: CompiledRules, held: NDArray[np.int64]) -> tuple[LeafColumns, list[str], list[Cut]]:
    """Some leaves, and the keys and cuts that they have. START keeps its number, by which it is known."""
    key_of, nulls, ends, cut_of = rules._expander.leaf_columns()
    sizes = ends[held + 1] - ends[held]
    taken = cut_of[np.arange(int(sizes.sum())) + np.repeat(ends[held] - running(sizes)[:-1], sizes)]
    known = rules._book.cuts.cuts
    used = np.unique(taken[taken != 0])
    numbers = np.zeros(len(known), np.int32)
    numbers[used] = np.arange(1, len(used) + 1)
    places, named = by_first_use(key_of[held], len(rules._book.keys.keys))
    columns = places.astype(np.int32), nulls[held], running(sizes), numbers[taken]
    keys = [rules._book.keys.keys[key] for key in named.tolist()]
    return columns, keys, [START, *map(known.__getitem__, used.tolist())]


def _narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """The same in half of the bytes, if they fit."""
    fits = not len(numbers) or int(numbers.max()) < 2**31
    return numbers.astype(np.int32) if fits else numbers
