"""What rules that kernels have read ask of their attributes, in columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import IntegerNumbers, pooled
from matchwood.encoding.rules._column_kernels import ANY_KIND, KIND_BITS, resolve_uses, tally_uses
from matchwood.encoding.rules.flattening import running
from matchwood.encoding.rules.predicate_book import USE_KINDS, PredicateBook
from matchwood.encoding.schema.inferred import Use

KIND_MASK = (1 << KIND_BITS) - 1
_SHIFT = 32


class AskedUses(NamedTuple):
    """What rules ask of their attributes, one use an attribute: an attribute's number, shifted, and a kind."""

    attributes: list[str]
    uses: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        book: PredicateBook,
        ends: NDArray[np.int64],
        predicates: NDArray[np.int32],
        wanted: NDArray[np.bool_],
    ) -> AskedUses:
        """Those of the wanted rules; rules that contradict themselves, or cannot be bound, are not wanted from then."""
        slots = np.full(len(book.attributes), -1, np.int64)
        uses, use_ends = pooled(len(predicates), np.int64), np.empty(len(ends), np.int64)
        count = resolve_uses(ends, book.names_of(), predicates, book.kind_of(), wanted, slots, uses, use_ends)
        return cls(book.attributes, uses[:count], use_ends)

    @classmethod
    def listed(cls, rules: Collection[Collection[Use]]) -> AskedUses:
        """Those of rules that were read one by one."""
        attributes = list(dict.fromkeys(name for uses in rules for name, _ in uses))
        numbers = {name: number << KIND_BITS for number, name in enumerate(attributes)}
        uses = [numbers[name] | USE_KINDS.index(kind) for asked in rules for name, kind in asked]
        return cls(attributes, np.array(uses, np.int64), np.cumsum([len(asked) for asked in rules], dtype=np.int64))

    def between(self, start: int, stop: int) -> AskedUses:
        """Those of the rules at some positions."""
        first = int(self.ends[start - 1]) if start else 0
        ends = self.ends[start:stop] - first
        return AskedUses(self.attributes, self.uses[first : first + (int(ends[-1]) if len(ends) else 0)], ends)

    def at(self, positions: NDArray[np.int64]) -> AskedUses:
        """Those of some rules, in the order of their positions."""
        lengths = np.diff(self.ends, prepend=0)[positions]
        ends = np.cumsum(lengths)
        places = np.arange(int(lengths.sum())) + np.repeat(self.ends[positions] - ends, lengths)
        return AskedUses(self.attributes, self.uses[places], ends)

    def with_more(self, more: AskedUses) -> AskedUses:
        """These rules, and then others."""
        numbers = {name: number for number, name in enumerate(self.attributes)}
        renumbered = np.array([numbers.setdefault(name, len(numbers)) for name in more.attributes], np.int64)
        uses = renumbered[more.uses >> KIND_BITS] << KIND_BITS | more.uses & KIND_MASK
        ends = np.concatenate((self.ends, more.ends + (self.ends[-1] if len(self.ends) else 0)))
        return AskedUses(list(numbers), np.concatenate((self.uses, uses)), ends)

    def tally(self, wanted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The uses of wanted rules as they are met, how many have each, and the first that does."""
        room = len(self.attributes) << KIND_BITS
        counts, firsts, met = np.zeros(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        found = met[: tally_uses(self.uses, self.ends, wanted, counts, firsts, met)]
        return found, counts[found], firsts[found]

    def named(self, use: int) -> Use:
        return self.attributes[use >> KIND_BITS], USE_KINDS[use & KIND_MASK]

    def owners(self) -> NDArray[np.int64]:
        """The rule of each use."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def comparing(self, allows: Callable[[Use], bool]) -> AskedUses:
        """Without uses of any kind; rules with a use that is not allowed ask for nothing."""
        found, _, _ = self.tally(np.ones(len(self.ends), np.bool_))
        refused = np.zeros(len(self.attributes) << KIND_BITS, np.bool_)
        refused[[use for use in found.tolist() if not allows(self.named(use))]] = True
        owners = self.owners()
        silent = np.zeros(len(self.ends), np.bool_)
        silent[owners[refused[self.uses]]] = True
        return self._only((self.uses & KIND_MASK != ANY_KIND) & ~silent[owners])

    def on(self, names: Collection[str]) -> AskedUses:
        """Those of some attributes alone."""
        named = np.fromiter((name in names for name in self.attributes), np.bool_, len(self.attributes))
        return self._only(named[self.uses >> KIND_BITS])

    def _only(self, kept: NDArray[np.bool_]) -> AskedUses:
        return AskedUses(self.attributes, self.uses[kept], running(kept.astype(np.int64))[self.ends])

    def alike(self) -> dict[tuple[Use, ...], tuple[int, int]]:
        """How many rules ask for the same, and the first of them; in the order of the first ones."""
        lengths = np.diff(self.ends, prepend=0)
        groups, begins = np.zeros(len(lengths), np.int64), self.ends - lengths
        for place in range(int(lengths.max(initial=0))):
            further = lengths > place
            next_use = np.zeros(len(lengths), np.int64)  # 0 for rules that have no more of them
            next_use[further] = self.uses[begins[further] + place] + 1
            groups = IntegerNumbers().of(groups << _SHIFT | next_use).astype(np.int64)
        _, firsts, counts = np.unique(groups, return_index=True, return_counts=True)
        order = np.argsort(firsts)
        return {
            tuple(map(self.named, self.uses[begins[first] : self.ends[first]].tolist())): (count, first)
            for first, count in zip(firsts[order].tolist(), counts[order].tolist(), strict=True)
        }


class UsesOfRules(NamedTuple):
    """What rules that were read ask of their attributes; `wanted` says which of them could be read."""

    asked: AskedUses
    wanted: NDArray[np.bool_]

    def left_out(self) -> NDArray[np.int64]:
        """The positions of those that could not."""
        return np.flatnonzero(~self.wanted)

    def counted(self, start: int, stop: int) -> list[tuple[Use, int]]:
        """The uses of the rules at some positions, and how many of these have each."""
        found, counts, _ = self.asked.between(start, stop).tally(self.wanted[start:stop])
        return [(self.asked.named(use), count) for use, count in zip(found.tolist(), counts.tolist(), strict=True)]

    def completed(self, others: Mapping[int, Collection[Use]]) -> AskedUses:
        """The uses of all rules, with those of the others by position, which were read one by one."""
        if not others:
            return self.asked
        order = np.arange(len(self.wanted))
        order[list(others)] = np.arange(len(order), len(order) + len(others))
        return self.asked.with_more(AskedUses.listed(others.values())).at(order)
