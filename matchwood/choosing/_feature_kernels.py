"""Kernel that looks at the constraints of which features are made."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared.constraints._word_kernels import attribute_of, stretch


@bare_kernel
def write_attributes(conjunctions: Any, units: Any, attributes: Any) -> None:
    """The attribute of every constraint of these units, in the order in which they lie."""
    places, words, sets, bits = conjunctions
    end = 0
    for unit in units:
        first, last = stretch(places, words, unit)
        for position in range(first, last):
            attributes[end] = attribute_of(words, sets, bits, position)
            end += 1
