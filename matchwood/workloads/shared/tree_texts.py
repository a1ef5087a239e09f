"""Arbitrary expressions from columns to text, level by level: a shared subexpression is written once, then copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.workloads.shared.texts import predicate_texts
from matchwood.workloads.shared.trees import JUNCTIONS, NOT

if TYPE_CHECKING:
    from matchwood.workloads.shared.trees import Trees

_CHUNK = 50_000


def tree_texts(trees: Trees, names: Sequence[str], operators: Sequence[str]) -> pa.ChunkedArray:
    """One expression a rule; inner nodes stand in parentheses, whole rules do not."""
    count = int(trees.levels[1])
    texts = predicate_texts(trees.predicates, 0, count, names, operators).cast(pa.large_string())
    operands, whole = texts, [texts]
    for level in range(2, trees.depth + 1):
        texts = _level_texts(trees, trees.inner(level), operands)
        whole.append(texts)
        if level < trees.depth:
            operands = pa.concat_arrays([operands, _joined("(", texts, ")")])
    every = pa.chunked_array(whole)
    starts = range(0, len(trees.roots), _CHUNK)
    chunks = [every.take(pa.array(trees.roots[start : start + _CHUNK])) for start in starts]
    return pa.chunked_array([part for chunk in chunks for part in chunk.cast(pa.string()).chunks], type=pa.string())


def _level_texts(trees: Trees, nodes: slice, operands: pa.Array) -> pa.Array:
    """The nodes of one level without parentheses around them, those of each operator at a time."""
    codes = trees.junctions[nodes]
    order = np.argsort(codes, kind="stable")
    groups = [
        _junction_texts(trees, nodes.start + order[codes[order] == code], operands, code)
        for code in range(len(JUNCTIONS))
    ]
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return pa.concat_arrays(groups).take(pa.array(places))


def _junction_texts(trees: Trees, chosen: NDArray[np.int64], operands: pa.Array, code: int) -> pa.Array:
    starts, lengths = trees.offsets[chosen], np.diff(trees.offsets)[chosen]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    texts = operands.take(pa.array(trees.children[positions]))
    if code == NOT:
        return _joined("not ", texts)
    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), texts)
    return pc.binary_join(lists, pa.scalar(f" {JUNCTIONS[code]} ", texts.type))


def _joined(*parts: str | pa.Array) -> pa.Array:
    """Texts and columns of texts, one behind the other."""
    same = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*same)
