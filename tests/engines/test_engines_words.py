"""Words and sets: what is written is read again, in each form, and holds of just the labels that it should."""

from __future__ import annotations

import numpy as np
import pytest
from engines_support import COMPILED, Conjunction, Constraint, decode, encode

from matchwood.encoding.codes import NULL_LABEL, TOP_LABEL
from matchwood.engines.shared._verification_kernels import set_holds, verify, word_holds
from matchwood.engines.shared.constraints._set_kernels import (
    NARROW,
    PAIRED,
    WIDE,
    WIDE_PIECE,
    WIDE_START,
    form_of,
    in_set,
    piece_count,
    set_attribute,
    set_end,
    sets_are_safe,
    write_set,
)
from matchwood.engines.shared.constraints._word_kernels import (
    ACCEPTS_NULL,
    FLAG_BITS,
    LAST,
    NOWHERE,
    SET,
    SEVERAL,
    attribute_of,
    code_at,
    constraint_at,
    end_of,
    has,
    hash_words,
    hull,
    passes,
    piece_at,
    pieces_of,
    same_words,
    set_of,
    stretch,
    write_constraint,
)
from matchwood.engines.shared.constraints.words import (
    as_words,
    attributes_within,
    constraint_counts,
    rank_bits_for,
    unpacked,
)

COUNT = 3_000 if COMPILED else 60
BITS = [4, 8, 10, 11]

TOP = 2**31


