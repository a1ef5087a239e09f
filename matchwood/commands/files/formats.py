"""The formats of tables on disk, told by the endings of files."""

from __future__ import annotations

from pathlib import Path

from matchwood.errors import InvalidArgument

CSV, JSON_LINES, PARQUET = "CSV", "JSON lines", "Parquet"

_ENDINGS = {
    ".csv": CSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".json": JSON_LINES,
    ".parquet": PARQUET,
    ".pq": PARQUET,
}


def format_of(path: Path) -> str:
    """The format of a file.

    >>> format_of(Path("rules.CSV"))
    'CSV'
    """
    try:
        return _ENDINGS[path.suffix.lower()]
    except KeyError:
        known = ", ".join(_ENDINGS)
        raise InvalidArgument(f"{path}: the ending does not tell the format (it must be one of {known})") from None
