"""Cases from files: YAML, JSON and JSON lines as objects, CSV and Parquet with a column an attribute."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from matchwood.commands.cases.case import EXPECTATIONS, KEYS, Case, WrongCase, broken_case, case_of
from matchwood.commands.files.csv_values import typed
from matchwood.commands.files.events import column_kinds
from matchwood.commands.files.folders import files_of
from matchwood.commands.files.formats import CSV, format_of
from matchwood.commands.files.reading import read_batches
from matchwood.errors import EventError, InvalidArgument
from matchwood.index import Index


def read_cases(path: Path, index: Index) -> list[Case]:
    """All cases of a file or folder; cells of CSV are what the rules of the index ask for."""
    if not path.exists():
        raise InvalidArgument(f"{path}: there is no such file or folder")
    kinds = column_kinds(index)
    cases = [case for file in files_of(path, "cases") for case in _cases(file, kinds)]
    if not cases:
        raise InvalidArgument(f"{path}: there is no case; write one as {{event: {{age: 20}}, match: [ids]}}")
    return cases


def _cases(file: Path, kinds: Mapping[str, str]) -> Iterator[Case]:
    number = 0
    for batch in read_batches(file):
        for position in range(len(batch)):
            number += 1
            if isinstance(batch, list):
                yield case_of(file, number, batch[position])
            else:
                yield _case_of_columns(file, number, batch.slice(position, 1), kinds)


def _case_of_columns(file: Path, number: int, row: pa.RecordBatch, kinds: Mapping[str, str]) -> Case:
    """Only what stands in cells of CSV is text that has to be read."""
    if format_of(file) != CSV:
        return case_of(file, number, row.to_pylist()[0])
    asked = {name: kind for name, kind in kinds.items() if name not in KEYS}
    try:
        (cells,) = _rows(typed(row, asked, None))
        return case_of(file, number, cells | {key: _listed(cells[key]) for key in EXPECTATIONS if key in cells})
    except EventError as error:
        return broken_case(file, number, None, f"{error.what!r} must be {error.expected} (got {error.got})")
    except WrongCase as error:
        return broken_case(file, number, None, str(error))


def _rows(batch: Any) -> list[dict[str, Any]]:
    return batch if isinstance(batch, list) else list(batch.to_pylist())


def _listed(cell: str | None) -> list[Any] | None:
    """Ids in a cell: a JSON array, or texts with semicolons between.

    >>> _listed("adults; minors"), _listed('["a;b", 7]'), _listed(""), _listed(None)
    (['adults', 'minors'], ['a;b', 7], [], None)
    """
    if cell is None or not cell.strip():
        return None if cell is None else []
    if not cell.lstrip().startswith("["):
        return [piece.strip() for piece in cell.split(";") if piece.strip()]
    try:
        return list(json.loads(cell))
    except ValueError as error:
        raise WrongCase(f'a list of rules is not JSON ({error}); write ["a", "b"] or a; b') from None
