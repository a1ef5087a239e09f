"""Predicate spaces: what cuts one attribute's domain into disjoint pieces, and finds a value's piece.

Every constant that live rules compare an attribute with is a *boundary*: the start of a space. A boundary
stands before an element of the domain, has a label (ordered like the elements, with gaps), and lives
as long as predicates refer to it. The space below the first boundary has BOTTOM_LABEL.

How elements are written: bool, int, date (days since 1970) and timestamp (UTC microseconds) as Python int; number
and double as int, float or Decimal; string as str. `nan` is the element above infinity. Boundaries, as cuts are: by the
element they stand before; on the line of numbers by a place (`decimals.py`), or by a place and the side of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding.spaces.decimals import Decimals
from matchwood.encoding.spaces.event_counters import CountedAside
from matchwood.encoding.spaces.lookups import Lookup
from matchwood.errors import InvalidArgument

MEMO_SIZE, MEMO_LENGTH = 16_384, 256
"""How many values' labels are remembered, and up to what length of a text."""


class Strings(NamedTuple):
    """A column of strings, none NULL: string i is the UTF-8 bytes data[offsets[i] : offsets[i + 1]]."""

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]


class Relabelling(NamedTuple):
    """Labels that changed, both increasing; BOTTOM_LABEL and TOP_LABEL never do."""

    old: NDArray[np.int32]
    new: NDArray[np.int32]


class Spaces(Protocol):
    """The boundaries of one attribute. Calls that change it never overlap others; `locate` may run in many threads."""

    kind: str
    """The kind of its attribute."""
    relabellings: list[Relabelling]
    """What changed since the owner last took this list and emptied it, oldest first."""
    memos: dict[Any, Any]
    """What others remember of labels, by names of their own; each is told to `clear` whenever a label comes to mean
    something else."""

    def __len__(self) -> int:
        """The number of live boundaries; there is one more space than that."""

    def add_many(self, elements: Sequence[Any], counts: NDArray[np.int64] | None = None) -> NDArray[np.int32]:
        """The labels of boundaries, given as above, each counted once more, or as many times as `counts` says;
        makes those that are new."""

    def add_keys(self, keys: Any, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """The same for distinct boundaries in a column of keys (`key_columns.py`), so many times more each."""

    def release_many(self, labels: NDArray[np.int32], times: NDArray[np.int32] | None = None) -> None:
        """Count one reference less for each label but bottom and top; a boundary without any disappears.

        If `times` are given, so many less for each of distinct labels that increase, all of boundaries.
        """

    def locate(self, element: Any) -> int:
        """The label of the space that holds one element."""

    def find(self, element: Any) -> int:
        """The same, for who remembers it by itself."""

    def locate_many(self, elements: NDArray[np.int64] | NDArray[np.float64] | Strings | Decimals) -> NDArray[np.int32]:
        """The same for a column without NULLs: int64; int64, float64 or Decimals for number and double; Strings for
        string."""

    def lookup(self) -> Lookup | None:
        """Where the boundaries lie in memory, for kernels that look up many attributes at once; None if they cannot."""

    def place(self, boundary: Any) -> tuple[int, bool]:
        """The label of the space behind a boundary, and whether it begins there. Remembers nothing."""

    def values_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        """How many elements of the domain have a label in each interval [low, high) of boundaries or ends of the
        domain; infinite where there are several and nobody counts them."""

    def observe(self, labels: NDArray[np.int32], times: NDArray[np.int64] | None = None) -> None:
        """Count one event more for the space of each label; calls overlap neither each other nor changes."""

    def observed_between(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        """How many observed events had a label in each interval [low, high)."""

    def fade(self, factor: float) -> None:
        """Make what was observed so far count less."""

    def counted_aside(self) -> CountedAside:
        """The counted events as they are, to count on without changing these."""

    def arrays(self, counted: CountedAside | None = None) -> dict[str, NDArray[Any]]:
        """The whole state: `labels` and `counts` of the boundaries, and their keys.

        Beside them `observed`, the events counted for each space, or those `counted` aside; empty if there were none.
        """

    def stats(self) -> dict[str, int]:
        """`boundaries`, `bytes`, and how often spaces were `split`, `merged`, `relabelled`, `moved`."""

    def audit(self) -> list[str]:
        """Broken invariants, in words."""


class SpacesClass(Protocol):
    """What makes spaces for a kind of attribute, empty or from saved arrays (which may be read-only)."""

    def __call__(self, kind: str, arrays: Mapping[str, NDArray[Any]] | None = None) -> Spaces: ...

    def check_saved(self, columns: Mapping[str, NDArray[Any]], starts: Mapping[str, NDArray[np.int64]]) -> None:
        """ValueError if saved arrays do not fit each other.

        Many attributes lie end to end in them; the i-th has columns[name][starts[name][i] : starts[name][i + 1]].
        """


def spaces_class(name: str) -> SpacesClass:
    """The implementation that `options={"spaces": name}` asks for."""
    from matchwood.encoding.spaces.pstree.tree import PSTree
    from matchwood.encoding.spaces.sorted import SortedSpaces

    known: dict[str, SpacesClass] = {"sorted": SortedSpaces, "pstree": PSTree}
    if name not in known:
        raise InvalidArgument(f"spaces must be one of {', '.join(map(repr, known))} (got {name!r:.80})")
    return known[name]
