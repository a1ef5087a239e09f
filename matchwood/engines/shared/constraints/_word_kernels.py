"""Kernels that write and read constraints as *words*: 32 bits each, however many rules and engines read them.

A conjunction is a stretch of words; the last one has the flag LAST. One without constraints, which is always true, has
no place: NOWHERE. A word without the flag SET is a constraint of one interval that NULL fails:

    LAST  ALTERNATIVE  SET = 0 │ attribute: 29 - 2 B bits │ first rank: B bits │ how many more ranks: B bits

The upper B bits of a label are its *rank*. Labels are round numbers, so that as long as an attribute has few spaces
ranks say all; and the fewer attributes there are, the more bits ranks have (`constraints.words.rank_bits_for`): 11 with
128 attributes, 10 with 512. What does not fit is a set (`_set_kernels`), and its word is SET and where that begins.
So a constraint that many rules have takes 4 bytes in each, and one that hardly any share takes them and those of its
set once. Equal constraints have equal words.

ALTERNATIVE marks a constraint that is an alternative to the one before it. Only stores that were made for clauses have
such words, and only engines that know of clauses are given those stores.

The *position* of a constraint is where its word lies. Readers get a constraint as three integers (`constraint_at`): a
code, and the low and the high label; or, where the code says SEVERAL, where its set begins and how many pieces it has.
The code is the attribute shifted by two bits, with ACCEPTS_NULL and SEVERAL below it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.hashing import mix64
from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.encoding.spaces.dyadic import block_end
from matchwood.engines.shared.constraints._set_kernels import (
    LABEL_BITS,
    in_set,
    label_end,
    null_passes,
    piece,
    piece_count,
    set_attribute,
    set_hull,
    write_set,
)

LAST, ALTERNATIVE, SET = 1 << 31, 1 << 30, 1 << 29
PAYLOAD_BITS = 29
PAYLOAD = (1 << PAYLOAD_BITS) - 1

NOWHERE = -1
"""The place of a conjunction without constraints."""

ACCEPTS_NULL = 1
SEVERAL = 2
FLAG_BITS = 2

UNKNOWN = 2**32 - 1
"""What stands for a word that is not known yet: none is like that."""

_ONE = np.uint64(1)


@bare_kernel
def has(word: Any, flag: Any) -> Any:
    """Whether a word has a flag."""
    return np.uint32(word) & np.uint32(flag) != 0


@bare_kernel
def end_of(words: Any, first: Any) -> Any:
    """The position behind a conjunction that begins at `first`; that itself if it is NOWHERE."""
    last = np.int64(first)
    if last < 0:
        return last
    while not has(words[last], LAST):
        last += 1
    return last + 1


@bare_kernel
def stretch(places: Any, words: Any, unit: Any) -> Any:
    """The first position of a unit's constraints, and the one behind them."""
    first = np.int64(places[unit])
    return first, end_of(words, first)


@bare_kernel
def set_of(word: Any) -> Any:
    """Where the set of a word begins."""
    return np.int64(np.uint32(word) & np.uint32(PAYLOAD))


@bare_kernel
def split(word: Any, bits: Any) -> Any:
    """The attribute, the first rank, and how many more there are, of a word that is no set."""
    payload, mask = np.int64(np.uint32(word) & np.uint32(PAYLOAD)), (np.int64(1) << bits) - 1
    return payload >> (2 * bits), (payload >> bits) & mask, payload & mask


@bare_kernel
def interval_of(word: Any, bits: Any) -> Any:
    """The attribute, and the low and the high label, of a word that is no set."""
    attribute, first, more = split(word, bits)
    shift = LABEL_BITS - bits
    return attribute, first << shift, label_end((first + more + 1) << shift)


@bare_kernel
def attribute_of(words: Any, sets: Any, bits: Any, position: Any) -> Any:
    """The attribute of a constraint."""
    word = words[position]
    return set_attribute(sets, set_of(word)) if has(word, SET) else split(word, bits)[0]


@bare_kernel
def code_at(words: Any, sets: Any, bits: Any, position: Any) -> Any:
    """The code of a constraint."""
    word = words[position]
    if not has(word, SET):
        return split(word, bits)[0] << FLAG_BITS
    at = set_of(word)
    single = piece_count(sets, at) == 1
    flags = (0 if single else SEVERAL) | (ACCEPTS_NULL if null_passes(sets, at) else 0)
    return set_attribute(sets, at) << FLAG_BITS | flags


