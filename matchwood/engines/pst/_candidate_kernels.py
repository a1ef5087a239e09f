"""Kernels of candidates: how units come into their lists, and what they are tested for first.

A list is a stretch of *tests*, two numbers of 32 bits each: a word (`shared/constraints/_word_kernels`), and the unit
that is a candidate if that holds. What else must hold stands in the store: of every unit the constraints that give
access come first, which its lists decide; then the one that its test says, if that says all of it; then the others, the
most selective first. The first ones are *decided*; a test tells in the bits above its constraint how many they are, and
the states of units how many give access. Of the others, those with sets stand first, so that sets can be asked for.

VLDB 2018, Algorithms 4 (5.2) and 6 (6.2): how units come into lists; tests are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.engines.shared._access_kernels import UNUSABLE, UNUSED, covered
from matchwood.engines.shared._posting_kernels import room_for
from matchwood.engines.shared._verification_kernels import LIVE
from matchwood.engines.shared.constraints._set_kernels import LABEL_BITS, piece_count
from matchwood.engines.shared.constraints._word_kernels import (
    FLAG_BITS,
    LAST,
    PAYLOAD,
    PAYLOAD_BITS,
    SET,
    attribute_of,
    body,
    constraint_at,
    end_of,
    has,
    hull,
    interval_word,
    set_of,
    split,
)

TEST_WIDTH = 2
"""Numbers of a test."""

GIVEN_SHIFT, MOST_GIVEN = 2, 4

_SETS_SHIFT, _PIECES_SHIFT = 4, 8
_MOST_WORDS, _MOST_PIECES = 15, 255


class GrowingLists(NamedTuple):
    """What changes of `CandidateLists` when units come into them.

    `added`  how many each list gains, negative if it moves to the end of the tests
    """

    starts: NDArray[np.int64]
    counts: NDArray[np.int32]
    capacities: NDArray[np.int32]
    added: NDArray[np.int32]


@bare_kernel
def state_of(given: Any) -> Any:
    """The state of a live unit of which so many constraints give access."""
    return np.uint8(LIVE | np.int64(given) << GIVEN_SHIFT)


@bare_kernel
def given_of(state: Any) -> Any:
    """How many constraints of a unit give access to it: the first ones."""
    return np.int64(state) >> GIVEN_SHIFT


@bare_kernel
def decided_by(test: Any) -> Any:
    """How many constraints of a unit are decided by its lists and by this test."""
    return np.uint32(test) >> np.uint32(PAYLOAD_BITS)


@bare_kernel
def rest_of(places: Any, test: Any, unit: Any) -> Any:
    """Where those constraints of a unit begin that are not decided, if there are any."""
    return np.uint64(places[unit]) + np.uint64(decided_by(test))


@bare_kernel
def order_for_tests(conjunctions: Any, units: Any, selectivity: Any, access: Any, wanted: int, order: Any) -> None:
    """The order in which the constraints of units are to be stored: those that may give access, and then the others,
    first those with a set, the most selective first."""
    places, words = conjunctions.places, conjunctions.words
    starts, ranked = selectivity.starts, selectivity.order
    for place in range(len(units)):
        first, start, end = np.int64(places[units[place]]), starts[place], starts[place]
        for nth in range(wanted):
            if access[wanted * place + nth] != UNUSED:
                order[end] = access[wanted * place + nth]
                end += 1
        given = end
        for turn in range(2):
            for rank in range(start, starts[place + 1]):
                position, is_given = ranked[rank], False
                for nth in range(start, given):
                    is_given |= order[nth] == position
                if not is_given and has(words[first + position], SET) == (turn == 0):
                    order[end] = position
                    end += 1


@bare_kernel
def _chosen_test(conjunctions: Any, unit: Any, given: Any, selectivity: Any, place: Any, order: Any) -> Any:
    """The position of the constraint that a unit is tested for, and its word; -1 if there is none.

    Of several intervals a test asks for what encloses them all, in whole ranks, so that counts.
    """
    places, words, sets, bits = conjunctions
    start, costs, shift = selectivity.starts[place], selectivity.costs, LABEL_BITS - bits
    first = np.int64(places[unit])
    best, chosen, least = -1, np.uint32(0), UNUSABLE
    for position in range(given, selectivity.starts[place + 1] - start):
        cost = costs[start + order[start + position]]
        if cost >= least:
            continue
        word = body(words[first + position])
        if has(word, SET):
            code, low, high = constraint_at(words, sets, bits, first + position)
            labels, _ = covered(sets, code, low, high)
            low, high = hull(sets, code, low, high)
            word = interval_word(code >> FLAG_BITS, low, high, bits)
            cost = cost * (np.float64((split(word, bits)[2] + 1) << shift) / max(labels, 1))
        if cost < least:
            best, chosen, least = position, word, np.float32(cost)
    return best, chosen


@bare_kernel
def choose_tests(
    conjunctions: Any, units: Any, selectivity: Any, order: Any, given: Any, tests: Any, states: Any, shapes: Any
) -> None:  # fmt: skip
    """Choose each unit's test, and put the constraint that it decides right behind those that give access.

    Writes the word of the test, the unit's state, and the shape of what is left: how many constraints, with sets and
    without, and how many pieces those sets have. A unit without access predicates has no test.
    """
    places, words, sets, bits = conjunctions
    for place in range(len(units)):
        unit, access = units[place], np.int64(given[place])
        first = np.int64(places[unit])
        tests[place], decided = 0, access
        if access > 0:
            position, word = _chosen_test(conjunctions, unit, access, selectivity, place, order)
            if position < 0:
                attribute = attribute_of(words, sets, bits, first)
                word = interval_word(attribute, BOTTOM_LABEL, TOP_LABEL, bits)
            elif body(words[first + position]) == word:
                decided = access + 1
                _bring_forward(words, first + access, first + position)
            tests[place] = word | np.uint32(decided) << np.uint32(PAYLOAD_BITS)
        states[unit] = state_of(access)
        with_sets, pieces, end = np.int64(0), np.int64(0), end_of(words, first)
        for position in range(first + decided, end):
            # What was to give access, and does not, stands among them as it was chosen.
            if has(words[position], SET):
                pieces += piece_count(sets, set_of(words[position]))
                _bring_forward(words, first + decided + with_sets, position)
                with_sets += 1
        singles = end - first - decided - with_sets
        shapes[place] = (
            min(int(singles), _MOST_WORDS)
            | min(int(with_sets), _MOST_WORDS) << _SETS_SHIFT
            | min(int(pieces), _MOST_PIECES) << _PIECES_SHIFT
        )


@bare_kernel
def _bring_forward(words: Any, target: Any, position: Any) -> None:
    """Put a word before those from `target` on; the last one stays the last."""
    moved, last = body(words[position]), has(words[position], LAST)
    for place in range(position, target, -1):
        words[place] = words[place - 1]
    words[target] = moved
    if last:
        words[position] |= np.uint32(LAST)


@bare_kernel
def place_tests(
    units: Any, order: Any, ends: Any, lists: Any, words: Any, growing: GrowingLists, tests: Any, width: int, used: int
) -> None:  # fmt: skip
    """Put a test of each unit at the end of each of its lists, in this order of the units.

    Unit i is to come into lists[ends[i] : ends[i + 1]], and is tested for words[i]; with a `width` of 1 there is room
    for the unit alone. Lists with a negative gain move to the end of the tests; their gains are made positive.
    """
    starts, counts, capacities, added = growing.starts, growing.counts, growing.capacities, growing.added
    for place in order:
        for posting in range(ends[place], ends[place + 1]):
            found = lists[posting]
            count = counts[found]
            if added[found] < 0:
                added[found] = -added[found]
                capacities[found] = room_for(count, added[found])
                for word in range(width * count):
                    tests[width * used + word] = tests[width * starts[found] + word]
                starts[found] = used
                used += capacities[found]
            at = width * (starts[found] + count)
            if width == TEST_WIDTH:
                tests[at] = words[place]
            tests[at + width - 1] = units[place]
            counts[found] = count + 1


@bare_kernel
def tests_are_safe(
    tests: Any, starts: Any, counts: Any, width: int, units: int, attributes: int, bits: int
) -> bool:  # fmt: skip
    """Whether lists name units that there are, and tests attributes."""
    for found in range(len(starts)):
        for test in range(starts[found], starts[found] + counts[found]):
            if tests[width * test + width - 1] >= units:
                return False
            if width == TEST_WIDTH and np.int64(tests[width * test] & np.uint32(PAYLOAD)) >> (2 * bits) >= attributes:
                return False
    return True


@bare_kernel
def all_given(conjunctions: Any, tests: Any, starts: Any, counts: Any, width: int, states: Any) -> bool:
    """Whether something gives access to each unit that lists name, and no test decides more than there is, or less than
    that."""
    places, words = conjunctions.places, conjunctions.words
    for found in range(len(starts)):
        for test in range(starts[found], starts[found] + counts[found]):
            unit = tests[width * test + width - 1]
            given, first = given_of(states[unit]), np.int64(places[unit])
            if given == 0:
                return False
            if width == TEST_WIDTH:
                decided = np.int64(decided_by(tests[width * test]))
                if not given <= decided <= end_of(words, first) - first:
                    return False
    return True


@bare_kernel
def states_are_safe(places: Any, words: Any, states: Any) -> bool:
    """Whether no unit has fewer constraints than are said to give access."""
    for unit in range(len(states)):
        first = np.int64(places[unit])
        given = given_of(states[unit])
        if given > MOST_GIVEN or given > end_of(words, first) - first:
            return False
    return True
