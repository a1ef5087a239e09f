"""The values in any of some sets, for many such unions at once."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.logic.columnar._leaf_kernels import START, merged_cuts


@bare_kernel
def unite_all(members: Any, member_ends: Any, negated: Any, set_ends: Any, set_cuts: Any, ranks: Any, buffers: Any,
              out: Any, ends: Any) -> Any:  # fmt: skip
    """Write the union of the sets members[…] of each row, or all values outside it; how many cuts that takes."""
    written = first = 0
    for row in range(len(member_ends)):
        count, turn = 0, 0
        for place in range(first, member_ends[row]):
            start, stop = set_ends[members[place]], set_ends[members[place] + 1]
            now, then = buffers[turn], buffers[1 - turn]
            count = merged_cuts(ranks, now, count, set_cuts, start, stop, 0, then)
            turn = 1 - turn
        skipped = 0
        if negated[row]:
            if count and buffers[turn, 0] == START:
                skipped = 1
            else:
                out[written] = START
                written += 1
        for place in range(skipped, count):
            out[written] = buffers[turn, place]
            written += 1
        ends[row] = written
        first = member_ends[row]
    return written
