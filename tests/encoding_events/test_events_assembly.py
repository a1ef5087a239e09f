"""The compiled assembly of pairs, against the plainest code, and what the Assembly makes of parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from events_support import Pairs, PlainDerived, PlainSpaces, rows_of
from hypothesis import given
from hypothesis import strategies as st

from matchwood.encoding.attribute import Source, Target
from matchwood.encoding.codes import EncodedEvents
from matchwood.encoding.events._assembly_kernels import pairs_of_matrix, pairs_of_triples, pairs_with_verdicts
from matchwood.encoding.events.assembly import Assembly
from matchwood.encoding.events.columns.parts import (
    ColumnPart,
    Misfits,
    ValueColumn,
    labels_of,
    placed,
    repeated,
    without,
)

LABELS = st.integers(-1, 5)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Any, list[int]]:
    rows, numbers = draw(st.integers(0, 20)), sorted(draw(st.sets(st.integers(0, 50), max_size=6)))
    lines = [draw(st.lists(LABELS, min_size=rows, max_size=rows)) for _ in numbers]
    return np.array(lines, np.int32).reshape(len(numbers), rows), numbers


def plain_rows(matrix: Any, numbers: list[int]) -> list[Pairs]:
    return [
        [(number, int(line[row])) for number, line in zip(numbers, matrix, strict=True) if line[row] >= 0]
        for row in range(matrix.shape[1])
    ]


@given(matrices())
def test_pairs_of_a_matrix(given_matrix: tuple[Any, list[int]]) -> None:
    matrix, numbers = given_matrix
    wider = np.pad(matrix, ((0, 0), (0, 3)), constant_values=7)
    events = EncodedEvents(*pairs_of_matrix(wider, matrix.shape[1], np.array(numbers, np.int32)))
    assert rows_of(events) == plain_rows(matrix, numbers)


@given(matrices())
def test_pairs_of_triples(given_matrix: tuple[Any, list[int]]) -> None:
    matrix, numbers = given_matrix
    count = matrix.shape[1]
    rows = np.tile(np.arange(count), len(numbers))
    repeated_numbers = np.repeat(np.array(numbers, np.int32), count)
    events = EncodedEvents(*pairs_of_triples(count, rows, repeated_numbers, matrix.ravel()))
    assert rows_of(events) == plain_rows(matrix, numbers)


@given(matrices(), st.data())
def test_verdicts_are_merged_in_order(given_matrix: tuple[Any, list[int]], data: st.DataObject) -> None:
    """Each source has attributes of its own; any of them may stand before, between or after the others."""
    matrix, numbers = given_matrix
    count = matrix.shape[1]
    free = sorted(set(range(60)) - set(numbers))
    groups = [free[start::3] for start in range(3)][: data.draw(st.integers(1, 3))]
    verdicts, codes = [], []
    for group in groups:
        values = data.draw(st.lists(st.lists(st.sampled_from(group), unique=True, max_size=5).map(sorted), max_size=4))
        first = len(verdicts)
        verdicts += [[(number, number % 2) for number in value] for value in values]
        chosen = st.sampled_from([-1, *range(first, len(verdicts))])
        codes.append(data.draw(st.lists(chosen, min_size=count, max_size=count)))
    direct = pairs_of_matrix(matrix, count, np.array(numbers, np.int32))
    offsets = np.cumsum([0, *map(len, verdicts)]).astype(np.int64)
    flat = np.array([pair for verdict in verdicts for pair in verdict], np.int32).reshape(-1, 2)
    code_lines = np.array(codes, np.int64).reshape(len(groups), count)
    merged = pairs_with_verdicts(*direct, code_lines, offsets, flat[:, 0].copy(), flat[:, 1].copy())
    expected = [
        sorted([*row, *(pair for line in codes if line[place] >= 0 for pair in verdicts[line[place]])])
        for place, row in enumerate(plain_rows(matrix, numbers))
    ]
    assert rows_of(EncodedEvents(*merged)) == expected


def test_several_parts_of_one_attribute() -> None:
    source = Source("x", "number", (Target(4, PlainSpaces(5)),), None)
    assembly = Assembly(5)
    assembly.add(source, ColumnPart(np.array([1, 9], np.int64), np.array([0, 3])))
    assembly.add(source, ColumnPart(np.array([7.5], np.float64), np.array([2])))
    assembly.add(source, ColumnPart(np.array([0, 0, 0, 0, 6], np.int64), valid=np.array([False] * 4 + [True])))
    assert rows_of(assembly.finish()) == [[(4, 0)], [], [(4, 10)], [(4, 10)], [(4, 10)]]


def test_sparse_and_dense_chunks_give_the_same_pairs() -> None:
    def assembled(count: int) -> list[Pairs]:
        assembly = Assembly(count)
        for number in (7, 3):
            source = Source("x", "int", (Target(number, PlainSpaces(2)),), None)
            assembly.add(source, ColumnPart(np.arange(4), np.array([3, 1, 0, 2])))
        return rows_of(assembly.finish())

    assert (
        assembled(4)
        == assembled(100)[:4]
        == [[(3, 10), (7, 10)], [(3, 0), (7, 0)], [(3, 10), (7, 10)], [(3, 0), (7, 0)]]
    )
    assert not any(assembled(100)[4:])


def test_an_attribute_may_be_encoded_to_two_numbers() -> None:
    source = Source("x", "int", (Target(1, PlainSpaces(5)), Target(0, None)), None)
    assembly = Assembly(2)
    assembly.add(source, ColumnPart(np.array([3, 7], np.int64)))
    assert rows_of(assembly.finish()) == [[(0, 0), (1, 0)], [(0, 0), (1, 10)]]


def test_derived_attributes_alone() -> None:
    source = Source("x", "string", (), PlainDerived({5: "a", 2: "b"}))
    assembly = Assembly(3)
    assembly.add(source, ColumnPart(pa.array(["ab", "c"]), codes=np.array([1, -1, 0])))
    assert rows_of(assembly.finish()) == [[(2, 0), (5, 0)], [], [(2, 1), (5, 1)]]


def test_labels_of_parts() -> None:
    labels = np.array([10, 20, 30], np.int32)
    valid = np.array([True, False, True])
    assert labels_of(ColumnPart(np.zeros(3)), labels).tolist() == [10, 20, 30]
    assert labels_of(ColumnPart(np.zeros(3), valid=valid), labels).tolist() == [10, -1, 30]
    coded = ColumnPart(np.zeros(3), codes=np.array([2, -1, 0, 0]))
    assert labels_of(coded, labels).tolist() == [30, -1, 10, 10]


def test_rows_of_columns_can_be_moved_excluded_and_repeated() -> None:
    misfits = Misfits(np.array([1]), lambda position: f"misfit {position}")
    column = ValueColumn([ColumnPart(np.array([5, 6]), np.array([0, 2]))], [misfits])
    moved = placed(column, np.array([10, 11, 12]))
    assert moved.parts[0].rows is not None
    assert moved.parts[0].rows.tolist() == [10, 12]
    assert moved.misfits[0].rows.tolist() == [11]
    excluded = without(moved, np.arange(13) == 12)
    assert excluded.parts[0].valid is not None
    assert excluded.parts[0].valid.tolist() == [True, False]
    assert len(without(moved, np.arange(13) == 11).misfits[0].rows) == 0
    again = repeated(column, np.array([1, 2, -1, 0, 1]))
    assert again.parts[0].rows is not None
    assert again.parts[0].codes is not None
    assert again.parts[0].rows.tolist() == [1, 3]
    assert again.parts[0].codes.tolist() == [1, 0]
    assert again.misfits[0].rows.tolist() == [0, 4]
    assert [again.misfits[0].got(position) for position in (0, 1)] == ["misfit 0", "misfit 0"]
