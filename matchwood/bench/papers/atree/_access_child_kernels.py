"""Access children of an A-Tree drawn at random, as in its paper: what choosing the rarest is held against."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import kernel
from matchwood.engines.atree._link_kernels import choose_access


@kernel
def choose_all(tree: Any, inner: Any, on_demand: bool) -> None:
    """The access child of each of these nodes, by the shares that the tree holds now."""
    for node in inner:
        choose_access(tree, node, on_demand)
