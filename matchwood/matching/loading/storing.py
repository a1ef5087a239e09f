"""Rules that were prepared without the lock enter the index within it: in slices, if other threads match meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import Use
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.live_rules import OldUses, counted_uses
from matchwood.matching.loading.preparation import PreparedRule

if TYPE_CHECKING:
    from matchwood.index import Index

SLICE_RULES = 32
"""Rules that are stored at one stroke while other threads match. Of BEGen, of which a million are there, 64 took up to
64 ms (`bench locks`)."""

SEEN_TOGETHER = 64
"""Up to so many that come together are seen together, all the same."""


class Replacement(NamedTuple):
    """A rule in the place of another, and what that one asks of its attributes."""

    rule: PreparedRule
    old: list[Use]


class Replacing(NamedTuple):
    """Rules in the place of those of some rows, and what these ask of their attributes."""

    rows: NDArray[np.int32]
    batch: Batch
    old: OldUses


def is_shared(index: Index) -> bool:
    """Whether another thread than this one has used the index."""
    return index._shared or index._only_user not in (None, threading.get_ident())


def store_at_once(index: Index, replacing: Iterable[Replacing], batches: Iterable[Batch]) -> Iterator[Batch]:
    """Replace and insert at one stroke: whoever matches sees all of it, or nothing."""
    replaced, made = list(replacing), list(batches)
    _make_room(index)
    with index._storing():
        for each in replaced:
            index._matcher.replace(*each)
        for batch in made:
            index._matcher.insert(batch)
    return iter(made)


def store_in_slices(index: Index, replacing: Iterable[Replacing], batches: Iterable[Batch]) -> Iterator[Batch]:
    """Replace and insert one after the other, each made when its turn comes and before the lock is taken.

    Rules replace others in their order. Each was checked against the rules before it as they are and those behind it as
    they were, so that types agree whenever a slice ends.
    """
    for each in replacing:
        _make_room(index)
        with index._storing():
            index._matcher.replace(*each)
    yield from _insert_batches(index, batches)


def _make_room(index: Index) -> None:
    """Let nobody wait while arrays are copied and tables are made anew. The caller is the only writer."""
    if is_shared(index):
        index._matcher.make_room()


def _insert_batches(index: Index, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Insert batches one after the other, each made when its turn comes and before the lock is taken."""
    for batch in batches:
        _make_room(index)
        with index._storing():
            index._matcher.insert(batch)
        yield batch


def replacing_of(index: Index, replacing: Mapping[Any, Replacement], size: int) -> Iterator[Replacing]:
    """Rules that were prepared one by one, by id, in the place of those that have their ids; so many at a time."""
    ids, every = list(replacing), list(replacing.values())
    rows = index._table.rows_of(ids)
    for part in _parts(len(ids), size):
        batch = Batch.of(ids[part], [each.rule for each in every[part]])
        yield Replacing(rows[part], batch, counted_uses(each.old for each in every[part]))


def batches_of(prepared: Mapping[Any, PreparedRule], size: int) -> Iterator[Batch]:
    """Rules that were prepared one by one, by id, so many at a time."""
    ids, rules = list(prepared), list(prepared.values())
    for part in _parts(len(ids), size):
        yield Batch.of(ids[part], rules[part])


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size)) if count else iter(())
