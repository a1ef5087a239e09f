"""Rows of leaves: one from many leaves, absorption, canonical order, and implication between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.logic.cuts import FULL
from matchwood.logic.leaf import Conjunction, Leaf, accepts_only, is_full, join_all, meet_all

COMPARISON_BUDGET = 1 << 21
"""Leaves that absorption compares at most: enough for all pairs of 256 conjunctions of 32; beyond, the shortest win."""


FEW = 8
"""Up to this many conjunctions are compared without looking at their attributes first."""

PAIRS_AT_ONCE = 1 << 20
"""Pairs whose attributes are looked at together."""


def narrows(narrow: Conjunction, wide: Conjunction) -> bool:
    """Whether one conjunction implies another: exact.

    Neither holds an empty or a full leaf; so each attribute that the wide one constrains must be
    constrained by the narrow one, and at least as much.
    """
    if len(narrow) < len(wide):
        return False
    at = 0
    for leaf in wide:
        attribute = leaf.attribute
        while at < len(narrow) and narrow[at].attribute < attribute:
            at += 1
        if at == len(narrow) or narrow[at].attribute != attribute or not accepts_only(narrow[at], leaf):
            return False
    return True


def of_leaves(leaves: Iterable[Leaf]) -> Conjunction | None:
    """Leaves in any order, attributes repeated, as one conjunction; None when nothing can satisfy it."""
    merged: dict[str, Leaf] = {}
    repeated: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        attribute = leaf.attribute
        if not leaf.cuts and not leaf.null:
            return None
        if attribute in merged:
            repeated.setdefault(attribute, [merged[attribute]]).append(leaf)
        else:
            merged[attribute] = leaf
    return _in_order(merged, repeated)


def _in_order(merged: dict[str, Leaf], repeated: dict[str, list[Leaf]]) -> Conjunction | None:
    """All leaves of an attribute are met at once: one by one, 80,000 of `x != …` copy a growing set each time."""
    for attribute, group in repeated.items():
        leaf = merged[attribute] = meet_all(group)
        if not leaf.cuts and not leaf.null:
            return None
    return tuple(sorted([leaf for leaf in merged.values() if not leaf.null or leaf.cuts != FULL]))


def canonical(conjunctions: Iterable[Conjunction]) -> list[Conjunction]:
    """The disjunction of the conjunctions in its canonical order: none twice, none that another covers."""
    distinct = list(dict.fromkeys(conjunctions))
    if len(distinct) < 2:
        return distinct
    return sorted(_absorbed(_singles_joined(distinct)))


def _singles_joined(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Conjunctions of one leaf each, joined where they share the attribute."""
    groups: dict[str, list[Leaf]] = {}
    for conjunction in conjunctions:
        if len(conjunction) == 1:
            groups.setdefault(conjunction[0].attribute, []).append(conjunction[0])
    if all(len(group) == 1 for group in groups.values()):
        return conjunctions
    joined = [group[0] if len(group) == 1 else join_all(group) for group in groups.values()]
    if any(map(is_full, joined)):
        return [()]
    return [(leaf,) for leaf in joined] + [each for each in conjunctions if len(each) != 1]


def _absorbed(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Without those that imply another one; no two imply each other, since each has a single spelling."""
    ordered = sorted(conjunctions, key=lambda conjunction: (len(conjunction), conjunction))
    reach = COMPARISON_BUDGET // (1 + sum(map(len, ordered)))
    if len(ordered) <= FEW:
        candidates = ordered[:reach]
        return [each for each in ordered if not any(each is not wide and narrows(each, wide) for wide in candidates)]
    covered = bytearray(len(ordered))
    for narrow, wide in _comparable(_attribute_masks(ordered), reach):
        covered[narrow] = covered[narrow] or narrows(ordered[narrow], ordered[wide])
    return [each for each, is_covered in zip(ordered, covered, strict=True) if not is_covered]


def _comparable(masks: NDArray[np.uint64], reach: int) -> Iterator[tuple[int, int]]:
    """The pairs of which the second, among the first `reach`, may cover the first: it has none but its attributes."""
    rows = max(1, PAIRS_AT_ONCE // len(masks))
    for start in range(0, len(masks), rows):
        outside = ~masks[start : start + rows, None, :]
        narrow, wide = np.nonzero(~(masks[None, :reach] & outside).any(axis=2))
        narrow += start
        yield from ((left, right) for left, right in zip(narrow.tolist(), wide.tolist(), strict=True) if left != right)


def _attribute_masks(conjunctions: Sequence[Conjunction]) -> NDArray[np.uint64]:
    """The attributes of each conjunction as bits, 64 to a word, so that most pairs are told apart by one operation."""
    places: dict[str, int] = {}
    numbers = [[places.setdefault(leaf[0], len(places)) for leaf in each] for each in conjunctions]
    words = 1 + len(places) // 64
    masks = [sum([1 << number for number in each]).to_bytes(8 * words, "little") for each in numbers]
    return np.frombuffer(b"".join(masks), np.uint64).reshape(len(masks), words)
