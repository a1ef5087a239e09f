"""What the choice of access children is worth: at random as in the paper, rarest by estimate, rarest by history.

A node listens to one child only. Which one decides how often it is looked at in vain, which the candidates show.
"""

from __future__ import annotations

import numpy as np

from matchwood.bench._access_child_kernels import choose_all
from matchwood.bench.atree_building import matcher_of
from matchwood.bench.atree_cells import Cell, Prepared, matching_of
from matchwood.bench.atree_plan import Size
from matchwood.bench.setup import insert_all
from matchwood.engines import ATree
from matchwood.index import Index

SEED = 11


def measure_choices(prepared: Prepared, size: Size) -> list[Cell]:
    """A cell for each way to choose, from the worst informed to the best."""
    index = Index("atree")
    insert_all(index, prepared.texts)
    estimated = _cell("rarest by estimate", index, prepared, size)
    index.compact()  # which chooses by the events that it has met
    remembered = _cell("rarest by history", index, prepared, size)
    _draw(matcher_of(index).forms)
    return [_cell("at random", index, prepared, size), estimated, remembered]


def _cell(name: str, index: Index, prepared: Prepared, size: Size) -> Cell:
    hits = index.match_many(prepared.table)
    figures = matching_of(index, prepared.table, hits, size.seconds)
    return Cell({"engine": f"atree, access child {name}", "rules": len(index), **figures}, hits, len(prepared.table))


def _draw(tree: ATree) -> None:
    """Any child of a node is its access child with the same probability: the one with the least random share."""
    shares = tree.nodes.columns["shares"].writable()
    shares[:] = np.random.default_rng(SEED).random(len(shares), dtype=np.float32)
    choose_all(tree.nodes.tree(), tree.nodes.inner().astype(np.int32), tree.on_demand)
