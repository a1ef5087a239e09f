"""The formats of tables on disk, told by the endings of files."""

from __future__ import annotations

from pathlib import Path

from matchwood.errors import InvalidArgument

CSV, JSON_LINES, PARQUET, YAML = "CSV", "JSON lines", "Parquet", "YAML"

_ENDINGS = {
    ".csv": CSV,
    ".tsv": CSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".json": JSON_LINES,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".yaml": YAML,
    ".yml": YAML,
}


COMPRESSED = ".gz"


def format_of(path: Path) -> str:
    """The format of a file.

    >>> format_of(Path("rules.CSV")), format_of(Path("events.jsonl.gz"))
    ('CSV', 'JSON lines')
    """
    known = _ENDINGS.get(plain_path(path).suffix.lower())
    if known is None:
        told = f"the ending does not show the format (it must be one of {', '.join(_ENDINGS)}; text also with .gz)"
        raise InvalidArgument(f"{path}: {told}")
    if known == PARQUET and is_compressed(path):
        raise InvalidArgument(f"{path}: Parquet files are already compressed: leave out .gz")
    return known


def has_format(path: Path) -> bool:
    """Whether the ending of a file tells a format."""
    return plain_path(path).suffix.lower() in _ENDINGS


def format_to_write(path: Path) -> str:
    """The format of a file that is to be written: people write YAML, programs read it."""
    kind = format_of(path)
    if kind == YAML:
        raise InvalidArgument(f"{path}: YAML is read, not written; name a .csv, .jsonl or .parquet file")
    return kind


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() == COMPRESSED


def plain_path(path: Path) -> Path:
    """The path without the ending that tells of compression."""
    return path.with_suffix("") if is_compressed(path) else path


def delimiter_of(path: Path) -> str:
    """What stands between the cells of a CSV file."""
    return "\t" if plain_path(path).suffix.lower() == ".tsv" else ","
