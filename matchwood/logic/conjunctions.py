"""Rows of leaves: one from many leaves, absorption, canonical order, and implication between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matchwood.logic.cuts import FULL
from matchwood.logic.leaf import Conjunction, Leaf, accepts_only, is_full, join_all, meet_all

COMPARISON_BUDGET = 1 << 21
"""Leaves that absorption compares at most: enough for all pairs of 256 conjunctions of 32; beyond, the shortest win."""


FEW = 8
"""Up to this many conjunctions are compared without looking at their attributes first."""


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
    masks = _attribute_masks(ordered) if len(ordered) > FEW else [0] * len(ordered)
    reach = COMPARISON_BUDGET // (1 + sum(map(len, ordered)))
    candidates = list(zip(masks[:reach], ordered[:reach], strict=True))
    kept = []
    for mask, conjunction in zip(masks, ordered, strict=True):
        outside = ~mask
        if not any(
            not other & outside and wide is not conjunction and narrows(conjunction, wide) for other, wide in candidates
        ):
            kept.append(conjunction)
    return kept


def _attribute_masks(conjunctions: Sequence[Conjunction]) -> list[int]:
    """The attributes of each conjunction as bits, so that most pairs are told apart by one operation."""
    bits: dict[str, int] = {}
    masks = []
    for conjunction in conjunctions:
        mask = 0
        for leaf in conjunction:
            mask |= 1 << bits.setdefault(leaf.attribute, len(bits))
        masks.append(mask)
    return masks
