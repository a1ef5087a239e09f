"""The DNF of a form in terms of its leaves' numbers: a conjunction is an integer with a bit for each leaf.

Joining, comparing and ordering conjunctions is then arithmetic. It takes forms in which no conjunction meets two leaves
of one attribute, the most by far; two leaves of one attribute may stand in different conjunctions. The result is
that of `canonical`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from matchwood.logic import conjunctions
from matchwood.logic.form import AND, LEAF, FormNodes
from matchwood.logic.leaf import Conjunction, Leaf, accepts_only

MOST_LEAVES = 62
"""Leaves that have a bit in a signed 64-bit integer."""

FEW_PAIRS = 256
"""Up to this many pairs of conjunctions are compared one by one."""


class _Bits(NamedTuple):
    """Leaves in order, with the highest bit for the first: of two conjunctions neither of which holds all leaves of the
    other, the one that comes first in the order of leaves is the greater number.

    `bits`     of each leaf
    `siblings` for each attribute that several leaves have, their bits together
    `implied`  for each leaf of such an attribute, its bit and the bits that it brings along, as more is accepted there
    """

    leaves: list[Leaf]
    bits: list[int]
    siblings: list[int]
    implied: list[tuple[int, int]]


def masked(form: FormNodes) -> list[Conjunction] | None:
    """The conjunctions of a form that is not constant, in canonical order; None where that takes more than bits."""
    reached = _reached(form)
    numbers = [number for number in reached if form.kinds[number] == LEAF]
    if len(numbers) > MOST_LEAVES:
        return None
    numbers.sort(key=form.leaves.__getitem__)
    known = _bits_of([form.leaves[number] for number in numbers])
    rows = _expanded(form, reached, dict(zip(numbers, known.bits, strict=True)))
    if any(_meets(row, group) for group in known.siblings for row in rows):
        return None
    # Absorption over its budget leaves out comparisons, and which ones is for `canonical` to say.
    if sum(row.bit_count() for row in rows) >= conjunctions.COMPARISON_BUDGET // len(rows) or _has_joinable(
        rows, known
    ):
        return None
    kept = sorted(_uncovered(rows, known), reverse=True)
    return [tuple([leaf for leaf, bit in zip(known.leaves, known.bits, strict=True) if row & bit]) for row in kept]


def _reached(form: FormNodes) -> list[int]:
    """The root and the nodes below it, children before parents."""
    marked = bytearray(len(form.kinds))
    marked[-1] = 1
    for number in range(len(marked) - 1, -1, -1):
        if marked[number]:
            for child in form.children[number]:
                marked[child] = 1
    return [number for number, mark in enumerate(marked) if mark]


def _bits_of(leaves: list[Leaf]) -> _Bits:
    bits = [1 << place for place in range(len(leaves) - 1, -1, -1)]
    groups: dict[str, list[tuple[Leaf, int]]] = {}
    for leaf, bit in zip(leaves, bits, strict=True):
        groups.setdefault(leaf[0], []).append((leaf, bit))
    siblings, implied = [], []
    for group in groups.values():
        if len(group) > 1:
            siblings.append(sum([bit for _, bit in group]))
            implied += [(bit, sum([wide for each, wide in group if accepts_only(leaf, each)])) for leaf, bit in group]
    return _Bits(leaves, bits, siblings, implied)


def _expanded(form: FormNodes, reached: Sequence[int], bit_of: dict[int, int]) -> list[int]:
    """The conjunctions of the root, each once."""
    rows_of: dict[int, list[int]] = {}
    for number in reached:
        kind, children = form.kinds[number], form.children[number]
        if kind == LEAF:
            rows = [bit_of[number]]
        elif kind == AND:
            rows = [0]
            for child in children:
                rows = [row | more for row in rows for more in rows_of[child]]
        else:
            rows = [row for child in children for row in rows_of[child]]
        rows_of[number] = rows
    return list(dict.fromkeys(rows_of[reached[-1]]))


def _meets(row: int, group: int) -> bool:
    """Whether a conjunction holds two leaves of a group."""
    both = row & group
    return both & (both - 1) != 0


def _has_joinable(rows: list[int], known: _Bits) -> bool:
    """Whether two conjunctions of one leaf each are of the same attribute, and become one."""
    single = sum([row for row in rows if not row & (row - 1)])
    return any(_meets(single, group) for group in known.siblings)


def _uncovered(rows: list[int], known: _Bits) -> list[int]:
    """Without conjunctions all of whose events satisfy another one."""
    if len(rows) < 2:
        return rows
    brought = [_brought(row, known.implied) for row in rows] if known.implied else rows
    if len(rows) ** 2 > FEW_PAIRS:
        wide, narrow = np.array(rows, np.int64), np.array(brought, np.int64)
        covered = ((wide[None, :] & ~narrow[:, None]) == 0).sum(axis=1) > 1
        return [row for row, is_covered in zip(rows, covered.tolist(), strict=True) if not is_covered]
    return [
        row
        for row, narrow in zip(rows, brought, strict=True)
        if not any(not wide & ~narrow and wide != row for wide in rows)
    ]


def _brought(row: int, implied: list[tuple[int, int]]) -> int:
    """A conjunction and all leaves that hold wherever it does."""
    brought = row
    for bit, wider in implied:
        if row & bit:
            brought |= wider
    return brought
