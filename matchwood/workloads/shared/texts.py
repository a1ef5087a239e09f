"""Rules from columns to text, by Arrow's string functions: a million rules in a few seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matchwood.workloads.shared.base import Rules

_CHUNK = 250_000


def rule_texts(rules: Rules, names: Sequence[str], operators: Sequence[str]) -> pa.ChunkedArray:
    """One expression a rule; a few hundred thousand at a time, as an Arrow array of text holds 2 GB at most."""
    starts = range(0, rules.count, _CHUNK)
    chunks = [_texts(rules, start, min(start + _CHUNK, rules.count), names, operators) for start in starts]
    return pa.chunked_array(chunks, type=pa.string())


def _texts(rules: Rules, start: int, stop: int, names: Sequence[str], operators: Sequence[str]) -> pa.Array:
    offsets = rules.offsets[start : stop + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    predicates = predicate_texts(rules, first, last, names, operators)
    lists = pa.ListArray.from_arrays(pa.array(offsets - first, pa.int32()), predicates)
    return pc.binary_join(lists, " and ")


def predicate_texts(rules: Rules, first: int, last: int, names: Sequence[str], operators: Sequence[str]) -> pa.Array:
    """The predicates first … last - 1 of all rules."""
    codes = rules.operators[first:last]
    order = np.argsort(codes, kind="stable")
    groups = [
        _group_texts(rules, first + order[codes[order] == code], names, operator)
        for code, operator in enumerate(operators)
    ]
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return pa.concat_arrays(groups).take(pa.array(places))


def _group_texts(rules: Rules, chosen: NDArray[np.int64], names: Sequence[str], operator: str) -> pa.Array:
    """The predicates that share an operator."""
    named = pa.array(names, pa.string()).take(pa.array(rules.attributes[chosen]))
    starts, stops = rules.constant_offsets[chosen], rules.constant_offsets[chosen + 1]
    if operator in ("in", "not in", "weak not in"):
        listed = pc.binary_join(_constant_lists(rules.constants, starts, stops), ", ")
        if operator == "weak not in":
            return pc.binary_join_element_wise("(", named, " in (", listed, ")) is not true", "")
        return pc.binary_join_element_wise(named, f" {operator} (", listed, ")", "")
    low = _integers(rules.constants[starts])
    if operator == "between":
        return pc.binary_join_element_wise(named, " between ", low, " and ", _integers(rules.constants[starts + 1]), "")
    return pc.binary_join_element_wise(named, f" {operator} ", low, "")


def _constant_lists(constants: NDArray[np.int64], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> pa.Array:
    lengths = stops - starts
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), _integers(constants[positions]))


def _integers(values: NDArray[Any]) -> pa.Array:
    return pa.array(values).cast(pa.string())
