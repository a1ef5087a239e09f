"""Spaces against brute force: additions, releases and look-ups in any sequence, in all kinds of domain."""

from __future__ import annotations

import bisect
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from matchwood.encoding.codes import BOTTOM_LABEL, TOP_LABEL
from matchwood.encoding.events.columns.decimals import parts_of_decimals
from matchwood.encoding.spaces import labelled as labelled_spaces
from matchwood.encoding.spaces.base import Spaces, spaces_class
from matchwood.encoding.spaces.decimals import place_of
from matchwood.encoding.spaces.keys import strings_of
from matchwood.encoding.spaces.pstree.tree import PSTree
from matchwood.encoding.spaces.sorted import SortedSpaces
from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.language import decimal_of

POOLS: dict[str, list[Any]] = {
    "int": [*range(-50, 50), 2**63 - 1, -(2**63), 2**62],
    "timestamp": [day * 86_400_000_000 for day in range(-100, 100)],
    "number": [
        0.5, 1, -0.0, 2**53, 2**53 + 1, 2.0**53 + 2, 2**63 - 1, -(2**63), math.inf, -math.inf, math.nan, 1e308, 5e-324,
        *(step / 7 for step in range(40)), *(2**62 + step for step in range(20)),
    ],
    "double": [
        *((place, side) for place in (0.5, 1, 2**53, 0.1, -3, math.inf, 2.0**70) for side in (0, 1, 2)),
        *((place_of(Decimal(f"{text}{last}")), side) for text in (
            "0.100000000000000000", "-0.100000000000000000", "9007199254740993.", "1E-40", "12345678.12345678901234567",
        ) for last in (1, 2, 5) for side in (0, 2)),
        *((2**53 + 1, side) for side in (0, 2)), (2**70 + 1, 0), (2**70 + 1, 2), (10**400, 0), (-(10**400), 2),
        *(step / 7 for step in range(40)),
    ],
    "string": [
        "", "a", "ab", "a\0", "b", "é", "日本", "\U0010ffff", "same beginning, long",
        *(f"same beginning, {step}" for step in range(60)), *map(chr, range(97, 117)),
    ],
}  # fmt: skip


MakeSpaces = type[SortedSpaces] | type[PSTree]


@pytest.fixture(params=[SortedSpaces, PSTree])
def make(request: pytest.FixtureRequest) -> MakeSpaces:
    chosen: MakeSpaces = request.param
    return chosen


def column(kind: str, elements: list[Any]) -> list[Any]:
    """Elements as columns that `locate_many` takes; numbers as one of integers and one of doubles."""
    if kind == "string":
        return [(elements, strings_of([element.encode() for element in elements]))]
    ints = [element for element in elements if isinstance(element, int)]
    doubles = [element for element in elements if isinstance(element, float)]
    exact = [element for element in elements if isinstance(element, Decimal)]
    columns: list[Any] = [(ints, np.array(ints, np.int64))]
    if kind not in ("number", "double"):
        return columns
    columns.append((doubles, np.array(doubles, np.float64)))
    if exact:
        for part in parts_of_decimals(exact, np.arange(len(exact))):
            columns.append(([exact[row] for row in part.rows.tolist()], part.elements))
    return columns


def elements_of(kind: str) -> list[Any]:
    """What is looked up: the elements of boundaries, and on the line of numbers each as integer, double and decimal."""
    if kind != "double":
        return POOLS[kind]
    places = [entry[0] if isinstance(entry, tuple) else entry for entry in POOLS[kind]]
    finite = [
        Decimal(place) if isinstance(place, int | Decimal) else decimal_of(place)
        for place in places
        if place != math.inf
    ]
    doubles = [float(value) for value in finite if abs(value) < 10**300]
    ints = [int(value) for value in finite if abs(value) < 2**63]
    return [*finite, *doubles, *ints, *(value.next_plus() for value in finite), math.inf, -math.inf, math.nan]


