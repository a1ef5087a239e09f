"""Compiled tests of lists and texts against many derived attributes at once.

Both kernels write pairs (value, test) to an output of fixed size, and stop at a value's edge when it is full; marks are
numbers of values, counted from an epoch: docs/protocols.md has both protocols.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel, kernel

ANY_ONE, ANY_RUN = 256, 257
"""The wildcards in a program of `like`; all other codes are bytes."""


class ListTests(NamedTuple):
    """Tests of lists: element e is named by postings[offsets[e] : offsets[e + 1]]; test t holds of a list that has
    required[t] of its distinct elements."""

    offsets: NDArray[np.int64]
    postings: NDArray[np.int64]
    required: NDArray[np.int64]


class ListMarks(NamedTuple):
    """By element, and by test, the value that last touched it; how many elements of a test that value has."""

    elements: NDArray[np.int64]
    tests: NDArray[np.int64]
    counts: NDArray[np.int64]


class GramIndex(NamedTuple):
    """From grams to tests.

    `keys`, `starts`, `postings`  a hash table of grams; slot s has the tests postings[starts[s] : starts[s + 1]]
    `lengths`     bits that tell which gram lengths, 1 to 4 bytes, are in use
    `unfiltered`  tests without a gram
    """

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    postings: NDArray[np.int32]
    lengths: int
    unfiltered: NDArray[np.int32]


class LikePrograms(NamedTuple):
    """Test t is the program codes[offsets[t] : offsets[t + 1]]; without one, it is only said to be worth trying."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.int16]


@kernel
def match_lists(
    offsets: Any, elements: Any, known: ListTests, marks: ListMarks, epoch: int, first: int, values: Any, tests: Any
) -> Any:
    """Tests that hold of the lists from `first` on.

    List i has elements[offsets[i] : offsets[i + 1]] (-1: one that no test names). Returns the next list to look at and
    the number of pairs.
    """
    posting_offsets, postings, required = known.offsets, known.postings, known.required
    element_marks, test_marks, counts = marks.elements, marks.tests, marks.counts
    filled = 0
    for value in range(first, len(offsets) - 1):
        start, mark = filled, epoch + value
        for position in range(offsets[value], offsets[value + 1]):
            element = elements[position]
            if element < 0 or element_marks[element] == mark:
                continue
            element_marks[element] = mark
            for posting in range(posting_offsets[element], posting_offsets[element + 1]):
                test = postings[posting]
                if test_marks[test] != mark:
                    test_marks[test] = mark
                    counts[test] = 0
                counts[test] += 1
                if counts[test] == required[test]:
                    if filled == len(values):
                        return value, start
                    values[filled], tests[filled] = value, test
                    filled += 1
    return len(offsets) - 1, filled


@bare_kernel
def _fits(data: Any, start: int, stop: int, program: Any, begin: int, end: int) -> Any:
    """Whether text data[start:stop] fits program[begin:end]; on a dead end the last run takes one more byte.

    After a run comes a byte or the end, since `likes.py` writes single wildcards before it.
    """
    at, code, run, resume = start, begin, -1, 0
    while at < stop or code < end:
        if code < end and program[code] == ANY_RUN:
            run, resume = code, at
            code += 1
            if code == end:
                return True
            while resume < stop and data[resume] != program[code]:
                resume += 1
            at = resume
        elif code < end and at < stop and (program[code] == ANY_ONE or program[code] == data[at]):
            at += 1
            if program[code] == ANY_ONE:
                while at < stop and data[at] & 0xC0 == 0x80:
                    at += 1
            code += 1
        elif run >= 0 and resume < stop:
            at, code = resume + 1, run
        else:
            return False
    return True


@bare_kernel
def _slot(keys: Any, gram: Any) -> Any:
    """Where a gram stands in the hash table, or the empty place where it would."""
    # A gram has 35 bits and the factor 29, so that the product never overflows (uncompiled, NumPy would warn).
    slot = ((gram ^ (gram >> np.uint64(15))) * np.uint64(0x1F83D9AB)) >> np.uint64(24)
    slot &= np.uint64(len(keys) - 1)
    while keys[slot] != 0 and keys[slot] != gram:
        slot = (slot + np.uint64(1)) & np.uint64(len(keys) - 1)
    return slot