def some_constraint(rng: np.random.Generator) -> Constraint:
    """One with labels that are as round as chance will have it, of one of few attributes or of many."""
    shift = int(rng.choice([0, 3, 14, 15, 16, 19, 20, 21, 25, 28]))
    most = min(TOP >> shift, 400)
    count = int(rng.choice([0, 1, 1, 1, 2, 3, 9, 40, 120]))
    cuts = np.sort(rng.choice(most + 1, size=min(2 * count, most // 2 * 2), replace=False)).astype(np.int64)
    offset = int(rng.integers(0, max(1, (TOP >> shift) - most + 1)))
    ends = [min(int(cut + offset) << shift, TOP_LABEL) for cut in cuts.tolist()]
    attribute = int(rng.choice([0, 1, 127, 128, 511, 2**16 - 1, 2**16, 2**21 - 1, 2**29]))
    intervals = tuple(zip(ends[::2], ends[1::2], strict=True))
    return Constraint(attribute, intervals, bool(rng.random() < 0.3) or not intervals)


def constraints_of(seed: int) -> list[Constraint]:
    rng = np.random.default_rng(seed)
    edges = [
        Constraint(3, ((0, TOP_LABEL),)),
        Constraint(3, ((0, TOP_LABEL),), True),
        Constraint(3, ((0, 1),)),
        Constraint(3, ((TOP_LABEL - 1, TOP_LABEL),)),
        Constraint(3, ((0, 1), (TOP_LABEL - 1, TOP_LABEL))),
        Constraint(3, ((1 << 30, TOP_LABEL),)),
        Constraint(3, tuple((2 * at << 20, 2 * at + 1 << 20) for at in range(256))),
        Constraint(3, tuple((2 * at << 20, 2 * at + 1 << 20) for at in range(255))),
    ]
    return [*edges, *(some_constraint(rng) for _ in range(COUNT))]


def written(constraints: list[Constraint], bits: int) -> tuple[np.ndarray, np.ndarray]:
    """The word of each constraint, each the last of a conjunction; and the sets, which no word shares."""
    source = encode([(each,) for each in constraints])
    words, used = np.empty(len(constraints), np.uint32), 0
    sets = np.empty(WIDE_START * len(constraints) + WIDE_PIECE * len(source.low), np.uint16)
    for place in range(len(constraints)):
        word, used = write_constraint(
            source.attributes[place], source.accepts_null[place], source.low, source.high,
            source.pieces[place], source.pieces[place + 1], bits, sets, np.int64(used),
        )  # fmt: skip
        words[place] = word | LAST
    return words, sets[:used]


@pytest.mark.parametrize("bits", BITS)
def test_what_is_written_is_read_again(bits: int) -> None:
    constraints = constraints_of(1)
    words, sets = written(constraints, bits)
    for position, wanted in enumerate(constraints):
        code, low, high = (int(each) for each in constraint_at(words, sets, bits, position))
        assert code >> FLAG_BITS == attribute_of(words, sets, bits, position) == wanted.attribute
        assert code == code_at(words, sets, bits, position)
        assert (code & ACCEPTS_NULL != 0) == wanted.accepts_null
        assert (code & SEVERAL != 0) == (len(wanted.intervals) != 1)
        count = int(pieces_of(code, high))
        pieces = [piece_at(sets, code, low, high, number) for number in range(count)]
        assert tuple((int(start), int(stop)) for start, stop in pieces) == wanted.intervals
        first, last = (int(end) for end in hull(sets, code, low, high))
        whole = (wanted.intervals[0][0], wanted.intervals[-1][1]) if wanted.intervals else (0, 0)
        assert (first, last) == whole
    used = {bool(has(word, SET)) for word in words}
    assert used == {False, True}


@pytest.mark.parametrize("bits", BITS)
def test_it_holds_of_the_labels_inside_and_of_no_others(bits: int) -> None:
    rng = np.random.default_rng(2)
    constraints = [each._replace(attribute=each.attribute % 16) for each in constraints_of(3)]
    words, sets = written(constraints, bits)
    places = np.arange(len(words), dtype=np.int32)
    labels = np.full(16, NULL_LABEL, np.int32)
    for position, wanted in enumerate(constraints):
        ends = [end for interval in wanted.intervals for end in interval]
        near = [label for end in ends[:4] + ends[-4:] for label in (end - 1, end, end + 1) if 0 <= label < TOP_LABEL]
        asked: list[int | None] = [None, 0, TOP_LABEL - 1, *near, *rng.integers(0, TOP_LABEL, 2).tolist()]
        code, low, high = constraint_at(words, sets, bits, position)
        for label in asked:
            if label is not None and not has(words[position], SET) and label % (1 << 31 - bits):
                # No space of an attribute begins between the labels of ranks that words tell apart.
                continue
            labels[wanted.attribute] = NULL_LABEL if label is None else label
            holds = wanted.holds(label)
            assert bool(verify(places, words, sets, bits, position, labels)) == holds
            assert bool(passes(code, low, high, labels[wanted.attribute], sets)) == holds
            if not has(words[position], SET):
                assert bool(word_holds(words[position], bits, labels)) == holds
            else:
                assert bool(set_holds(sets, set_of(words[position]), labels)) == holds
                assert label is None or bool(in_set(sets, set_of(words[position]), label)) == holds
        labels[wanted.attribute] = NULL_LABEL


def test_each_set_has_the_first_form_that_it_fits() -> None:
    def form(*intervals: tuple[int, int], attribute: int = 3, count: int | None = None) -> tuple[int, int]:
        low, high = (np.array(ends, np.int32) for ends in zip(*intervals, strict=True))
        sets = np.empty(WIDE_START + WIDE_PIECE * len(low), np.uint16)
        end = write_set(attribute, False, low, high, 0, len(low), sets, np.int64(0))
        assert int(set_end(sets, 0)) == end
        assert int(piece_count(sets, 0)) == len(low)
        assert int(set_attribute(sets, 0)) == attribute
        assert sets_are_safe(sets[:end], attribute + 1, np.zeros(end, np.bool_))
        assert not sets_are_safe(sets[: end - 1], attribute + 1, np.zeros(end, np.bool_))
        assert not sets_are_safe(sets[:end], attribute, np.zeros(end, np.bool_))
        return int(form_of(sets[0])), int(end)

    rank = 1 << 16
    assert form((3 * rank, 5 * rank)) == (NARROW, 3)
    assert form((3 * rank, 4 * rank), (6 * rank, 8 * rank)) == (NARROW, 4)
    assert form((3 * rank, 6 * rank)) == (PAIRED, 4), "one bit of 16 is left to say how long a piece is"
    assert form((3 * rank // 2, 2 * rank)) == (PAIRED, 4)
    assert form((3 * rank // 4, 2 * rank)) == (WIDE, 9)
    assert form((3 * rank, 4 * rank), attribute=2**16 - 1) == (NARROW, 3)
    assert form((3 * rank, 4 * rank), attribute=2**16) == (WIDE, 9)
    values = [(2 * at << 20, 2 * at + 1 << 20) for at in range(256)]
    assert form(*values[:255]) == (NARROW, 257)
    assert form(*values) == (WIDE, 5 + 4 * 256)
    assert form((0, TOP_LABEL)) == (NARROW, 3)


def conjunctions_of(seed: int) -> list[Conjunction]:
    rng, pool = np.random.default_rng(seed), constraints_of(seed)[: max(40, COUNT // 50)]
    return [tuple(pool[at] for at in rng.choice(len(pool), size=int(rng.integers(0, 7)), replace=False)) for _ in pool]


def laid_out(conjunctions: list[Conjunction], bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, words and sets; equal constraints have equal words."""
    distinct = list(dict.fromkeys(each for rule in conjunctions for each in rule))
    words, sets = written(distinct, bits)
    word_of = dict(zip(distinct, words.tolist(), strict=True))
    places, found = [], list[int]()
    for rule in conjunctions:
        places.append(len(found) if rule else NOWHERE)
        found += [word_of[each] & ~LAST for each in rule]
        if rule:
            found[-1] |= LAST
    return np.array(places, np.int32), np.array(found, np.uint32), sets


def test_stretches_end_where_the_last_word_is() -> None:
    rules = conjunctions_of(4)
    places, words, sets = laid_out(rules, 10)
    units = np.arange(len(rules), dtype=np.int32)
    assert constraint_counts(places, words, units).tolist() == [len(rule) for rule in rules]
    for unit, rule in enumerate(rules):
        first, last = stretch(places, words, unit)
        assert last - first == len(rule)
        assert end_of(words, places[unit]) == last
    assert stretch(places, words, [not rule for rule in rules].index(True)) == (NOWHERE, NOWHERE)
    said = unpacked(places, words, sets, 10, units, as_stored=True)
    assert decode(said) == rules


def test_conjunctions_are_hashed_and_compared_in_any_order() -> None:
    rng = np.random.default_rng(5)
    rules = [rule for rule in conjunctions_of(6) if len({each.attribute for each in rule}) == len(rule)]
    turned = [tuple(rule[at] for at in rng.permutation(len(rule))) for rule in rules]
    places, words, _ = laid_out([*rules, *turned], 10)
    hashes = [int(hash_words(words, np.int64(first))) for first in places]
    assert hashes[: len(rules)] == hashes[len(rules) :]
    assert len(set(hashes)) == len({frozenset(rule) for rule in rules})
    for one in range(0, len(places), 3):
        for other in range(one % 5, len(places), 5):
            mine, its = ([*rules, *turned][at] for at in (one, other))
            first, second = np.int64(places[one]), np.int64(places[other])
            assert bool(same_words(words, first, second, False)) == (frozenset(mine) == frozenset(its))
            assert bool(same_words(words, first, second, True)) == (mine == its)


def test_constraints_without_a_store_are_as_those_in_one() -> None:
    constraints = [each for each in constraints_of(7) if each.attribute < 2**16]
    source = encode([(each,) for each in constraints])
    places, words, sets, bits = as_words(source)
    assert bits == rank_bits_for(2**16)
    assert constraint_counts(places, words, places).tolist() == [1] * len(constraints)
    assert decode(unpacked(places, words, sets, bits, places)) == [(each,) for each in constraints]
    assert not any(array.flags.writeable for array in (places, words, sets))
    nothing = as_words(encode([]))
    assert [len(array) for array in nothing[:3]] == [0, 0, 0]


def test_words_have_room_for_the_attributes_that_they_are_made_for() -> None:
    for count in (1, 127, 128, 129, 512, 513, 10_000, 100_000, 2**21):
        bits = rank_bits_for(count)
        assert count <= attributes_within(bits)
        assert bits == rank_bits_for(1) or count > attributes_within(bits + 1)