class Model:
    """The same boundaries in a plain list: key, label, and one entry a reference."""

    def __init__(self, spaces: SortedSpaces | PSTree) -> None:
        self.spaces = spaces
        self.held: list[tuple[Any, int]] = []

    def add(self, elements: list[Any]) -> None:
        labels = self.spaces.add_many(elements).tolist()
        for old, new in self.spaces.relabellings:
            translation = dict(zip(old.tolist(), new.tolist(), strict=True))
            self.held = [(key, translation[label]) for key, label in self.held]
        self.spaces.relabellings.clear()
        self.held += [
            (self.spaces.columns.key(element), label) for element, label in zip(elements, labels, strict=True)
        ]

    def release(self, rng: random.Random, count: int) -> None:
        rng.shuffle(self.held)
        gone, self.held = self.held[:count], self.held[count:]
        ends = [BOTTOM_LABEL, TOP_LABEL]
        self.spaces.release_many(np.array([*ends, *(label for _, label in gone)], np.int32))

    def locate(self, element: Any) -> int:
        live = sorted(set(self.held))
        place = bisect.bisect_right([key for key, _ in live], self.spaces.columns.value_key(element))
        return live[place - 1][1] if place else BOTTOM_LABEL

    def check(self, kind: str, elements: list[Any]) -> None:
        live = sorted(set(self.held))
        assert len(self.spaces) == len(live) == len({key for key, _ in live})
        assert [label for _, label in live] == sorted({label for _, label in live})
        assert self.spaces.audit() == []
        assert [self.spaces.locate(element) for element in elements] == [self.locate(element) for element in elements]
        for given, array in column(kind, elements):
            assert self.spaces.locate_many(array).tolist() == [self.locate(element) for element in given]


@pytest.mark.few
@pytest.mark.parametrize("few", [0, 8])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_changes(
    make: MakeSpaces, kind: str, seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labelled_spaces, "FEW", few)
    rng, pool, elements = random.Random(seed), POOLS[kind], elements_of(kind)
    model = Model(make(kind))
    for _ in range(60):
        if rng.random() < 0.6 or not model.held:
            model.add([rng.choice(pool) for _ in range(rng.choice((1, 1, 2, 5, 30)))])
        else:
            model.release(rng, rng.choice((1, 1, 3, 30, len(model.held))))
        model.check(kind, [rng.choice(elements) for _ in range(10)])
    model.release(rng, len(model.held))
    assert len(model.spaces) == 0
    assert model.spaces.locate(elements[0]) == BOTTOM_LABEL


@pytest.mark.parametrize("kind", ["number", "string"])
def test_labels_are_followed_when_they_run_out(make: MakeSpaces, kind: str) -> None:
    """Each new boundary halves the same gap, from alternating sides, which no choice of labels survives."""
    model = Model(make(kind))
    low, high, elements = 0, 2**200, []
    for step in range(200):
        middle = (low + high) // 2
        elements.append(float(middle) if kind == "number" else f"{middle:060x}")
        low, high = (middle, high) if step % 2 else (low, middle)
    for element in elements[:50] if kind == "number" else elements:
        model.add([element])
    assert model.spaces.counters["relabelled"] >= 1
    model.check(kind, elements[::7])


def test_dead_boundaries_may_come_to_life_again(make: MakeSpaces) -> None:
    model = Model(make("int"))
    model.add(list(range(1_000)))
    rng = random.Random(3)
    for step in range(300):
        model.release(rng, 1)
        if step % 3 == 0:
            model.add([rng.randrange(1_000)])
        if step % 25 == 0:
            model.check("int", list(range(0, 1_000, 13)))
    assert model.spaces.stats()["merged"] > 200


def test_one_by_one_costs_the_same_with_a_hundred_thousand() -> None:
    spaces = SortedSpaces("int")
    spaces.add_many(list(range(0, 10**6, 10)))
    moved = spaces.counters["moved"]
    for element in range(5, 50_005, 10):
        spaces.add_many([element])
    assert len(spaces) == 105_000
    assert spaces.counters["moved"] - moved <= 5 * 105_000


def test_a_million_distinct_constants_at_once() -> None:
    values = np.random.default_rng(4).random(1_000_000)
    spaces = SortedSpaces("number")
    labels = spaces.add_many(values.tolist())
    order = np.argsort(values)
    assert (np.diff(labels[order]) > 0).all()
    assert spaces.stats() == {
        "boundaries": 1_000_000, "bytes": 19_000_000, "split": 1_000_000, "merged": 0, "relabelled": 0, "moved": 0,
    }  # fmt: skip
    assert spaces.locate_many(values[:1_000]).tolist() == labels[:1_000].tolist()
    spaces.release_many(labels)
    assert len(spaces) == 0


