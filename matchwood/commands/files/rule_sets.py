"""Rules from wherever a command may find them: files, a folder of files, or a saved index."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchwood.commands.files.folders import files_of, is_saved_index
from matchwood.commands.files.rules import load_rules
from matchwood.errors import InvalidArgument, counted
from matchwood.index import Index
from matchwood.progress import Progress
from matchwood.sharding import open_index

_VERSIONED = re.compile(r"^(.+)@(\d+)$")


@dataclass(frozen=True)
class RuleSet:
    """Rules as an index, those that were rejected, and the file of each if there are several."""

    source: str
    index: Index
    rejected: list[dict[str, Any]]
    places: dict[Any, Path]

    def place(self, rule_id: Any) -> str:
        """Where a rule stands."""
        return str(self.places.get(rule_id, self.source))

    def reason(self, row: dict[str, Any]) -> str:
        """Why a rule was rejected, with the lines that point into its text."""
        return str(row["error"].removeprefix(f"rule {row['id']!r}: "))

    def __str__(self) -> str:
        files = len(set(self.places.values()))
        return counted(len(self.index), "rule") + (f" in {counted(files, 'file')}" if files else "")


def read_rule_set(arguments: argparse.Namespace, source: str, engine: str = "auto") -> RuleSet:
    """The rules at a path: those of a saved index as it is, at `PATH@N` in its version N."""
    saved = _saved(source)
    if saved is not None:
        with Progress(f"opening {source}"):
            return RuleSet(source, open_index(saved[0], read_only=True, version=saved[1]), [], {})
    path = Path(source)
    if not path.exists():
        raise InvalidArgument(f"{source}: there is no such file or folder")
    places: dict[Any, Path] = {}
    index, report = load_rules(arguments, engine, "error", source=path, places=places)
    return RuleSet(source, index, report.rejected.to_pylist(), places)


def _saved(source: str) -> tuple[str, int | None] | None:
    """The path and the version of a saved index, if that is what a path names."""
    versioned = _VERSIONED.match(source)
    if is_saved_index(source) or "://" in source:
        return source, None
    if versioned and is_saved_index(versioned[1]):
        return versioned[1], int(versioned[2])
    return None


def rule_files(source: str) -> list[Path]:
    """The files that rules came from; none if it is a saved index."""
    return [] if _saved(source) is not None else files_of(Path(source))
