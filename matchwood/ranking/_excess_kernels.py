"""Kernel that holds scores against bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.core.jit import bare_kernel
from matchwood.engines.shared._bound_kernels import unit_bound
from matchwood.engines.shared._scoring_kernels import begin_event, end_event, score
from matchwood.engines.shared._verification_kernels import clear, scatter
from matchwood.engines.shared.bounds import SLACK


@bare_kernel
def find_excess(
    conjunctions: Any, bounds: Any, context: Any, events: Any, hit_offsets: Any, hits: Any, labels: Any,
    promised: Any, touched: Any, excess: Any,
) -> None:  # fmt: skip
    """For each row the most by which a score of it was above what the best of its TRUE units promised.

    `promised` is -1 for every row between the events, and `touched` has room for all rows.
    """
    heads, chain, constants, weights = context.heads, context.chain, context.programs.constants, context.scratch.weights
    for event in range(len(hit_offsets) - 1):
        begin_event(context, event)
        scatter(events, event, labels)
        most, count = 0.0, 0
        for weight in weights:
            most = max(most, weight)
        for place in range(hit_offsets[event], hit_offsets[event + 1]):
            unit = hits[place]
            bound = unit_bound(conjunctions, bounds, unit, labels, weights, context.names, most)
            node, row = np.int64(-2) - np.int64(heads[unit]), np.int64(heads[unit])
            while row != -1:
                if node >= 0:
                    row, node = np.int64(chain[2 * node]), np.int64(chain[2 * node + 1])
                if promised[row] < 0:
                    touched[count] = row
                    count += 1
                own = bound + min(constants[row], bounds.constants[unit])
                promised[row] = max(promised[row], own)
                if node < 0:
                    break
        for place in range(count):
            row = touched[place]
            above = score(context.programs, row, context.scratch) - promised[row] * SLACK
            excess[row], promised[row] = max(excess[row], above), -1.0
        clear(events, event, labels)
        end_event(context, event)
