"""What stores do with whole arrays of words: choose how they are divided, unpack them, check them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.core import require, require_range
from matchwood.encoding import EncodedConjunctions
from matchwood.engines.shared._store_kernels import (
    count_constraints,
    count_pieces,
    highest_attribute,
    places_are_safe,
    unpack_all,
    words_are_safe,
    write_each,
)
from matchwood.engines.shared.constraints._set_kernels import WIDE_PIECE, WIDE_START, sets_are_safe
from matchwood.engines.shared.constraints._word_kernels import NOWHERE, PAYLOAD_BITS
from matchwood.engines.shared.views import read_only
from matchwood.errors import LimitExceeded

FEWEST_ATTRIBUTES = 128
"""Words have room for so many at least: with fewer, ranks of more bits would hardly ever be needed."""

FEWEST_RANK_BITS = 1
"""That leaves words room for 134 million attributes, more than any index can have labels for."""


def rank_bits_for(attributes: int) -> int:
    """How many bits a rank has where there are so many attributes: as many as words have room for.

    >>> [rank_bits_for(count) for count in (1, 128, 129, 512, 100_000)]
    [11, 11, 10, 10, 6]
    """
    needed = (max(FEWEST_ATTRIBUTES, attributes) - 1).bit_length()
    return max(FEWEST_RANK_BITS, (PAYLOAD_BITS - needed) // 2)


def attributes_within(bits: int) -> int:
    """How many attributes words have room for whose ranks have so many bits."""
    return 1 << PAYLOAD_BITS - 2 * bits


def constraint_counts(
    places: NDArray[np.int32], words: NDArray[np.uint32], units: NDArray[np.int32]
) -> NDArray[np.int64]:
    """How many constraints each of these units has."""
    counts = np.empty(len(units), np.int64)
    count_constraints(places, words, read_only(units, np.int32), counts)
    return counts


def unpacked(
    places: NDArray[np.int32],
    words: NDArray[np.uint32],
    sets: NDArray[np.uint16],
    bits: int,
    units: NDArray[np.int32],
    clauses: bool = False,
    as_stored: bool = False,
) -> EncodedConjunctions:
    """The constraints of these units, ordered by attribute, or `as_stored`; those of `clauses` always are, and it is
    told which are alternatives."""
    wanted = read_only(units, np.int32)
    counts = constraint_counts(places, words, wanted)
    constraints, longest = int(counts.sum()), int(counts.max(initial=0))
    pieces = int(count_pieces(places, words, sets, bits, wanted))
    target = EncodedConjunctions(
        np.zeros(len(wanted) + 1, dtype=np.int64),
        np.empty(constraints, dtype=np.int32),
        np.empty(constraints, dtype=np.bool_),
        np.zeros(constraints + 1, dtype=np.int64),
        np.empty(pieces, dtype=np.int32),
        np.empty(pieces, dtype=np.int32),
        np.empty(constraints if clauses else 0, dtype=np.bool_),
    )
    room = np.empty(longest, np.int64), np.empty(longest, np.int64)
    unpack_all(places, words, sets, bits, wanted, clauses or as_stored, *room, target)
    return target


def as_words(
    constraints: EncodedConjunctions,
) -> tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.uint16], int]:
    """Each of these constraints as a conjunction of its own, as kernels read those of a store, for whoever has them in
    none: the place of each, words, sets, and how many bits a rank has."""
    count, bits = len(constraints.attributes), rank_bits_for(attribute_count(constraints.attributes))
    words = np.empty(count, np.uint32)
    sets = np.empty(WIDE_START * count + WIDE_PIECE * len(constraints.low), np.uint16)
    end = int(write_each(constraints, bits, words, sets))
    if end >> PAYLOAD_BITS:
        raise LimitExceeded("the lists of values of one index take more than 1 GiB: split the rules over several")
    places = np.arange(count, dtype=np.int32)
    return read_only(places, np.int32), read_only(words, np.uint32), read_only(sets[:end], np.uint16), bits


def attribute_count(attributes: NDArray[np.int32]) -> int:
    """One more than the largest attribute."""
    return int(attributes.max()) + 1 if len(attributes) else 0


def check_words(
    places: NDArray[np.int32],
    words: NDArray[np.uint32],
    sets: NDArray[np.uint16],
    bits: int,
    attributes: int,
    clauses: bool,
) -> NDArray[np.bool_]:
    """Refuse words and sets that could lead a kernel out of its arrays; returns where sets begin."""
    require(FEWEST_RANK_BITS <= bits <= rank_bits_for(1), "ranks have an odd number of bits")
    begins = np.zeros(len(sets), np.bool_)
    require(sets_are_safe(sets, attributes, begins), "a set is cut off, or of an attribute that there is not")
    require(words_are_safe(words, bits, begins, attributes, clauses), "a word names what there is not")
    require_range(places, NOWHERE, len(words), "places")
    taken = np.zeros(len(words), np.bool_)
    require(places_are_safe(places, words, taken), "two units share what they say")
    require(attributes == int(highest_attribute(words, sets, bits)) + 1, "attributes are miscounted")
    return begins