@pytest.mark.parametrize("kind", POOLS)
def test_saved_spaces_come_back_and_files_never_change(make: MakeSpaces, kind: str) -> None:
    pool = POOLS[kind]
    spaces = make(kind)
    spaces.add_many(pool)
    spaces.add_many(pool[:3])
    saved = spaces.arrays()
    for array in saved.values():
        array.flags.writeable = False
    before = {name: array.copy() for name, array in saved.items()}
    other: Spaces = make(kind, saved)
    elements = elements_of(kind)
    assert [other.locate(element) for element in elements] == [spaces.locate(element) for element in elements]
    for given, array in column(kind, elements):
        assert other.locate_many(array).tolist() == [spaces.locate(element) for element in given]
    other.release_many(np.array([other.place(pool[5])[0]], np.int32))
    other.add_many(pool[:20])
    assert other.audit() == []
    assert len(other) == len(spaces) - 1 or pool[5] in pool[:20]
    assert all((saved[name] == array).all() for name, array in before.items())


def test_spaces_from_before_decimals_open(make: MakeSpaces) -> None:
    """Format 1 has residuals, the number of integers from a double on, and all boundaries stand before a number."""
    numbers = [-1.5, 0.5, math.nextafter(0.5, 1), 3, 2**53, 2**53 + 1, math.nan]
    made = make("number")
    made.add_many(numbers)
    saved = made.arrays()
    old = {name: array for name, array in saved.items() if name not in ("rest", "fine", "fine_ends")}
    spaces: Spaces = make("number", {**old, "residual": saved["rest"] >> 2})
    values = [*numbers, 0.25, 2, 3.5, 2**53 + 2, math.inf, Decimal("0.5"), Decimal("0.25")]
    assert [spaces.locate(value) for value in values] == [made.locate(value) for value in values]
    # What was written as the next double is behind 0.5.
    assert spaces.locate(Decimal("0.500000000000000000001")) == spaces.locate(math.nextafter(0.5, 1))
    assert spaces.audit() == []
    spaces.add_many([(0.5, 2), (place_of(Decimal("0.50000000000000000001")), 0)])
    assert spaces.audit() == []
    assert "rest" in spaces.arrays()


def test_damaged_fine_boundaries_are_refused(make: MakeSpaces) -> None:
    made = make("number")
    made.add_many([place_of(Decimal("0.10000000000000000001")), (place_of(Decimal("0.3000000000000000000001")), 2)])
    saved = made.arrays()
    damages = (
        {"fine_ends": saved["fine_ends"][:1]},
        {"fine": saved["fine"][:-1]},
        {"fine_ends": saved["fine_ends"][::-1]},
    )
    for damaged in damages:
        with pytest.raises(CorruptSnapshot, match="fine boundaries"):
            make("number", {**saved, **damaged}).locate(5)


def test_damaged_arrays_are_refused(make: MakeSpaces) -> None:
    spaces = make("string")
    spaces.add_many(["a", "b", "c"])
    saved = spaces.arrays()

    def check(**damaged: Any) -> None:
        columns = {**saved, **damaged}
        make.check_saved(columns, {name: np.array([0, len(array)]) for name, array in columns.items()})

    check()
    for damaged, message in (
        ({"labels": saved["labels"][:2]}, "differ in number"),
        ({"counts": saved["counts"][:2]}, "differ in number"),
        ({"offsets": saved["offsets"][:3]}, "do not fit"),
        ({"offsets": saved["offsets"] + 1}, "do not fit"),
        ({"offsets": np.array([0, 2, 1, 3])}, "do not increase"),
        ({"data": saved["data"][:2]}, "do not fit"),
    ):
        with pytest.raises(ValueError, match=message):
            check(**damaged)


