"""Sets of values as increasing cuts of an ordered domain, and their algebra.

A cut stands between values: `(v, 0)` just before v, `(v, 1)` just after it, and `()` before the whole
domain. A set is a tuple of strictly increasing cuts: walking up the domain one starts outside the
set, and each cut changes sides. So `x < 5` is `((), (5, 0))`, `x = 5` is `((5, 0), (5, 1))`, and the
complement only toggles the first cut. Python compares tuples and integers with floats exactly, which
makes the numbers one exact order. NaN lies above infinity: the cut `(inf, 1)` is just before it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Cut: TypeAlias = tuple[Any, ...]
CutSet: TypeAlias = tuple[Cut, ...]

START: Cut = ()
EMPTY: CutSet = ()
FULL: CutSet = (START,)
