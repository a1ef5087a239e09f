"""Rules read, bound and expanded by kernels: from the bytes of many texts to columns of leaves, no object a rule.

The bytes become trees in columns (`language`), each distinct predicate is bound once (`predicate_book.py`), and kernels
make conjunctions of the trees (`logic`): the same, to the bit, as `Preparation` makes of single rules. Whatever they
do not take is left to that: what the kernels cannot read, what cannot be bound or has too many conjunctions, and rules
whose types are not those of all others.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from matchwood.core import IntegerNumbers, pooled, pooled_full
from matchwood.encoding.encoder import Encoder
from matchwood.encoding.rules._column_kernels import (
    ANY_KIND,
    CUT_BITS,
    KIND_BITS,
    drop_contrary,
    gather_cuts,
    number_by_first_use,
)
from matchwood.encoding.rules.asked_uses import KIND_MASK, AskedUses, UsesOfRules
from matchwood.encoding.rules.flat_forms import FlatForms
from matchwood.encoding.rules.flattening import Flat
from matchwood.encoding.rules.predicate_book import CutNumbers, KeyNumbers, PredicateBook
from matchwood.encoding.rules.written_terms import NO_LEAF, WrittenTerms
from matchwood.encoding.schema.inferred import Schema, Use
from matchwood.language import RuleTrees, read_trees
from matchwood.logic import (
    ANY_RULE,
    AS_WRITTEN,
    LARGEST_LIMIT,
    ExpandedRules,
    RuleExpander,
)

MOST_PREDICATES = 1_000_000
"""Predicates that are remembered, some 200 bytes each; then all are forgotten."""

CountedUse = tuple[Use, int, int]
"""A use, how many rules have it, and the position of the first of them."""

LeafColumns: TypeAlias = tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]]
"""Of leaves: their keys, whether NULL is accepted, and where the cuts of each end; and the cuts."""

_CUT_MASK = (1 << CUT_BITS) - 1
_NO_NUMBERS = np.empty(0, np.int32)


class RuleReader:
    """Reads rules for one encoder, and remembers their predicates and leaves.

    >>> texts = [b"age >= 18 and vip", b"age >= 18 or not vip", b"age >= 'x' and", b"level between 2 and 3"]
    >>> starts = np.cumsum([0, *map(len, texts)])
    >>> data = np.frombuffer(b"".join(texts), np.uint8)
    >>> lengths, given = np.diff(starts).astype(np.int32), np.ones(4, np.bool_)
    >>> read = RuleReader(Encoder()).read(data, starts[:-1], lengths, given, limit=256)
    >>> read.positions.tolist(), read.counts.tolist(), read.uses()[0]
    ([0, 1, 3], [1, 2, 1], (('age', 'number'), 2, 0))
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.forget()

    def forget(self) -> None:
        """Remember nothing."""
        self.book, self.expander = PredicateBook(self._encoder), RuleExpander()

    def read(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int32],
        given: NDArray[np.bool_],
        limit: int,
        taking: int = ANY_RULE,
    ) -> CompiledRules:
        """Those of the given texts data[starts[i] : starts[i] + lengths[i]] that are taken.

        `limit`   the most conjunctions that a rule may have
        `taking`  ANY_RULE, or which shapes are taken: OR_OF_ANDS or AS_WRITTEN; or AS_FORMS, all of them as forms
        """
        trees, predicates, asked, wanted = self._understood(data, starts, lengths, given)
        ranks, key_ranks = self.book.cuts.ranks(), self.book.keys.ranks()
        columns = self.book.columns()
        wanted &= 0 < limit <= LARGEST_LIMIT
        expanded = self.expander.expand(trees, predicates, columns, ranks, key_ranks, wanted, limit, taking)
        told = taking == AS_WRITTEN
        written = WrittenTerms.of(self.book, trees, predicates, expanded) if told else None
        return CompiledRules(self.book, self.expander, expanded, asked, expanded.counts >= 0, written)

    def uses(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int32],
        given: NDArray[np.bool_],
    ) -> UsesOfRules:
        """What the given texts ask of their attributes, and nothing else of them."""
        *_, asked, wanted = self._understood(data, starts, lengths, given)
        return UsesOfRules(asked, wanted)

    def _understood(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int32],
        given: NDArray[np.bool_],
    ) -> tuple[RuleTrees, NDArray[np.int32], AskedUses, NDArray[np.bool_]]:
        """The trees of texts, their predicates, what they ask of attributes, and which of them are sound so far."""
        if self.book.count > MOST_PREDICATES:
            self.forget()
        numbers: list[NDArray[np.int32]] = [_NO_NUMBERS]
        trees = read_trees(data, starts, lengths, given, lambda spans: numbers.append(self.book.number(data, spans)))
        predicates = np.concatenate(numbers)
        self.book.learn()
        wanted = np.diff(trees.node_ends, prepend=0) > 0
        asked = AskedUses.of(self.book, trees.predicate_ends, predicates, wanted)
        return trees, predicates, asked, wanted


