"""Compiled assembly of a chunk's pairs, event by event, from the labels of its columns.

The direct pairs come from a matrix of labels where most columns are there, or from a list of triples where
events hold few of many attributes; the verdicts of derived attributes are merged into them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def pairs_of_matrix(matrix: Any, rows: int, numbers: Any) -> Any:
    """Offsets, attributes, labels: row r has a pair for each column c with matrix[c, r] >= 0.

    numbers[c] is the attribute of column c, and increases with c. The matrix may be wider than `rows`.
    """
    columns = len(numbers)
    offsets = np.zeros(rows + 1, np.int64)
    for column in range(columns):
        for row in range(rows):
            offsets[row + 1] += matrix[column, row] >= 0
    for row in range(rows):
        offsets[row + 1] += offsets[row]
    # Each pair is written where the next one goes, and stays if it is one: a branch on NULL would often be guessed
    # wrongly, at some 10 ns. The last may so be written one place beyond the end.
    attributes = np.empty(offsets[rows] + 1, np.int32)
    labels = np.empty(offsets[rows] + 1, np.int32)
    for row in range(rows):
        end = offsets[row]
        for column in range(columns):
            label = matrix[column, row]
            attributes[end] = numbers[column]
            labels[end] = label
            end += 1 + (label >> 31)
    return offsets, attributes[: offsets[rows]], labels[: offsets[rows]]


@kernel
def pairs_of_triples(count: int, rows: Any, numbers: Any, found: Any) -> Any:
    """The same from triples (row, attribute, label), ordered by attribute; those with a label below 0 are left out."""
    offsets = np.zeros(count + 2, np.int64)
    for triple in range(len(rows)):
        if found[triple] >= 0:
            offsets[rows[triple] + 2] += 1
    for row in range(count):
        offsets[row + 2] += offsets[row + 1]
    attributes = np.empty(offsets[count + 1], np.int32)
    labels = np.empty(offsets[count + 1], np.int32)
    # offsets[row + 1] is where row's next pair goes, and ends as where those of row + 1 begin.
    for triple in range(len(rows)):
        if found[triple] >= 0:
            place = offsets[rows[triple] + 1]
            attributes[place] = numbers[triple]
            labels[place] = found[triple]
            offsets[rows[triple] + 1] = place + 1
    return offsets[: count + 1], attributes, labels


@kernel
def pairs_with_verdicts(
    offsets: Any,
    attributes: Any,
    labels: Any,
    codes: Any,
    verdict_offsets: Any,
    verdict_attributes: Any,
    verdict_labels: Any,
) -> Any:
    """The pairs with those of codes[s, r] added to row r for each s (none for -1), still ordered by attribute.

    Code v stands for verdict_offsets[v] : verdict_offsets[v + 1]. Each such run is merged from the back into the
    row's pairs, which have their final room from the start: nothing is moved twice, nothing sorted.
    """
    sources, rows = codes.shape
    merged_offsets = np.zeros(rows + 1, np.int64)
    for row in range(rows):
        total = offsets[row + 1] - offsets[row]
        for source in range(sources):
            code = codes[source, row]
            if code >= 0:
                total += verdict_offsets[code + 1] - verdict_offsets[code]
        merged_offsets[row + 1] = merged_offsets[row] + total
    merged_attributes = np.empty(merged_offsets[rows], np.int32)
    merged_labels = np.empty(merged_offsets[rows], np.int32)
    for row in range(rows):
        start = merged_offsets[row]
        size = offsets[row + 1] - offsets[row]
        for position in range(size):
            merged_attributes[start + position] = attributes[offsets[row] + position]
            merged_labels[start + position] = labels[offsets[row] + position]
        for source in range(sources):
            code = codes[source, row]
            if code < 0:
                continue
            first = verdict_offsets[code]
            added = verdict_offsets[code + 1] - 1
            held = start + size - 1
            size += added + 1 - first
            place = start + size - 1
            while added >= first:
                if held >= start and merged_attributes[held] > verdict_attributes[added]:
                    merged_attributes[place] = merged_attributes[held]
                    merged_labels[place] = merged_labels[held]
                    held -= 1
                else:
                    merged_attributes[place] = verdict_attributes[added]
                    merged_labels[place] = verdict_labels[added]
                    added -= 1
                place -= 1
    return merged_offsets, merged_attributes, merged_labels
