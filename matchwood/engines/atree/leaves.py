"""From an event to the leaves of an A-Tree: posting lists by label, and chains of the leaves that accept NULL.

SIGMOD 2021, 5.1, Algorithm 6, line 1: the predicates that are true of an event; by posting lists, where the paper
leaves it open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core import Column, Part, State, require, require_range
from matchwood.encoding import BOTTOM_LABEL, PREDICATE, TOP_LABEL, EncodedConjunctions
from matchwood.engines.atree._unit_kernels import chain_nulls
from matchwood.engines.atree.layout import ACCEPTS_NULL, FLAG_BITS, KIND, KIND_MASK, ROOM
from matchwood.engines.atree.nodes import TreeNodes
from matchwood.engines.base import EventShares
from matchwood.engines.shared.constraints._word_kernels import NOWHERE
from matchwood.engines.shared.constraints.words import as_words
from matchwood.engines.shared.postings import Postings
from matchwood.engines.shared.store import Conjunctions
from matchwood.engines.shared.views import read_only

_NOBODY = -1


class Nulls(NamedTuple):
    """The attributes that have a chain, the first link of each attribute (-1: none), and leaf and next link in turn."""

    attributes: NDArray[np.int32]
    heads: NDArray[np.int32]
    chain: NDArray[np.int32]


class LeavesByAttribute(NamedTuple):
    """All leaves of attribute a: members[offsets[a] : offsets[a + 1]]; and those that NULL does not leave unknown."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]
    definite: NDArray[np.int32]


class LeafLists(State):
    """Grows with the leaves; of those that go, numbers stay until all is built anew."""

    postings = Part(lambda lists: Postings(), prefix="postings.", units="nodes", attributes="attributes")
    _attributes = Column(np.int32, name="nulls.attributes", below="attributes")
    _heads = Column(np.int32, name="nulls.heads", length="attributes", low=_NOBODY, below="_links")
    _chain = Column(np.int32, name="nulls.chain")

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        super().start()
        self._by_attribute: LeavesByAttribute | None = None

    @property
    def _links(self) -> int:
        return len(self._chain) // 2

    @property
    def nulls(self) -> Nulls:
        return Nulls(self._attributes.view(), self._heads.view(), self._chain.view())

    def add(self, nodes: TreeNodes, attributes: int, leaves: NDArray[np.int32]) -> None:
        """List new leaves; `attributes` is how many there can be."""
        self._by_attribute = None
        self._heads.resize(max(len(self._heads), attributes), _NOBODY)
        if not len(leaves):
            return
        constraints = posted_constraints(nodes, leaves)
        self.postings.post(constraints, attributes, np.arange(len(leaves), dtype=np.int32), leaves)
        accepting = leaves[nodes.fields()[leaves, ROOM] & ACCEPTS_NULL != 0]
        if len(accepting):
            self._add_nulls(nodes, accepting)

    def _add_nulls(self, nodes: TreeNodes, leaves: NDArray[np.int32]) -> None:
        links, count = len(self._chain) // 2, len(self._attributes)
        self._chain.resize(2 * (links + len(leaves)))
        self._attributes.resize(count + len(leaves))
        links, count = chain_nulls(
            nodes.columns["nodes"].view(), read_only(leaves, np.int32), self._heads.writable(), self._chain.writable(),
            links, self._attributes.writable(), count,
        )  # fmt: skip
        self._attributes.resize(count)

    def by_attribute(self, nodes: TreeNodes, attributes: int) -> LeavesByAttribute:
        """What matching without zero suppression reads, made when it is first asked for."""
        if self._by_attribute is None:
            leaves = nodes.leaves()
            fields = nodes.fields()[leaves]
            owners = fields[:, ROOM] >> FLAG_BITS
            order = np.argsort(owners, kind="stable")
            offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=attributes))])
            definite = leaves[fields[:, KIND] & KIND_MASK != PREDICATE]
            made = (offsets.astype(np.int64), leaves[order], definite)
            self._by_attribute = LeavesByAttribute(*(read_only(array, array.dtype) for array in made))
        return self._by_attribute

    # ------------------------------------------------------------------ trust

    def invariants(self) -> None:
        owners, _, chain = self.nulls
        require(len(chain) % 2 == 0, "'chain' is cut off")
        require(len(np.unique(owners)) == len(owners), "an attribute occurs twice among those with a chain")
        require_range(chain[::2], 0, self.given["nodes"], "chain")
        require((chain[1::2] >= _NOBODY).all(), "'chain' leads nowhere")
        require((chain[1::2] < np.arange(len(chain) // 2)).all(), "'chain' leads round in circles")

    def audit(self, nodes: TreeNodes) -> list[str]:
        """Whether every leaf is found by each of its blocks, and by NULL if it accepts that."""
        leaves = nodes.leaves()
        constraints = posted_constraints(nodes, leaves)
        places = np.full(nodes.count, NOWHERE, np.int32)
        places[leaves] = constraints.places
        problems = self.postings.audit(constraints._replace(places=read_only(places, np.int32)), leaves)
        accepting = leaves[nodes.fields()[leaves, ROOM] & ACCEPTS_NULL != 0]
        chained = np.sort(self._chained(nodes))
        if not np.array_equal(chained[np.isin(chained, leaves)], accepting):
            problems.append("the chains of leaves that accept NULL do not hold each of them once")
        return problems

    def _chained(self, nodes: TreeNodes) -> NDArray[np.int32]:
        found: list[int] = []
        owners, heads, chain = self.nulls
        for attribute in owners.tolist():
            link = int(heads[attribute])
            while link >= 0:
                leaf = int(chain[2 * link])
                if nodes.fields()[leaf, ROOM] >> FLAG_BITS == attribute:
                    found.append(leaf)
                link = int(chain[2 * link + 1])
        return np.array(found, np.int32)


def posted_constraints(nodes: TreeNodes, leaves: NDArray[np.int32]) -> Conjunctions:
    """The constraints of leaves as those of a store, as if NULL passed none: postings leave out what accepts it."""
    constraints = nodes.encoded(leaves)
    return Conjunctions(*as_words(constraints._replace(accepts_null=np.zeros(len(leaves), np.bool_))))


def leaf_shares(constraints: EncodedConjunctions, statistics: EventShares) -> NDArray[np.float64]:
    """The share of events of which each constraint was true so far, never quite none."""
    owners = np.repeat(np.arange(len(constraints.attributes)), np.diff(constraints.pieces))
    attributes = constraints.attributes
    parts = statistics.shares(attributes[owners], constraints.low, constraints.high)
    everything = np.full(len(attributes), TOP_LABEL, np.int32)
    missing = 1.0 - statistics.shares(attributes, np.full(len(attributes), BOTTOM_LABEL, np.int32), everything)
    shares = np.bincount(owners, weights=parts, minlength=len(attributes))
    return np.clip(shares + np.where(constraints.accepts_null, missing, 0.0), 1e-9, 1.0)


def selected(constraints: EncodedConjunctions, places: NDArray[np.int64]) -> EncodedConjunctions:
    """Some of the constraints, each a conjunction of its own."""
    counts = np.diff(constraints.pieces)[places]
    pieces = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    taken = np.arange(int(pieces[-1])) + np.repeat(constraints.pieces[:-1][places] - pieces[:-1], counts)
    return EncodedConjunctions(
        np.arange(len(places) + 1, dtype=np.int64),
        constraints.attributes[places],
        constraints.accepts_null[places],
        pieces,
        constraints.low[taken],
        constraints.high[taken],
    )
