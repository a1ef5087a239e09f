"""Kernel that looks at every unit of an index."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared.constraints._word_kernels import ACCEPTS_NULL, code_at, stretch


@bare_kernel
def find_led_to(conjunctions: Any, led_to: Any) -> None:
    """Whether each unit has a constraint that refuses NULL."""
    places, words, sets, bits = conjunctions
    for unit in range(len(led_to)):
        first, last = stretch(places, words, unit)
        led_to[unit] = False
        for position in range(first, last):
            if code_at(words, sets, bits, position) & ACCEPTS_NULL == 0:
                led_to[unit] = True
                break
