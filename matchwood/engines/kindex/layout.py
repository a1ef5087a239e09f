"""How a run of the K-index lies in arrays, and what the numbers in them mean.

A run is built at once and never changes. Its units, all conjunctions or all conjunctions of clauses, are numbered anew,
by size first: the *size* K of a unit is the number of its clauses that NULL fails (of a conjunction, the number of its
IN predicates). All units of one size make up a *K-index*. A posting list belongs to a key and a K-index, and its
entries are numbers of units, doubled, with a bit below that is set for IN: a NOT IN entry comes before an IN entry
of the same unit. A key is a dyadic block of an attribute's labels.

A constraint that NULL fails is posted as IN under the blocks of its intervals, so STRONG not-in is an IN on the
complement. One that NULL passes is WEAK not-in: posted as NOT IN under the blocks of all labels that it does not
accept, and only an event that has the attribute can violate it.

Within a K-index of conjunctions, units are grouped by their rarest attribute: the one, of those that NULL fails, which
the fewest units of the run have. An event without it matches no unit of the group, so the search skips from group to
group of the event's own attributes, which is what makes long lists cheap to read.

Units of size 0 have the smallest numbers: the Z list, which holds all of them, is told by their count, not stored.

VLDB 2009, sections 3 and 4: K-indexes, posting lists, the Z list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matchwood.engines.shared.bounds import UnitBounds
    from matchwood.engines.shared.store import Conjunctions

BLOCK_BITS = 7
"""Entries of a compressed list come in blocks of 2**BLOCK_BITS."""

BLOCK = 1 << BLOCK_BITS
NO_CLAUSE = -1
"""The clause of a Z entry."""

EMPTY = -1
END = 1 << 31
"""Above every entry: where a list stands that has ended."""


class RunArrays(NamedTuple):
    """The arrays that kernels read, all of one run.

    `units`         the unit that each number stands for
    `sizes`         of every K-index its K, increasing
    `size_offsets`  K-index j holds the numbers size_offsets[j] : size_offsets[j + 1]
    `group_offsets`, `group_attributes`, `group_starts`
                    K-index j has the groups group_offsets[j] : group_offsets[j + 1], by attribute; group g begins with
                    the number group_starts[g] and ends where the next begins. There are no groups in a run of clauses,
                    nor for K = 0
    `table`         open addressing over the hash of a key; the number of the key, or EMPTY
    `keys`          the keys: attribute, then block, as `key_of` makes them
    `key_offsets`   key k has the lists key_offsets[k] : key_offsets[k + 1], by K-index
    `list_sizes`    the K-index of each list, doubled, plus 1 if it has a NOT IN entry
    `list_offsets`  list l has the entries list_offsets[l] : list_offsets[l + 1]
    `entries`       number of a unit, doubled, plus 1 for IN; empty in a compressed run
    `clauses`       of each entry the clause of its unit; empty in a run of conjunctions
    `levels`        for each attribute, a bit for every level that has a list

    and in place of `entries`, in a compressed run:

    `block_offsets`  list l has the blocks block_offsets[l] : block_offsets[l + 1]
    `bases`          of each block the first entry
    `places`         of each block where its bytes begin, and below, in two bits, their width: 0, 1 or 2 for 1, 2 or 4
    `data`           what each entry is above the base of its block, least byte first
    """

    units: NDArray[np.int32]
    sizes: NDArray[np.int32]
    size_offsets: NDArray[np.int32]
    group_offsets: NDArray[np.int32]
    group_attributes: NDArray[np.int32]
    group_starts: NDArray[np.int32]
    table: NDArray[np.int32]
    keys: NDArray[np.uint64]
    key_offsets: NDArray[np.int32]
    list_sizes: NDArray[np.int32]
    list_offsets: NDArray[np.int64]
    entries: NDArray[np.int32]
    clauses: NDArray[np.int32]
    levels: NDArray[np.uint32]
    block_offsets: NDArray[np.int64]
    bases: NDArray[np.int32]
    places: NDArray[np.int64]
    data: NDArray[np.uint8]


HEADER = 3
"""Integers of an entry of a cluster before its tests."""

TEST_BITS = 2
FIRST, NEGATED = 1, 2
"""Below the predicate of a test: whether a clause begins with it, and whether it must not hold."""


class AccessArrays(NamedTuple):
    """Units by one clause that they need, their *access clause*, each with all that else must hold.

    `predicates`       the distinct ones of the run, as words (`_word_kernels`) without LAST and ALTERNATIVE; their sets
                       are those of the store
    `table`, `keys`, `key_offsets`, `levels`
                       as in `RunArrays`: from an event's key to posted[key_offsets[k] : key_offsets[k + 1]]
    `posted`           the predicates of access clauses that hold for all labels of the key
    `cluster_offsets`  predicate p leads to the entries stream[cluster_offsets[p] : cluster_offsets[p + 1]]; behind the
                       last predicate stand the units without an access clause
    `stream`           an entry is the unit, how many integers it has, what it promises at most as the bits of a float32
                       (see `promises`), then tests; in each cluster, promises fall
    `promises`         the same memory as `stream`, read as floats
    """

    predicates: NDArray[np.uint32]
    table: NDArray[np.int32]
    keys: NDArray[np.uint64]
    key_offsets: NDArray[np.int64]
    levels: NDArray[np.uint32]
    posted: NDArray[np.int32]
    cluster_offsets: NDArray[np.int64]
    stream: NDArray[np.int32]
    promises: NDArray[np.float32]


class ListEntries(NamedTuple):
    """The entries of a run's lists, stored or compressed, as `RunArrays` describes them: what reading a list takes."""

    entries: NDArray[np.int32]
    block_offsets: NDArray[np.int64]
    bases: NDArray[np.int32]
    places: NDArray[np.int64]
    data: NDArray[np.uint8]


