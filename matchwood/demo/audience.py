"""The audience of the demo: page views beside the campaigns of `workloads`, and rules that are rejected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.workloads import COUNTRIES, DEVICES, INTERESTS, PLANS, SITES, campaigns

__all__ = ["MISTAKES", "campaigns", "page_views"]

MISTAKES = [("campaign-typo", "age => 18"), ("campaign-type", "age = 'young'")]
"""Rules that are rejected, each for another reason."""


def page_views(count: int, seed: int | Sequence[int] = 2, first: int = 0) -> pa.Table:
    """`count` events from number `first` on, as a table; some values are missing, as in life."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "view": np.arange(first, first + count),
            "age": pa.array(draw.integers(13, 90, count), mask=_absent(draw, count, 0.1)),
            "country": _chosen(draw, count, COUNTRIES),
            "device": _chosen(draw, count, DEVICES),
            "hour": draw.integers(0, 24, count),
            "interests": _some_of(draw, count, INTERESTS),
            "plan": _chosen(draw, count, PLANS, absent=0.3),
            "site": _chosen(draw, count, SITES),
            "spend": pa.array(np.round(draw.lognormal(3, 1.5, count), 2), mask=_absent(draw, count, 0.2)),
        }
    )


def _absent(draw: np.random.Generator, count: int, share: float) -> NDArray[np.bool_]:
    return draw.random(count) < share


def _chosen(draw: np.random.Generator, count: int, values: Sequence[str], absent: float = 0.0) -> pa.Array:
    codes = pa.array(draw.integers(0, len(values), count), mask=_absent(draw, count, absent))
    return pa.array(values).take(codes)


def _some_of(draw: np.random.Generator, count: int, values: Sequence[str], most: int = 4) -> pa.Array:
    """Lists of up to `most` values."""
    offsets = np.concatenate([[0], np.cumsum(draw.integers(0, most + 1, count))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, _chosen(draw, int(offsets[-1]), values))
