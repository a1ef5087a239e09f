"""The encoder as arrays and a small header, and what can be told and checked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.attribute_table import DERIVED, AttributeTable, decoded, encoded
from matchwood.encoding.events.counted_statistics import CountedStatistics
from matchwood.encoding.events.settings import saved_settings
from matchwood.encoding.schema.declared import Declared
from matchwood.encoding.schema.inferred import Schema
from matchwood.encoding.schema.types import KINDS
from matchwood.encoding.spaces.base import Strings

if TYPE_CHECKING:
    from matchwood.encoding.encoder import Encoder

FORMAT = 2
READABLE = (1, FORMAT)
"""Format 1 had no decimals: boundaries on the line of numbers have a `residual` for a `rest`."""

_ARRAY_TYPES: dict[str, type] = {
    **dict.fromkeys(("offsets", "ends", "primary", "references", "needs_true", "needs_false", "uses.counts"), np.int64),
    **dict.fromkeys(("attributes", "attributes.sources", "labels", "counts"), np.int32),
    **dict.fromkeys(("data", "kinds"), np.uint8),
    **dict.fromkeys(("residual", "rest"), np.int16),
    "fine_ends": np.int64,
    "fine": np.uint8,
    "observed": np.float32,
    **dict.fromkeys(("history.events", "history.since"), np.float64),
    "history.beside": np.int32,
}
"""The type of each array by its whole name or its last part."""


def header(encoder: Encoder) -> dict[str, Any]:
    """Settings and declarations."""
    declared = encoder.schema.declared
    return {
        "format": FORMAT,
        "timezone": encoder.timezone,
        "spaces": encoder.vocabulary.spaces.name,
        "strict_schema": encoder.schema.strict,
        "types": declared.types,
        "maps": declared.maps,
        "structs": sorted(declared.structs),
        **encoder.event_settings.header(),
    }


def arrays(encoder: Encoder) -> dict[str, NDArray[Any]]:
    """Attributes, their spaces, the sources of derived ones, and the uses that the schema counts."""
    vocabulary = encoder.vocabulary
    # Events that still wait are counted as well, but aside: saving changes nothing.
    statistics = CountedStatistics(vocabulary)
    named = {
        "attributes": vocabulary.table.arrays(),
        "history": statistics.arrays(),
        "spaces": vocabulary.spaces.arrays(statistics.aside),
        "sources": _names([(source.name, source.kind) for source in vocabulary.derived]),
        "uses": {
            **_names(list(encoder.schema.counts())),
            "counts": np.array(list(encoder.schema.counts().values()), np.int64),
        },
    }
    return {f"{part}.{name}": array for part, held in named.items() for name, array in held.items()}


def _names(pairs: list[tuple[str, str]]) -> dict[str, NDArray[Any]]:
    """Names and kinds."""
    strings = encoded([name for name, _ in pairs])
    return {**strings._asdict(), "kinds": np.array([KINDS.index(kind) for _, kind in pairs], np.uint8)}


def _pairs(held: Mapping[str, NDArray[Any]]) -> list[tuple[str, str]]:
    names = decoded(Strings(held["offsets"], held["data"]))
    return list(zip(names, (KINDS[kind] for kind in held["kinds"].tolist()), strict=True))


def restored(
    cls: type[Encoder], saved: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], schema: Schema | None
) -> Encoder:
    """An encoder from its saved state; it shares a schema that is given."""
    if settings["format"] not in READABLE:
        raise ValueError(f"the encoding's format is {settings['format']!r}, this version reads up to {FORMAT}")
    _check_arrays(saved)
    own = schema or _schema(saved, settings)
    encoder = cls(own, settings["timezone"], settings["spaces"], saved_settings(settings))
    table, sources = AttributeTable(_part(saved, "attributes")), _pairs(_part(saved, "sources"))
    encoder.vocabulary.restore(table, _part(saved, "spaces"), sources)
    encoder.event_statistics.restore(_part(saved, "history"))
    return encoder


def _schema(saved: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Schema:
    schema = Schema(strict=settings["strict_schema"])
    schema.declared = Declared(_types(settings["types"]), _types(settings["maps"]), frozenset(settings["structs"]))
    uses = _part(saved, "uses")
    schema.restore(dict(zip(_pairs(uses), uses["counts"].tolist(), strict=True)))
    return schema


def _check_arrays(saved: Mapping[str, NDArray[Any]]) -> None:
    """ValueError for an array that is not a row of numbers of the type that its name stands for."""
    for name, array in saved.items():
        wanted = _ARRAY_TYPES.get(name) or _ARRAY_TYPES.get(name.rpartition(".")[2])
        if wanted is None or array.ndim != 1 or array.dtype != wanted:
            raise ValueError(f"the encoding's array {name!r} holds {array.ndim} dimensions of {array.dtype}")


def _types(declared: Mapping[str, str]) -> dict[str, str]:
    """Saved declarations; ValueError for a type that cannot be declared."""
    wrong = [kind for kind in declared.values() if kind not in KINDS]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not a type")
    return dict(declared)


def _part(saved: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    prefix = f"{part}."
    return {name[len(prefix) :]: array for name, array in saved.items() if name.startswith(prefix)}


def stats(encoder: Encoder) -> dict[str, Any]:
    """Counts of what lives, bytes, and how often boundaries came, went and moved."""
    vocabulary = encoder.vocabulary
    totals = {"boundaries": 0, "bytes": 0, "split": 0, "merged": 0, "relabelled": 0, "moved": 0}
    for _, spaces in vocabulary.spaces:
        for name, value in spaces.stats().items():
            totals[name] += value
    live = vocabulary.table.references.view() > 0
    derived = vocabulary.table.kinds.view() == DERIVED
    return {
        "attributes": int(np.count_nonzero(live & ~derived)),
        "derived_attributes": int(np.count_nonzero(live & derived)),
        "numbers": len(vocabulary.table),
        "spaces": vocabulary.spaces.name,
        **totals,
        "bytes": totals["bytes"] + vocabulary.table.nbytes,
    }


def audit(encoder: Encoder) -> list[str]:
    """Broken invariants of the spaces and the counts."""
    table = encoder.vocabulary.table
    problems = [
        f"attribute {table.key(number)!r}: {problem}"
        for number, spaces in encoder.vocabulary.spaces
        for problem in spaces.audit()
    ]
    for name in ("references", "needs_true", "needs_false"):
        if (getattr(table, name).view() < 0).any():
            problems.append(f"a count of {name} is negative")
    for number, spaces in encoder.vocabulary.spaces:
        if len(spaces) and not table.references.view()[number]:
            problems.append(f"attribute {table.key(number)!r}: has boundaries, but no constraint refers to it")
    return problems
