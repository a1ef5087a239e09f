"""Rules that were prepared without the lock enter the index within it: in slices, if other threads match meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from matchwood.encoding import Use
from matchwood.matching.loading.batches import Batch
from matchwood.matching.loading.preparation import PreparedRule

if TYPE_CHECKING:
    from matchwood.index import Index

SLICE_RULES = 64
"""Rules that are stored at one stroke while other threads match: of BEGen, of which 300,000 are there, 20 ms. Up to so
many that come together are seen together."""


class Replacement(NamedTuple):
    """A rule in the place of another, and what that one asks of its attributes."""

    rule: PreparedRule
    old: list[Use]


def is_shared(index: Index) -> bool:
    """Whether another thread than this one has used the index."""
    return index._shared or index._only_user not in (None, threading.get_ident())


def store_at_once(index: Index, replacing: Mapping[Any, Replacement], batches: Iterable[Batch]) -> Iterator[Batch]:
    """Replace and insert at one stroke: whoever matches sees all of it, or nothing."""
    rows, all_new, made = index._table.rows_of(list(replacing)), list(replacing.values()), list(batches)
    with index._storing():
        if all_new:
            index._matcher.replace(rows, [each.rule for each in all_new], [each.old for each in all_new])
        for batch in made:
            index._matcher.insert(batch)
    return iter(made)


def store_in_slices(
    index: Index, replacing: Mapping[Any, Replacement], batches: Iterable[Batch], size: int
) -> Iterator[Batch]:
    """Replace and insert, so many at a time."""
    _replace_in_slices(index, replacing, size)
    yield from _insert_batches(index, batches)


def _replace_in_slices(index: Index, replacing: Mapping[Any, Replacement], size: int) -> None:
    """Replace rules in their order, so many at a time.

    Each was checked against the rules before it as they are and those behind it as they were, so that types agree
    whenever a slice ends.
    """
    rows, all_new = index._table.rows_of(list(replacing)), list(replacing.values())
    for part in _parts(len(all_new), size):
        prepared, old = [each.rule for each in all_new[part]], [each.old for each in all_new[part]]
        with index._storing():
            index._matcher.replace(rows[part], prepared, old)


def _insert_batches(index: Index, batches: Iterable[Batch]) -> Iterator[Batch]:
    """Insert batches one after the other, each made when its turn comes and before the lock is taken."""
    for batch in batches:
        with index._storing():
            index._matcher.insert(batch)
        yield batch


def batches_of(prepared: Mapping[Any, PreparedRule], size: int) -> Iterator[Batch]:
    """Rules that were prepared one by one, by id, so many at a time."""
    ids, rules = list(prepared), list(prepared.values())
    for part in _parts(len(ids), size):
        yield Batch.of(ids[part], rules[part])


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size)) if count else iter(())
