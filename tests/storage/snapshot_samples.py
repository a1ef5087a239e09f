"""Small snapshots that the storage tests save, and what they compare."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from matchwood.storage import SavedPart, Snapshot, save

HEADER = {"kind": "index", "engine": "scan", "library": "0.1.0", "options": {"limit": 256, "names": ["a", "ü"]}}


def sample_parts() -> dict[str, SavedPart]:
    first = {
        "offsets": np.arange(7, dtype=np.int64),
        "labels": np.array([3, -1, 2**31 - 1], dtype=np.int32),
        "nothing": np.empty(0, dtype=np.float64),
    }
    return {
        "0": SavedPart({"rules": 6, "names": []}, first),
        "1": SavedPart({"rules": 1}, {"flags": np.array([True, False])}),
    }


def save_sample(path: Path) -> int:
    return save(path, sample_parts(), HEADER)


def content(snapshot: Snapshot) -> dict[str, object]:
    """Everything a snapshot says, in plain values that compare."""
    arrays = {
        f"{name}/{key}": (array.dtype.str, array.shape, array.tolist())
        for name, part in snapshot.parts.items()
        for key, array in part.arrays.items()
    }
    headers = {name: dict(part.header) for name, part in snapshot.parts.items()}
    return {"header": snapshot.header, "headers": headers, "arrays": arrays}


def files_below(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())
