"""What a row says of bytes: one definition for all engines.

`bytes` is everything that an engine needs to match and to change, apart from the rules' texts. It is the sum of two:

    bytes_index    the engine's own structures, what is laid out anew when an index is opened included, and, of the
                   store of units under it, the hash table that finds equal ones, and how many rules use each
    bytes_verify   the units themselves, as verification reads them

An engine that copies units into its lists has both: without the store no rule could be added or removed. What is the
same whatever the engine is not in it, and is told apart: the boundaries of predicate spaces (`bytes_spaces`), the ids
of rules, and scratch memory. Spare room at the end of arrays that grow is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bytes_of(structure: Any) -> dict[str, int]:
    """Everything that an engine needs to match and to change, apart from the rules' texts, and its two parts.

    An A-Tree holds its units itself; other engines have a store of them.
    """
    units = structure if hasattr(structure, "bytes_verify") else structure.store
    return _parts(structure.stats()["bytes_index"], units.bytes_shared, units.bytes_verify)


def bytes_of_index(stats: Mapping[str, Any]) -> dict[str, int]:
    """The same of an index, from its `stats()`: the engine at work, and the fall-back beside it."""
    return _parts(stats["bytes_index"], stats.get("bytes_shared", 0), stats["bytes_verify"])


def _parts(own: int, shared: int, verify: int) -> dict[str, int]:
    return {"bytes_index": own + shared, "bytes_verify": verify, "bytes": own + shared + verify}
