"""Stores that were saved before constraints had numbers: each conjunction with records of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.core import require_offsets, require_range, saved, saved_count
from matchwood.encoding import EncodedConjunctions
from matchwood.engines.shared.constraints._record_kernels import WIDTH
from matchwood.engines.shared.constraints.records import check_records, unpacked
from matchwood.engines.shared.views import read_only

_MOST = 2**31 - 1


def is_older(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a saved store has what told conjunctions apart then, and no numbers of constraints."""
    return "hashes" in arrays and "leaves" not in arrays


def older_constraints(
    arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any], clauses: bool
) -> EncodedConjunctions:
    """The conjunctions of such a store, those of dead units included; refuses what leads out of the arrays."""
    offsets, records = saved(arrays, "offsets", np.int64), saved(arrays, "records", np.int32)
    count = len(records) // WIDTH
    require_offsets(offsets, count, "offsets")
    require_range(offsets, 0, _MOST, "offsets")
    leaves = read_only(np.arange(count, dtype=np.int32), np.int32)
    conjunctions = (
        read_only(offsets, np.int32),
        leaves,
        read_only(records, np.int32),
        read_only(saved(arrays, "intervals", np.int32), np.int32),
    )
    check_records(*conjunctions, saved_count(header, "attributes"), clauses)
    return unpacked(*conjunctions, np.arange(len(offsets) - 1, dtype=np.int32), clauses)
