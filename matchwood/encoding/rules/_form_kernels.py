"""Kernel of `flat_forms.py`: the children of inner nodes, from their numbers in a form to those in a batch of forms."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel


@bare_kernel
def number_children(
    lengths: Any, leaf_of: Any, leaves: Any, node_counts: Any, child_counts: Any, children: Any, out: Any
) -> None:
    """Write the number in the batch of each child: leaves have the numbers leaf_of, inner nodes come behind all.

    `lengths`  the leaves of each form; `leaves` how many there are in the batch
    """
    first_leaf = first_node = node = at = 0
    for form in range(len(lengths)):
        held = lengths[form]
        for _ in range(node_counts[form]):
            for _ in range(child_counts[node]):
                child = children[at]
                out[at] = leaf_of[first_leaf + child] if child < held else leaves + first_node + child - held
                at += 1
            node += 1
        first_leaf += held
        first_node = node
