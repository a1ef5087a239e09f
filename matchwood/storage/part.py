"""What is saved and loaded: named arrays with a small header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class SavedPart:
    """One shard of a version (an embedded index has a single one, "0"): a JSON-able header and arrays by name."""

    header: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
