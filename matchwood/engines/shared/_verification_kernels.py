"""Whether a conjunction is true of an event: shared by every engine.

An event's labels are scattered into a dense array by attribute, NULL_LABEL elsewhere, and cleared by walking the
same pairs. Attributes beyond the dense array are known to no rule and left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel, kernel
from matchwood.encoding.codes import NULL_LABEL
from matchwood.engines.shared.constraints._set_kernels import (
    LABEL_BITS,
    has_few,
    in_few,
    in_set,
    null_passes,
    set_attribute,
)
from matchwood.engines.shared.constraints._word_kernels import LAST, PAYLOAD, SET, set_of

LIVE = 1
STALE = 2
"""States of a unit; 0 is one that an engine does not have."""

_ONE = np.uint64(1)


@kernel
def scatter(events: Any, event: int, labels: Any) -> None:
    """Put the labels of an event where `verify` looks for them."""
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(labels):
            labels[attribute] = events.labels[pair]


@kernel
def clear(events: Any, event: int, labels: Any) -> None:
    """Undo `scatter`."""
    for pair in range(events.offsets[event], events.offsets[event + 1]):
        attribute = events.attributes[pair]
        if attribute < len(labels):
            labels[attribute] = NULL_LABEL


@bare_kernel
def word_holds(word: Any, bits: Any, labels: Any) -> Any:
    """Whether a word that is no set holds of the scattered labels.

    One unsigned comparison does for both ends of an interval, and for NULL, whose rank is above all.
    """
    payload, width = np.uint32(word) & np.uint32(PAYLOAD), np.uint32(bits)
    mask = (np.uint32(1) << width) - np.uint32(1)
    rank = np.uint32(labels[payload >> (width + width)]) >> np.uint32(np.uint32(LABEL_BITS) - width)
    return np.uint32(rank - ((payload >> width) & mask)) <= payload & mask


@bare_kernel
def set_holds(sets: Any, at: Any, labels: Any) -> Any:
    """Whether a set does; of most sets, without a branch that depends on the label."""
    if has_few(sets, at):
        label = labels[np.uint16(sets[at + 1])]
        return (label != NULL_LABEL) & in_few(sets, at, label)
    label = labels[set_attribute(sets, at)]
    return null_passes(sets, at) if label == NULL_LABEL else in_set(sets, at, label)


@bare_kernel
def constraint_holds(word: Any, sets: Any, bits: Any, labels: Any) -> Any:
    """Whether a constraint does."""
    if word & np.uint32(SET) != 0:
        return set_holds(sets, set_of(word), labels)
    return word_holds(word, bits, labels)


@bare_kernel
def holds_from(words: Any, sets: Any, bits: Any, position: Any, labels: Any) -> Any:
    """Whether the constraints of a conjunction from a position on hold of the scattered labels, which are some."""
    at = np.uint64(position)
    while True:
        word = words[at]
        if word & np.uint32(SET) == 0:
            if not word_holds(word, bits, labels):
                return False
        elif not set_holds(sets, set_of(word), labels):
            return False
        if word & np.uint32(LAST) != 0:
            return True
        at += _ONE


@bare_kernel
def verify(places: Any, words: Any, sets: Any, bits: Any, unit: Any, labels: Any) -> Any:
    """Whether all constraints of a conjunction hold of the scattered labels."""
    first = np.int64(places[unit])
    return first < 0 or holds_from(words, sets, bits, first, labels)