@kernel
def build_grams(grams: Any, keys: Any, starts: Any) -> Any:
    """Fill a hash table from grams (one for each test) to postings: slot s has postings[starts[s] : starts[s + 1]]."""
    for test in range(len(grams)):
        slot = _slot(keys, grams[test])
        keys[slot] = grams[test]
        starts[slot + np.uint64(1)] += 1
    for slot in range(len(keys)):
        starts[slot + 1] += starts[slot]
    postings = np.empty(len(grams), np.int32)
    filled = np.zeros(len(keys), np.int64)
    for test in range(len(grams)):
        slot = _slot(keys, grams[test])
        postings[starts[slot] + filled[slot]] = test
        filled[slot] += 1
    return postings


@bare_kernel
def _try_text(
    data: Any, start: int, stop: int, test: int, programs: LikePrograms, test_marks: Any, mark: int, value: int,
    values: Any, tests: Any, filled: int,
) -> Any:  # fmt: skip
    """Note (value, test) if the test holds and was not tried before; returns how many there are, -1 if full."""
    if test_marks[test] == mark:
        return filled
    test_marks[test] = mark
    begin, end = programs.offsets[test], programs.offsets[test + 1]
    if begin < end and not _fits(data, start, stop, programs.codes, begin, end):
        return filled
    if filled == len(values):
        return -1
    values[filled], tests[filled] = value, test
    return filled + 1


@kernel
def match_texts(
    offsets: Any, data: Any, grams: GramIndex, programs: LikePrograms, test_marks: Any, epoch: int, first: int,
    values: Any, tests: Any,
) -> Any:  # fmt: skip
    """Tests that hold of the texts from `first` on.

    A test is tried where its gram is found, and always if it has none. Returns the next text to look at and the number
    of pairs.
    """
    keys, starts, postings, lengths, unfiltered = grams
    filled = 0
    for value in range(first, len(offsets) - 1):
        begun, mark = filled, epoch + value
        start, stop = offsets[value], offsets[value + 1]
        for index in range(len(unfiltered)):
            filled = _try_text(
                data, start, stop, unfiltered[index], programs, test_marks, mark, value, values, tests, filled
            )
            if filled < 0:
                return value, begun
        for position in range(start, stop if lengths else start):
            gram = np.uint64(0)
            for length in range(1, min(4, stop - position) + 1):
                gram = (gram << np.uint64(8)) | np.uint64(data[position + length - 1])
                if not lengths >> length & 1:
                    continue
                slot = _slot(keys, gram | (np.uint64(length) << np.uint64(32)))
                for posting in range(starts[slot], starts[slot + np.uint64(1)]):
                    filled = _try_text(
                        data, start, stop, postings[posting], programs, test_marks, mark, value, values, tests, filled
                    )
                    if filled < 0:
                        return value, begun
    return len(offsets) - 1, filled


@kernel
def emit(offsets: Any, found: Any, negatives: Any, needs_true: Any, needs_false: Any, true_label: int) -> Any:
    """The pairs to emit for each value, ordered by attribute.

    Value i satisfies the attributes found[offsets[i] : offsets[i + 1]], increasing; `negatives` are all attributes,
    increasing, whose FALSE some rule needs. Attributes that are needed for neither are passed over.
    """
    ends = np.zeros(len(offsets), np.int64)
    attributes = np.empty(len(found) + (len(offsets) - 1) * len(negatives), np.int32)
    labels = np.empty(len(attributes), np.int32)
    filled = 0
    for value in range(len(offsets) - 1):
        at, end, negative = offsets[value], offsets[value + 1], 0
        while at < end or negative < len(negatives):
            if at < end and (negative == len(negatives) or found[at] <= negatives[negative]):
                attribute = found[at]
                negative += negative < len(negatives) and negatives[negative] == attribute
                at += 1
                if needs_true[attribute] > 0:
                    attributes[filled], labels[filled] = attribute, true_label
                    filled += 1
            else:
                attribute = negatives[negative]
                negative += 1
                if needs_false[attribute] > 0:
                    attributes[filled], labels[filled] = attribute, 0
                    filled += 1
        ends[value + 1] = filled
    return ends, attributes[:filled].copy(), labels[:filled].copy()
