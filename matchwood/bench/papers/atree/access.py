"""What the choice of access children is worth: at random as in the paper, rarest by estimate or by event statistics.

A node listens to one child only. Which one decides how often it is looked at in vain, which the candidates show.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from matchwood.bench.frame.setup import insert_all
from matchwood.bench.papers.atree._access_child_kernels import choose_all
from matchwood.bench.papers.atree.building import matcher_of
from matchwood.bench.papers.atree.cells import PreparedTrees, TreeCell, matching_of
from matchwood.bench.papers.atree.plan import TreeScale
from matchwood.engines import ATree
from matchwood.index import Index

SEED = 11


def measure_choices(prepared: PreparedTrees, size: TreeScale) -> list[TreeCell]:
    """A cell for each way to choose, from the worst informed to the best."""
    half = prepared.table.num_rows // 2
    measured, met = prepared.table.slice(0, half), prepared.table.slice(half)
    return [_cell(name, prepare(prepared.texts, met), measured, size) for name, prepare in CHOICES.items()]


def _at_random(texts: list[str], met: pa.Table) -> Index:
    index = _by_estimate(texts, met)
    _draw(matcher_of(index).engine)
    return index


def _by_estimate(texts: list[str], met: pa.Table) -> Index:
    index = Index("atree")
    insert_all(index, texts)
    return index


def _by_event_statistics(texts: list[str], met: pa.Table) -> Index:
    index = _by_estimate(texts, met)
    index.match_many(met)
    index.compact()  # which chooses by the events that it has met
    return index


CHOICES: dict[str, Callable[[list[str], pa.Table], Index]] = {
    "at random": _at_random,
    "rarest by estimate": _by_estimate,
    "rarest by event statistics": _by_event_statistics,
}
"""Each has a tree of its own, which meets the measured events for the first time."""


def _cell(name: str, index: Index, events: pa.Table, size: TreeScale) -> TreeCell:
    figures, hits = matching_of(index, events, size.seconds)
    return TreeCell({"engine": f"atree, access child {name}", "rules": len(index), **figures}, hits, figures["events"])


def _draw(tree: ATree) -> None:
    """Any child of a node is its access child with the same probability: the one with the least random share."""
    shares = tree.nodes.columns["shares"].writable()
    shares[:] = np.random.default_rng(SEED).random(len(shares), dtype=np.float32)
    choose_all(tree.nodes.tree(), tree.nodes.inner().astype(np.int32), tree.on_demand)
