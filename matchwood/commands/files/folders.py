"""Files of rules: the one that was named, or all in a folder."""

from __future__ import annotations

from pathlib import Path

from matchwood.commands.files.formats import has_format
from matchwood.commands.files.reading import row_count
from matchwood.errors import InvalidArgument
from matchwood.storage import CURRENT

REJECTS = ".rejects.csv"
"""How files of rejected rules end, which are no rules."""


def files_of(path: Path, what: str = "rules") -> list[Path]:
    """A file as it is; of a folder all files below it whose ending tells a format, by name, but for hidden ones."""
    if not path.is_dir():
        return [path]
    if is_saved_index(path):
        raise InvalidArgument(f"{path}: this is a saved index; name the file or folder of {what}")
    below = sorted(each for each in path.rglob("*") if each.is_file() and has_format(each))
    found = [each for each in below if not _is_passed_over(each.relative_to(path))]
    if not found:
        raise InvalidArgument(f"{path}: there is no file of {what} in this folder (.csv, .jsonl, .yaml, .parquet …)")
    return found


def is_saved_index(path: Path | str) -> bool:
    """Whether an index was saved in this folder."""
    return (Path(path) / CURRENT).is_file()


def _is_passed_over(path: Path) -> bool:
    return path.name.endswith(REJECTS) or any(part.startswith(".") for part in path.parts)


def total_rows(files: list[Path]) -> int | None:
    """How many rows some files have, if all of them say so."""
    counts = [row_count(file) for file in files]
    return sum(count or 0 for count in counts) if None not in counts else None
