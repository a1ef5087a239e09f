"""What the tests of the table of rules share."""

from __future__ import annotations

import numba
import numpy as np

if numba.config.DISABLE_JIT:
    # Hashes wrap around on purpose; only NumPy's scalars, which stand in for compiled code here, warn about it.
    np.seterr(over="ignore")