class KnownNumbers(Protocol):
    """What numbers of keys and of cuts stand for."""

    @property
    def keys(self) -> KeyNumbers: ...

    @property
    def cuts(self) -> CutNumbers: ...


class KnownLeaves(Protocol):
    """What numbers of leaves stand for."""

    @property
    def count(self) -> int: ...

    def leaf_columns(self) -> LeafColumns: ...


class CompiledRules:
    """Rules that were taken, by their positions among the texts, and their conjunctions or forms.

    They hold on to the predicates and leaves that they were read with, which the reader may have forgotten since.
    """

    def __init__(
        self,
        book: KnownNumbers,
        expander: KnownLeaves,
        expanded: ExpandedRules,
        asked: AskedUses,
        wanted: NDArray[np.bool_],
        written: WrittenTerms | None = None,
    ) -> None:
        self._book, self._expander = book, expander
        self._expanded, self._asked, self.wanted, self._written = expanded, asked, wanted, written

    def __len__(self) -> int:
        return int(np.count_nonzero(self.wanted))

    @property
    def positions(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.wanted)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many conjunctions each has."""
        counts: NDArray[np.int64] = self._expanded.counts[self.wanted]
        return counts

    def uses(self) -> list[CountedUse]:
        """Each use, how many rules have it, and the position of the first; in the order of the texts."""
        found, counts, firsts = (column.tolist() for column in self._asked.tally(self.wanted))
        return [(self._asked.named(use), *more) for use, *more in zip(found, counts, firsts, strict=True)]

    def agree_with(self, schema: Schema) -> bool:
        """Whether live rules allow all their uses."""
        return all(schema.allows(use) for use, _, _ in self.uses())

    def allowed_by(self, schema: Schema) -> CompiledRules:
        """Without rules that live rules, or what is settled, are against."""
        found, _, _ = self._asked.tally(self.wanted)
        against = [use for use in found.tolist() if not schema.allows(self._asked.named(use))]
        if not against:
            return self
        refused = np.zeros(len(self._asked.attributes) << KIND_BITS, np.bool_)
        refused[against] = True
        wanted = self.wanted.copy()
        wanted[self._asked.owners()[refused[self._asked.uses]]] = False
        return self._only_wanted(wanted)

    def agreeing(self) -> CompiledRules:
        """Without rules that ask for another type of an attribute than one before them does."""
        found, _, _ = self._asked.tally(self.wanted)
        compared = np.sort(found[found & KIND_MASK != ANY_KIND] >> KIND_BITS)
        if (compared[1:] != compared[:-1]).all():
            return self
        wanted, kinds = self.wanted.copy(), np.full(len(self._asked.attributes), ANY_KIND, np.int64)
        drop_contrary(self._asked.uses, self._asked.ends, wanted, kinds)
        return self._only_wanted(wanted)

    def between(self, start: int, stop: int) -> CompiledRules:
        """Those at some positions."""
        wanted = np.zeros(len(self.wanted), np.bool_)
        wanted[start:stop] = self.wanted[start:stop]
        return self._only_wanted(wanted)

    def only(self, chosen: NDArray[np.bool_]) -> CompiledRules:
        """Those at the chosen positions."""
        return self._only_wanted(self.wanted & chosen)

    def _only_wanted(self, wanted: NDArray[np.bool_]) -> CompiledRules:
        return CompiledRules(self._book, self._expander, self._expanded, self._asked, wanted, self._written)

    def _rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The leaves of each conjunction: how many, and their numbers."""
        lengths, leaves, kept = self._expanded.lengths, self._expanded.leaves, self._kept_rows()
        return (lengths, leaves) if kept is None else (lengths[kept], leaves[np.repeat(kept, lengths)])

    def _kept_rows(self) -> NDArray[np.bool_] | None:
        """Which conjunctions are of wanted rules; None if all are."""
        counts = self._expanded.counts
        if (self.wanted == (counts >= 0)).all():
            return None
        return np.repeat(self.wanted[counts > 0], counts[counts > 0])

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes that `written` has by number, and others."""
        return self._asked.attributes

    def written(self) -> WrittenTerms:
        """Their predicates, where they were taken AS_WRITTEN."""
        assert self._written is not None
        kept = self._kept_rows()
        if kept is None:
            ends = self._written.ends[self.wanted]
            return self._written._replace(ends=ends)
        own = self._written.only(self.wanted)
        return own._replace(ends=own.ends[self.wanted], row_terms=own.row_terms[kept])

    def keys_of(self, leaves: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int32]]:
        """The keys of all leaves, and which of them each of some leaves has; -1 for NO_LEAF."""
        key_of, known = np.full(len(leaves), -1, np.int32), leaves != NO_LEAF
        key_of[known] = self._expander.leaf_columns()[0][leaves[known]]
        return self._book.keys.keys, key_of

    def flat(self) -> Flat:
        """Their conjunctions."""
        return self._flat(*self._rows())

    def flat_leaves(self, leaves: NDArray[np.int32]) -> Flat:
        """Some leaves, each a conjunction by itself."""
        return self._flat(np.ones(len(leaves), np.int64), leaves)

    def _flat(self, lengths: NDArray[np.int64], leaves: NDArray[np.int32]) -> Flat:
        keys, nulls, ends, cuts = self._expander.leaf_columns()
        leaf_of, held = by_first_use(leaves, self._expander.count)
        key_places, used = by_first_use(keys[held], len(self._book.keys.keys))
        key_of = key_places.astype(np.int64)
        sizes = ends[held + 1] - ends[held]
        starts, taken = np.empty(int(sizes.sum()), np.bool_), pooled(int(sizes.sum()), np.int64)
        count = gather_cuts(held, key_of, ends, cuts, starts, taken)
        # Leaves of one attribute share most of their cuts: each is looked up once.
        pairs = IntegerNumbers()
        value_of = pairs.of(taken[:count])
        values = pairs.values(0)
        points = list(map(self._book.cuts.cuts.__getitem__, (values & _CUT_MASK).tolist()))
        return Flat(
            lengths,
            leaf_of,
            list(map(self._book.keys.keys.__getitem__, used.tolist())),
            key_of,
            nulls[held] != 0,
            sizes,
            starts,
            value_of.astype(np.int64),
            [cut if cut[1] else cut[0] for cut in points],
            values >> CUT_BITS,
        )

    def flat_forms(self) -> FlatForms:
        """Their forms, where they were taken AS_FORMS."""
        shapes, kept = self._expanded.shapes, self._kept_rows()
        assert shapes is not None
        return FlatForms(self.flat(), shapes if kept is None else shapes.only(kept))


def by_first_use(numbers: NDArray[np.int32], most: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """For each number its place among the distinct ones, in the order in which they first come; and these."""
    known, distinct = pooled_full(most, -1, np.int32), pooled(min(most, len(numbers)), np.int64)
    places = pooled(len(numbers), np.int32)
    count = number_by_first_use(numbers, known, places, distinct)
    return places, distinct[:count]
