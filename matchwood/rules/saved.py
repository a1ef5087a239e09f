"""Names, types and sizes of saved arrays: what is looked at before a restored table takes them over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from matchwood.errors import CorruptSnapshot


def prefixed(name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of one part, under names that begin with the part's."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def part(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    """The arrays of one part, under their own names."""
    start = f"{name}."
    return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}


def refuse_misfits(arrays: Mapping[str, NDArray[Any]], known: Mapping[str, NDArray[Any]]) -> None:
    """Raise CorruptSnapshot for an array that is unknown, not a plain row of numbers, or of another type."""
    for name, array in arrays.items():
        if name not in known:
            raise CorruptSnapshot(f"the table of rules has no array {name!r}")
        if array.ndim != 1 or array.dtype != known[name].dtype or not array.flags.c_contiguous:
            wanted = f"a row of {known[name].dtype}"
            raise CorruptSnapshot(f"array {name!r} must be {wanted} (got {array.dtype}, {array.ndim} dimensions)")


def whole_numbers(header: Mapping[str, Any]) -> None:
    """Raise CorruptSnapshot for a count in the header that is none."""
    for section, values in header.items():
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if name == "kind" or (section == "weights" and value is None):
                continue
            if type(value) is not int or not 0 <= value < 2**63:
                raise CorruptSnapshot(f"the header of the table of rules says {section}.{name} = {value!r}")
