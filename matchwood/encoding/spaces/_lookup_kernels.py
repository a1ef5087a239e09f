"""Compiled look-ups of elements among the sorted boundaries of an attribute.

Boundaries stand in two sorted parts, a large main one and a small tail. Labels are ordered like the boundaries,
so the label of an element's space is the larger of the labels found in the two parts. All arrays are read-only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import kernel


@kernel
def _count_up_to(keys: Any, key: Any) -> Any:
    """How many sorted keys are not above `key`; without branches that the processor would guess wrong."""
    base = 0
    size = len(keys)
    while size > 0:
        half = (size + 1) >> 1
        base = base + half if keys[base + half - 1] <= key else base
        size -= half
    return base


@kernel
def _count_pairs_up_to(primary: Any, rests: Any, key: Any, rest: Any) -> Any:
    """How many sorted pairs are not above (key, rest)."""
    found = _count_up_to(primary, key)
    while found > 0 and primary[found - 1] == key and rests[found - 1] > rest:
        found -= 1
    return found


@kernel
def locate_integers(primary: Any, labels: Any, tail: Any, tail_labels: Any, elements: Any) -> Any:
    """The labels of elements whose key is one integer."""
    found = np.empty(len(elements), np.int32)
    for position in range(len(elements)):
        main = _count_up_to(primary, elements[position])
        label = labels[main - 1] if main else np.int32(0)
        if len(tail):
            beside = _count_up_to(tail, elements[position])
            if beside:
                label = max(label, tail_labels[beside - 1])
        found[position] = label
    return found


@kernel
def locate_pairs(
    primary: Any, own_rests: Any, labels: Any, tail: Any, tail_rests: Any, tail_labels: Any, keys: Any, rests: Any
) -> Any:
    """The labels of elements whose key has two parts."""
    found = np.empty(len(keys), np.int32)
    for position in range(len(keys)):
        main = _count_pairs_up_to(primary, own_rests, keys[position], rests[position])
        label = labels[main - 1] if main else np.int32(0)
        if len(tail):
            beside = _count_pairs_up_to(tail, tail_rests, keys[position], rests[position])
            if beside:
                label = max(label, tail_labels[beside - 1])
        found[position] = label
    return found


@kernel
def _prefix(data: Any, start: int, stop: int) -> Any:
    """The first eight bytes as a number that orders strings as far as they go."""
    prefix = np.uint64(0)
    for position in range(start, start + 8):
        prefix = (prefix << np.uint64(8)) | np.uint64(data[position] if position < stop else 0)
    return prefix


@kernel
def prefixes(offsets: Any, data: Any) -> Any:
    """The first eight bytes of every string."""
    found = np.empty(len(offsets) - 1, np.uint64)
    for position in range(len(found)):
        found[position] = _prefix(data, offsets[position], offsets[position + 1])
    return found


@kernel
def _is_above(data: Any, start: int, stop: int, other: Any, other_start: int, other_stop: int) -> Any:
    """Whether the one string comes after the other."""
    shared = min(stop - start, other_stop - other_start)
    for position in range(shared):
        byte, other_byte = data[start + position], other[other_start + position]
        if byte != other_byte:
            return byte > other_byte
    return stop - start > other_stop - other_start


@kernel
def _count_strings_up_to(first: Any, offsets: Any, data: Any, key: Any, text: Any, start: int, stop: int) -> Any:
    """How many sorted strings are not above the one at text[start:stop], whose first eight bytes are `key`."""
    high = _count_up_to(first, key)
    if high == 0 or first[high - 1] != key:
        return high
    low = high - 1
    while low > 0 and first[low - 1] == key:
        low = low - 1 if high - low < 16 else _count_up_to(first, key - np.uint64(1)) if key else 0
    while low < high:
        middle = (low + high) >> 1
        if _is_above(data, offsets[middle], offsets[middle + 1], text, start, stop):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def locate_strings(
    first: Any, offsets: Any, data: Any, labels: Any,
    tail_first: Any, tail_offsets: Any, tail_data: Any, tail_labels: Any,
    texts: Any, text: Any,
) -> Any:  # fmt: skip
    """The labels of the strings text[texts[i] : texts[i + 1]]."""
    found = np.empty(len(texts) - 1, np.int32)
    for position in range(len(found)):
        start, stop = texts[position], texts[position + 1]
        key = _prefix(text, start, stop)
        main = _count_strings_up_to(first, offsets, data, key, text, start, stop)
        label = labels[main - 1] if main else np.int32(0)
        if len(tail_labels):
            beside = _count_strings_up_to(tail_first, tail_offsets, tail_data, key, text, start, stop)
            if beside:
                label = max(label, tail_labels[beside - 1])
        found[position] = label
    return found


@kernel
def find_string(first: Any, offsets: Any, data: Any, text: Any) -> Any:
    """Twice the number of boundaries that are not above one string, and one more if it is the last of these."""
    count = _count_strings_up_to(first, offsets, data, _prefix(text, 0, len(text)), text, 0, len(text))
    if count == 0 or _is_above(text, 0, len(text), data, offsets[count - 1], offsets[count]):
        return 2 * count
    return 2 * count + 1


@kernel
def gather_strings(offsets: Any, data: Any, order: Any) -> Any:
    """The strings in another order, some perhaps left out."""
    ends = np.zeros(len(order) + 1, np.int64)
    for position in range(len(order)):
        chosen = order[position]
        ends[position + 1] = ends[position] + offsets[chosen + 1] - offsets[chosen]
    copied = np.empty(ends[len(order)], np.uint8)
    for position in range(len(order)):
        start = offsets[order[position]]
        for shift in range(ends[position + 1] - ends[position]):
            copied[ends[position] + shift] = data[start + shift]
    return ends, copied


@kernel
def next_strings(offsets: Any, data: Any, low: Any, high: Any) -> Any:
    """Whether the string at high[i] is the one after that at low[i]: the same, and a NUL byte."""
    found = np.zeros(len(low), np.bool_)
    for index in range(len(low)):
        start, other = offsets[low[index]], offsets[high[index]]
        length = offsets[low[index] + 1] - start
        if offsets[high[index] + 1] - other == length + 1:
            follows = data[other + length] == 0
            for shift in range(length):
                follows &= data[start + shift] == data[other + shift]
            found[index] = follows
    return found


@kernel
def same_strings(offsets: Any, data: Any, positions: Any, texts: Any, text: Any) -> Any:
    """Whether the string at positions[i] of the one column is the i-th of the other."""
    same = np.zeros(len(positions), np.bool_)
    for index in range(len(positions)):
        start, stop = offsets[positions[index]], offsets[positions[index] + 1]
        length = stop - start
        if texts[index + 1] - texts[index] == length:
            equal = True
            for shift in range(length):
                equal &= data[start + shift] == text[texts[index] + shift]
            same[index] = equal
    return same
