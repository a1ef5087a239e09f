"""The register of attributes: a number for each key, its kind, and how many live constraints refer to it.

Numbers are given in order and stay with their key, referred to or not, until compaction. The table is arrays, so that
a saved one is open at once; what needs all keys in Python is made when somebody first asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.core import Growable
from matchwood.encoding.schema.types import KINDS
from matchwood.encoding.spaces.base import Strings
from matchwood.encoding.spaces.keys import strings_of
from matchwood.errors import CorruptSnapshot

DERIVED = len(KINDS)
"""The kind, in arrays, of a derived attribute."""


class AttributeTable:
    """Keys and counts by attribute number.

    `kinds`        position in KINDS, or DERIVED
    `sources`      for a derived attribute, the number that its owner gave its source; else -1
    `references`   live constraints on the attribute
    `needs_true`   of a derived one: live constraints that tell TRUE from NULL
    `needs_false`  likewise FALSE
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        saved = arrays or {}
        self._saved = Strings(saved["offsets"], saved["data"]) if saved else strings_of([])
        self._added: list[str] = []
        self._numbers: dict[str, int] | None = None
        self.kinds = Growable(np.uint8, saved.get("kinds"))
        self.sources = Growable(np.int32, saved.get("sources"))
        self.references = Growable(np.int64, saved.get("references"))
        self.needs_true = Growable(np.int64, saved.get("needs_true"))
        self.needs_false = Growable(np.int64, saved.get("needs_false"))
        self._check()

    def _check(self) -> None:
        check_strings(self._saved)
        if {len(column) for column in self._columns().values()} != {len(self._saved.offsets) - 1}:
            raise ValueError("the table of attributes is not complete")
        if len(self.kinds) and self.kinds.view().max() > DERIVED:
            raise ValueError("an attribute is of no known kind")

    def _columns(self) -> dict[str, Growable]:
        names = ("kinds", "sources", "references", "needs_true", "needs_false")
        return {name: getattr(self, name) for name in names}

    def __len__(self) -> int:
        return len(self.kinds)

    def number(self, key: str) -> int:
        """The number of a key, the latest if it had several; -1 if it has none."""
        if self._numbers is None:
            self._numbers = {known: number for number, known in enumerate(self.keys())}
        return self._numbers.get(key, -1)

    def numbers(self, key: str) -> list[int]:
        """All numbers of a key, the latest last: it has several while constraints on an older one live on."""
        latest = self.number(key)
        if latest < 0 or len(self._numbers or ()) == len(self):
            return [latest] if latest >= 0 else []
        return [number for number, known in enumerate(self.keys()) if known == key]

    def add(self, key: str, kind: int, source: int = -1) -> int:
        """Give a key a number of its own."""
        return self.add_many([key], [kind], [source]).start

    def add_many(self, keys: Sequence[str], kinds: Sequence[int], sources: Sequence[int]) -> range:
        """Give each key a number of its own."""
        if self._numbers is None:
            self.number("")
        numbers = range(len(self.kinds), len(self.kinds) + len(keys))
        self._added.extend(keys)
        self.kinds.extend(kinds)
        self.sources.extend(sources)
        for counts in (self.references, self.needs_true, self.needs_false):
            counts.resize(numbers.stop)
        assert self._numbers is not None
        self._numbers.update(zip(keys, numbers, strict=True))
        return numbers

    def key(self, number: int) -> str:
        """The key of a number."""
        offsets, data = self._saved
        if number >= len(offsets) - 1:
            return self._added[number - (len(offsets) - 1)]
        try:
            return data[offsets[number] : offsets[number + 1]].tobytes().decode()
        except UnicodeDecodeError as error:
            raise CorruptSnapshot(f"the name of attribute {number} is damaged ({error})") from error

    def keys(self) -> list[str]:
        """All keys, by number."""
        return [*decoded(self._saved), *self._added]

    def kind(self, number: int) -> str:
        """The kind of an attribute that is not derived."""
        return KINDS[self.kinds.view()[number]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        strings = encoded(self.keys()) if self._added else self._saved
        return {**strings._asdict(), **{name: column.view() for name, column in self._columns().items()}}

    @property
    def nbytes(self) -> int:
        added = sum(map(len, self._added)) * 2 + 100 * len(self._added)
        return added + self._saved.data.nbytes + sum(column.nbytes for column in self._columns().values())


def encoded(texts: Sequence[str]) -> Strings:
    """Texts as they are saved."""
    return strings_of([text.encode() for text in texts])


def decoded(strings: Strings) -> list[str]:
    """Saved texts; ValueError if they are damaged."""
    check_strings(strings)
    buffers = [None, *(pa.py_buffer(np.ascontiguousarray(array)) for array in strings)]
    texts: list[str] = pa.Array.from_buffers(pa.large_string(), len(strings.offsets) - 1, buffers).to_pylist()
    return texts


def check_strings(strings: Strings) -> None:
    """ValueError if the offsets lead out of the data."""
    offsets, data = strings
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(data) or (np.diff(offsets) < 0).any():
        raise ValueError("the offsets of saved texts do not fit their data")
