"""Labels: in order, round, and seldom assigned anew, however constants come."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from matchwood.encoding.codes import TOP_LABEL
from matchwood.encoding.spaces.labels import (
    DOWNWARD,
    MIDDLE,
    MOST_CONSTANTS,
    SPAN,
    UPWARD,
    assigned,
    between,
    direction,
    first,
    spread,
)
from matchwood.encoding.spaces.sorted import SortedSpaces
from matchwood.errors import LimitExceeded

COUNT = 20_000


def shuffled() -> Iterator[int]:
    rng = random.Random(1)
    return (rng.getrandbits(50) for _ in range(COUNT))


def points() -> Iterator[int]:
    """Both boundaries of single values."""
    for value in shuffled():
        yield from (value, value + 1)


def many_sequences() -> Iterator[int]:
    return ((step % 100) * 10**9 + step for step in range(COUNT))


def inwards() -> Iterator[int]:
    """Ranges, each inside the one before."""
    yield from (-(10**12), 10**12)
    for step in range(COUNT // 2):
        yield from (-(10**9) + step, 10**9 - step)


def windows() -> Iterator[int]:
    """Windows of time that begin one after the other, and last as long as they like."""
    rng = random.Random(2)
    for step in range(COUNT // 2):
        yield from (10 * step, 10 * step + 5 + rng.randrange(1_000))


SEQUENCES = {
    "ascending": range(COUNT),
    "descending": range(COUNT, 0, -1),
    "random": list(shuffled()),
    "points": list(points()),
    "ascending below a bound": [10**15, *range(COUNT)],
    "descending above a bound": [-(10**15), *range(COUNT, 0, -1)],
    "many sequences": list(many_sequences()),
    "inwards": list(inwards()),
    "windows": list(windows()),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_one_by_one_labels_are_assigned_anew_a_few_times_only(name: str) -> None:
    spaces = SortedSpaces("int")
    for element in SEQUENCES[name]:
        spaces.add_many([element])
    assert spaces.audit() == []
    assert spaces.counters["relabelled"] <= 8
    # Merges of the tail copy about sqrt(n) / 4 boundaries an insertion, and no more.
    assert spaces.counters["moved"] < len(spaces) ** 1.5


@pytest.mark.parametrize("name", SEQUENCES)
def test_in_chunks_too(name: str) -> None:
    spaces, elements = SortedSpaces("int"), list(SEQUENCES[name])
    for start in range(0, len(elements), 1_000):
        spaces.add_many(elements[start : start + 1_000])
    assert spaces.audit() == []
    assert spaces.counters["relabelled"] <= 10


def test_a_million_at_once_have_room_left_everywhere() -> None:
    labels, unit = assigned(np.ones(1_000_000, np.bool_))
    assert (np.diff(labels) >= 1024).all()
    assert labels[0] > SPAN // 5
    assert labels[-1] < SPAN - SPAN // 5
    assert unit >= 512


@pytest.mark.parametrize("count", [1, 2, 3, 100, 127, 128, 1_000, 65_536])
def test_assigned_labels_are_round(count: int) -> None:
    labels, unit = assigned(np.ones(count, np.bool_))
    step = int(np.diff(labels, prepend=0).min()) & -int(np.diff(labels, prepend=0).min())
    assert (labels % step == 0).all()
    assert step >= SPAN // (4 * count + 8)
    assert 0 < labels[0] <= labels[-1] < TOP_LABEL
    assert unit & (unit - 1) == 0


def gap_shares(labels: Iterable[int]) -> list[float]:
    ends = np.array([0, *labels, SPAN])
    return (np.diff(ends) / SPAN).tolist()


def test_gaps_that_grew_get_more_room() -> None:
    recent = np.zeros(1_000, np.bool_)
    recent[500:520] = True
    shares = gap_shares(assigned(recent)[0].tolist())
    assert shares[500] > 0.1
    assert shares[520] > 0.1
    full = gap_shares(assigned(recent, full_gap=510)[0].tolist())
    assert full[510] > 0.1


def test_too_many_constants_are_refused() -> None:
    recent = np.broadcast_to(np.zeros(1, np.bool_), (MOST_CONSTANTS + 1,))
    with pytest.raises(LimitExceeded, match="at most"):
        assigned(recent)  # type: ignore[arg-type]


def test_between_takes_the_roundest_number_of_the_middle() -> None:
    assert between(0, 100, MIDDLE, 1, 5) == 64
    assert between(64, 128, MIDDLE, 1, 5) == 96
    assert between(5, 7, MIDDLE, 1, 5) == 6
    assert between(5, 6, UPWARD, 1, 5) == -1


def test_between_steps_from_the_side_that_grows() -> None:
    assert between(1024, TOP_LABEL, UPWARD, 256, 10**9) == 1280
    assert between(0, 1024, DOWNWARD, 256, 10**9) == 768
    assert between(1024, 1040, UPWARD, 256, 10) == 1032


@pytest.mark.parametrize("seed", range(20))
def test_every_gap_can_be_filled_to_the_last_label(seed: int) -> None:
    rng = random.Random(seed)
    low, high = sorted(rng.sample(range(1, 400), 2))
    labels = [low, high]
    while True:
        place = rng.randrange(1, len(labels))
        label = between(
            labels[place - 1], labels[place], rng.choice((UPWARD, MIDDLE, DOWNWARD)), rng.choice((1, 8, 64)), 9
        )
        if label < 0:
            if all(upper - lower == 1 for lower, upper in itertools.pairwise(labels)):
                break
            continue
        assert labels[place - 1] < label < labels[place]
        labels.insert(place, label)
    assert labels == list(range(low, high + 1))


@pytest.mark.parametrize("seed", range(30))
def test_spread_fits_every_gap_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.choice(10 ** rng.integers(3, 9), 10, replace=False)).astype(np.int64)
    added = rng.integers(1, 12, 9)
    directions = rng.integers(-1, 2, 9).astype(np.int8)
    labels = spread(ends[:-1], ends[1:], added, directions, int(rng.choice([1, 64])), 100)
    if labels is None:
        assert ((ends[1:] - ends[:-1]) <= added).any()
        return
    position = 0
    for gap, count in enumerate(added.tolist()):
        inside = [int(ends[gap]), *labels[position : position + count].tolist(), int(ends[gap + 1])]
        assert inside == sorted(set(inside))
        position += count


def test_direction() -> None:
    assert direction(10, 20, 0.01, -1, False, False) == UPWARD
    assert direction(10, 20, 0.99, -1, False, False) == DOWNWARD
    assert direction(10, 20, 0.5, 10, False, False) == UPWARD
    assert direction(10, 20, 0.5, 20, False, False) == DOWNWARD
    assert direction(10, 20, 0.5, -1, True, False) == UPWARD
    assert direction(10, 20, 0.5, -1, False, True) == DOWNWARD
    assert direction(10, 20, 0.5, -1, True, True) == MIDDLE


def test_first_labels_are_those_assigned_to_boundaries_that_are_all_recent() -> None:
    for count in (*range(1, 70), 1_000, 4_095, 4_096, 65_537, 1_000_001):
        labels, unit = assigned(np.ones(count, np.bool_))
        found, found_unit = first(count)
        assert np.array_equal(found, labels)
        assert (found.dtype, found_unit) == (labels.dtype, unit)
