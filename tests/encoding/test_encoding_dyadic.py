"""Dyadic blocks: every interval is exactly the union of its blocks, and they are few."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.spaces.dyadic import (
    LEVELS,
    MAX_BLOCKS,
    ancestor,
    block_code,
    count_blocks,
    decompose,
    fill_blocks,
    level_of,
)

labels = st.one_of(
    st.integers(BOTTOM_LABEL, TOP_LABEL),
    st.builds(
        lambda level, shift: min(max((1 << level) + shift, 0), TOP_LABEL), st.integers(0, 30), st.integers(-2, 2)
    ),
)


def blocks(low: int, high: int) -> list[tuple[int, int]]:
    """Level and number of an interval's blocks."""
    codes = np.empty(MAX_BLOCKS, np.int64)
    filled = fill_blocks(low, high, codes, 0)
    assert filled == count_blocks(low, high)
    held = []
    for code in codes[:filled].tolist():
        level = level_of(code)
        number = code - (1 << (31 - level))
        assert block_code(level, number) == code
        held.append((level, number))
    return held


@given(labels, labels)
def test_blocks_make_up_the_interval(one: int, other: int) -> None:
    low, high = sorted((one, other))
    position = low
    for level, number in blocks(low, high):
        assert number << level == position
        position += 1 << level
    # TOP_LABEL counts as 2**31, also for an interval that begins there: no space has the label in its one block.
    assert position == (2**31 if high == TOP_LABEL else high)


@given(labels, labels)
def test_no_two_blocks_could_be_one(one: int, other: int) -> None:
    low, high = sorted((one, other))
    held = blocks(low, high)
    assert len(held) <= MAX_BLOCKS
    levels = [level for level, _ in held]
    assert all(levels.count(level) <= 2 for level in levels)
    assert all(level != above or number % 2 for (level, number), (above, _) in itertools.pairwise(held)), (
        "two neighbours form a larger block"
    )


@given(labels.filter(lambda label: label < TOP_LABEL - 1), labels, labels)
def test_a_label_is_in_an_interval_exactly_if_one_of_its_ancestors_is_a_block(label: int, one: int, other: int) -> None:
    low, high = sorted((one, other))
    codes = {int(block_code(level, number)) for level, number in blocks(low, high)}
    found = [level for level in range(LEVELS) if int(ancestor(label, level)) in codes]
    assert len(found) == (low <= label < high)


def test_worst_and_best_cases() -> None:
    assert count_blocks(1, TOP_LABEL - 1) == 59
    assert count_blocks(1, TOP_LABEL) == 31
    assert count_blocks(BOTTOM_LABEL, TOP_LABEL) == 1
    assert count_blocks(2**30, TOP_LABEL) == 1
    assert count_blocks(7, 7) == 0


@pytest.mark.parametrize("seed", range(3))
def test_many_intervals_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, TOP_LABEL, (50, 2)), axis=1).astype(np.int32)
    offsets, codes = decompose(ends[:, 0], ends[:, 1])
    for place, (low, high) in enumerate(ends.tolist()):
        expected = [int(block_code(level, number)) for level, number in blocks(low, high)]
        assert codes[offsets[place] : offsets[place + 1]].tolist() == expected