def test_saved_arrays_of_many_attributes_are_checked_as_one(make: MakeSpaces) -> None:
    parts = []
    for words in (["a", "bb"], ["ccc"], ["d", "e", "f"]):
        spaces = make("string")
        spaces.add_many(words)
        parts.append(spaces.arrays())
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    starts = {name: np.cumsum([0, *(len(part[name]) for part in parts)]) for name in parts[0]}
    make.check_saved(columns, starts)
    columns["offsets"][4] = 7
    with pytest.raises(ValueError, match="do not fit"):
        make.check_saved(columns, starts)


def test_a_label_of_nothing_is_an_error(make: MakeSpaces) -> None:
    spaces = make("int")
    spaces.add_many([1])
    with pytest.raises(ValueError, match="belongs to no boundary"):
        spaces.release_many(np.array([12345], np.int32))


def test_names_of_implementations() -> None:
    assert (spaces_class("sorted"), spaces_class("pstree")) == (SortedSpaces, PSTree)
    with pytest.raises(InvalidArgument, match="spaces must be one of 'sorted', 'pstree'"):
        spaces_class("pstreet")


COUNTED: dict[str, list[tuple[Any, Any, float]]] = {
    "int": [(3, 4, 1), (3, 9, 6), (-(2**63), 2**63 - 1, 2.0**64), (2**63 - 2, 2**63 - 1, 1)],
    "number": [
        (0.5, (0.5, 2), 1), (0.5, 0.75, math.inf), (2**53, 2**53 + 1, math.inf), (2**53 + 1, (2**53 + 1, 2), 1),
        (2**53, (2**53 + 2, 2), math.inf), (2**63 - 1, (2**63 - 1, 2), 1), ((0.5, 1), (0.5, 2), 1),
        ((math.inf, 2), math.nan, 1), (0, (5e-324, 2), math.inf), (1e300, (1e300, 2), 1), (1, 2, math.inf),
        (place_of(Decimal("0.10000000000000000001")), (place_of(Decimal("0.10000000000000000001")), 2), 1),
        (place_of(Decimal("0.10000000000000000001")), (place_of(Decimal("0.10000000000000000002")), 2), math.inf),
    ],
    "string": [
        ("a", "a\0", 1), ("a", "b", math.inf), ("a", "b\0", math.inf), ("\0", "\0\0", 1), ("é", "é\0", 1),
        ("same beginning, long", "same beginning, long\0", 1),
        ("same beginning, long", "same beginning, lonh\0", math.inf),
    ],
}  # fmt: skip
ENDS: list[tuple[str, Any, float, float]] = [
    ("bool", 1, 1, 1),
    ("int", 1, 2.0**63, 2.0**63),
    ("number", (math.inf, 2), math.inf, 1),
    ("number", (-math.inf, 2), 1, math.inf),
    ("string", "\0", 1, math.inf),
]
"""A boundary, and how many values lie below it and from it on; numbers of 64 bits to the precision of a double."""


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("kind", COUNTED)
def test_values_between_boundaries_are_counted(
    make: MakeSpaces, kind: str, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not few:
        monkeypatch.setattr(labelled_spaces, "FEW", 0)
    for low, high, count in COUNTED[kind]:
        spaces = make(kind)
        spaces.add_many(POOLS[kind])
        first, last = (spaces.add_many([end]) for end in (low, high))
        ends = np.array([[*first, BOTTOM_LABEL], [*last, TOP_LABEL]], np.int32)
        found = spaces.values_between(*ends)
        assert found[0] == count
        assert found[1] > 1


@pytest.mark.parametrize(("kind", "boundary", "below", "above"), ENDS)
def test_values_at_the_ends_of_a_domain_are_counted(
    make: MakeSpaces, kind: str, boundary: Any, below: float, above: float
) -> None:
    spaces = make(kind)
    label = spaces.add_many([boundary])
    bottom, top = np.array([BOTTOM_LABEL], np.int32), np.array([TOP_LABEL], np.int32)
    assert spaces.values_between(bottom, label).tolist() == [below]
    assert spaces.values_between(label, top).tolist() == [above]


def test_values_are_counted_among_dead_boundaries(make: MakeSpaces) -> None:
    spaces = make("int")
    labels = spaces.add_many(list(range(0, 4_000, 2)))
    spaces.release_many(labels[1:3])
    assert spaces.values_between(labels[:1], labels[3:4]).tolist() == [6]