class Slots(NamedTuple):
    """Where the lists of a K-index stand, by slot, as `Cursors` describes it; `now` is its `entries`.

    Small tuples: what is handed to a function goes there by value, and skipping in a list is called for each entry.
    """

    which: NDArray[np.int32]
    starts: NDArray[np.int64]
    positions: NDArray[np.int64]
    stops: NDArray[np.int64]
    now: NDArray[np.int64]


class NumberedUnits(NamedTuple):
    """From the numbers of a run to units.

    `names`         the unit of each number
    `clauses`       of each entry the clause of its unit; empty in a run of conjunctions
    `conjunctions`  the units, as the store has them
    `alive`         LIVE for those that are
    """

    names: NDArray[np.int32]
    clauses: NDArray[np.int32]
    conjunctions: Conjunctions
    alive: NDArray[np.uint8]


class DirectScratch(NamedTuple):
    """What reading clusters writes to.

    `truth`    by predicate: what is known of it for this event; UNKNOWN between two events
    `touched`  the predicates of which something is known
    `found`    those that lead to clusters
    """

    truth: NDArray[np.uint8]
    touched: NDArray[np.int32]
    found: NDArray[np.int32]


class RunBounds(NamedTuple):
    """What a run promises at most.

    `lists`      by list: UB(A, v), the most that the value adds in any unit of the list, for an event weight of 1
    `constants`  by K-index: the greatest constant weight
    `extras`     by K-index: what else its units may add, by constraints that NULL passes and by what they do not test
    """

    lists: NDArray[np.float64]
    constants: NDArray[np.float64]
    extras: NDArray[np.float64]


class BoundedUnits(NamedTuple):
    """Units, what their rules can score at most, and LIVE for those that are alive."""

    conjunctions: Conjunctions
    bounds: UnitBounds
    alive: NDArray[np.uint8]


class TopScratch(NamedTuple):
    """What ranking writes to, for one thread.

    `labels`    by attribute: the event's label, NULL_LABEL between two events
    `promises`  by slot, or by cluster found: what it can add to a score
    `chosen`    the K greatest of them
    `seen`      by row: the stamp of the event for which the rule was last met (docs/protocols.md)
    `rows`      rules that wait to be scored together
    """

    labels: NDArray[np.int32]
    promises: NDArray[np.float64]
    chosen: NDArray[np.float64]
    seen: NDArray[np.int64]
    rows: NDArray[np.int32]


class TopHeaps(NamedTuple):
    """The best rules of some events so far, a heap each.

    `n`       that of event e lies at e * n : e * n + filled[e]
    `stamp`   of the first event; the others have those that follow
    `again`   whether rules may have been met in another run, whose marks are gone
    `best`, `scores`, `filled`  rows, their scores, and how many each event has
    `work`    numbers, as `_top_kernels` names them
    """

    n: int
    stamp: int
    again: bool
    best: NDArray[np.int32]
    scores: NDArray[np.float64]
    filled: NDArray[np.int64]
    work: NDArray[np.int64]


class Cursors(NamedTuple):
    """Scratch memory of a match call: the lists of an event, and where each of them stands.

    `heads`, `tallies`  for each K-index the first of its lists and their number; EMPTY and 0 between the events
    `nexts`, `lists`    the lists found, chained by K-index
    `pairs`             for each list found, the event's pair that has its key
    `order`             of the lists that are searched, each list's entry above its slot, increasing
    `starts`, `positions`, `stops`, `which`, `entries`  by slot: where a list of the K-index begins, stands and ends,
                        its number, and the entry where it stands, END behind the last; slots in the order of the pairs
    `pair_of`           by slot: the pair that has the key
    `counters`          one for each clause of a unit
    """

    heads: NDArray[np.int32]
    tallies: NDArray[np.int32]
    nexts: NDArray[np.int32]
    lists: NDArray[np.int32]
    pairs: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    positions: NDArray[np.int64]
    stops: NDArray[np.int64]
    which: NDArray[np.int32]
    entries: NDArray[np.int64]
    pair_of: NDArray[np.int64]
    counters: NDArray[np.int32]
