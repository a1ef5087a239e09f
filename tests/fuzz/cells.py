"""Implication by brute force: an event for every cell that the constants of two trees cut their domains into."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from tests.fuzz.domains import KINDS
from tests.fuzz.trees import Leaf, Tree, leaves_of

MOST = 600
"""Events of a brute force."""
_EXACT = 2.0**50
"""Up to here there are doubles between any two constants that the fuzz uses."""


def every_event(trees: list[Tree]) -> list[dict[str, Any]] | None:
    """One event of each cell; None where there are too many, or a domain whose cells `find` does not know.

    Whole numbers and moments are such domains (it takes them for dense), and so are lists and patterns (each test of
    which is an attribute of its own).
    """
    leaves: dict[str, list[Leaf]] = {}
    for leaf in (leaf for tree in trees for leaf in leaves_of(tree)):
        leaves.setdefault(leaf.attribute, []).append(leaf)
    points = {name: _points(KINDS[name], own) for name, own in leaves.items()}
    if any(own is None for own in points.values()) or math.prod(len(own or ()) for own in points.values()) > MOST:
        return None
    values = [own for own in points.values() if own is not None]
    return [dict(zip(points, chosen, strict=True)) for chosen in itertools.product(*values)]


def _points(kind: str, leaves: list[Leaf]) -> list[Any] | None:
    if kind == "bool":
        return [None, False, True]
    constants = [*_constants(leaves)]
    if any(isinstance(each, Decimal) for each in constants):
        return None
    if kind == "string" and not any(leaf.operator.endswith("like") for leaf in leaves):
        return [None, *{"", *constants, *(each + "\0" for each in constants)}]
    if kind not in ("double", "number") or not all(_is_modest(each) for each in constants):
        return None
    finite = sorted({each for each in constants if math.isfinite(each)})
    between = [(low + high) / 2 for low, high in itertools.pairwise(finite)]
    ends = [finite[0] - 1, finite[-1] + 1] if finite else [0.5]
    return [None, math.nan, math.inf, -math.inf, *finite, *between, *ends]


def _constants(leaves: list[Leaf]) -> Iterator[Any]:
    for leaf in leaves:
        if leaf.value is not None:
            yield from leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)


def _is_modest(value: float) -> bool:
    return not math.isfinite(value) or (abs(value) < _EXACT and (value == 0 or abs(value) > 1e-9))