@bare_kernel
def constraint_at(words: Any, sets: Any, bits: Any, position: Any) -> Any:
    """The code of a constraint, and its labels, or its set and how many pieces that has."""
    word = words[position]
    if not has(word, SET):
        attribute, low, high = interval_of(word, bits)
        return attribute << FLAG_BITS, low, high
    at, code = set_of(word), code_at(words, sets, bits, position)
    if code & SEVERAL == 0:
        low, high = piece(sets, at, 0)
        return code, low, high
    return code, at, piece_count(sets, at)


@bare_kernel
def pieces_of(code: Any, high: Any) -> Any:
    """How many intervals a constraint has that is given by these integers."""
    return high if code & SEVERAL != 0 else np.int64(1)


@bare_kernel
def piece_at(sets: Any, code: Any, low: Any, high: Any, number: Any) -> Any:
    """The low and the high label of one of them."""
    if code & SEVERAL != 0:
        return piece(sets, low, number)
    return low, high


@bare_kernel
def hull(sets: Any, code: Any, low: Any, high: Any) -> Any:
    """The interval from the first label of a constraint to its last, whatever lies between; (0, 0) if it has none."""
    if code & SEVERAL != 0:
        return set_hull(sets, low)
    return low, high


@bare_kernel
def passes(code: Any, low: Any, high: Any, label: Any, sets: Any) -> Any:
    """Whether a label, or NULL_LABEL, satisfies a constraint."""
    if label == NULL_LABEL:
        return code & ACCEPTS_NULL != 0
    if code & SEVERAL == 0:
        return low <= label and label < high
    return in_set(sets, low, label)


@bare_kernel
def body(word: Any) -> Any:
    """A word without what tells where it stands."""
    return np.uint32(word) & ~np.uint32(LAST)


@bare_kernel
def mixed(word: Any) -> Any:
    """What a word adds to the hash of a conjunction, in whatever order its words come."""
    spread = np.uint64(body(word)) * np.uint64(0x9E3779B97F4A7C15)
    spread = (spread ^ (spread >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return spread ^ (spread >> np.uint64(32))


@bare_kernel
def hash_words(words: Any, first: Any) -> Any:
    """A hash of the conjunction that begins at `first`, of whatever order its words are in."""
    if first < 0:
        return mix64(np.uint64(0))
    total, position = np.uint64(0), np.uint64(first)
    while True:
        total += mixed(words[position])
        if has(words[position], LAST):
            return mix64(total)
        position += _ONE


@bare_kernel
def same_words(words: Any, one: Any, other: Any, ordered: bool) -> bool:
    """Whether two conjunctions have the same constraints; if they are `ordered`, in the same order.

    No conjunction has a constraint twice that may come in another order.
    """
    if one < 0 or other < 0:
        return bool(one == other)
    step = 0
    while words[one + step] == words[other + step]:
        if has(words[one + step], LAST):
            return True
        step += 1
    count = end_of(words, one) - one
    if ordered or end_of(words, other) - other != count:
        return False
    for place in range(step, count):
        wanted, found = body(words[one + place]), step
        while found < count and body(words[other + found]) != wanted:
            found += 1
        if found == count:
            return False
    return True


@bare_kernel
def fits_word(attribute: Any, low: Any, high: Any, bits: Any) -> bool:
    """Whether one interval can be a word by itself."""
    if low < 0 or low >= high or np.int64(attribute) >> (PAYLOAD_BITS - 2 * bits) != 0:
        return False
    return bool((np.int64(low) | block_end(high)) & ((np.int64(1) << (LABEL_BITS - bits)) - 1) == 0)


@bare_kernel
def interval_word(attribute: Any, low: Any, high: Any, bits: Any) -> Any:
    """The word of one interval that fits; of another one, of the smallest that encloses it."""
    shift = LABEL_BITS - bits
    first = np.int64(low) >> shift
    more = ((block_end(high) - 1) >> shift) - first
    return np.uint32(np.int64(attribute) << (2 * bits) | first << bits | more)


@bare_kernel
def write_constraint(
    attribute: Any, null: Any, low: Any, high: Any, start: Any, stop: Any, bits: Any, sets: Any, used: Any
) -> Any:
    """The word of a constraint with the intervals start : stop, and where what it needs of `sets` ends.

    A set is written behind the `used` numbers of those.
    """
    if stop - start == 1 and not null and fits_word(attribute, low[start], high[start], bits):
        return interval_word(attribute, low[start], high[start], bits), np.int64(used)
    end = write_set(attribute, null, low, high, start, stop, sets, used)
    return np.uint32(SET) | np.uint32(used), end
