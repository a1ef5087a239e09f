"""How an A-Tree lies in arrays: the fields of a node, the kinds of nodes, and the counters beside them.

A node is eight integers, half a cache line, so that whoever follows a link reads it at one stroke:

    KIND     kind, and the level shifted by KIND_BITS above it
    FIRST    an inner node's first child in the pool of children;    a leaf's lower label, or first interval
    SIZE     how many children;                                      its upper label, or the end of its intervals
    ROOM     the room for children;                                  its code
    PARENTS  the first parent in the pool of parents
    FAN      how many parents
    ACTIVE   how many of them, the first ones, are told when the node is true
    UNIT     the unit that the node is the root of, or -1

The code of a leaf is its attribute, and below it whether NULL passes, and whether the leaf has several intervals, or
none: then FIRST and SIZE are a range of those, else the labels of the only one.

The first child of an inner node is its access child. Of the parents of a node, those are active that are not AND
nodes, and those AND nodes whose access child it is (all of them without propagation on demand).

SIGMOD 2021, 4.1: l-, i- and r-nodes, `level`; 5.2.2: the access child.
"""

from __future__ import annotations

from matchwood.encoding import AND, LEAF, NOT, OR, PREDICATE, XNOR, XOR

__all__ = ["AND", "LEAF", "NOT", "OR", "PREDICATE", "XNOR", "XOR"]

WIDTH = 8
KIND, FIRST, SIZE, ROOM, PARENTS, FAN, ACTIVE, UNIT = range(8)

KIND_BITS = 4
KIND_MASK = 15

ACCEPTS_NULL, SEVERAL, FLAG_BITS = 1, 2, 2
"""Flags in the code of a leaf, and how many bits they take: the attribute is above these."""

DEAD = 0
"""The kind of a number that no node has; the others are those of `encoding/codes.py`."""

(
    NODE_COUNT,  # nodes numbered so far, dead ones included
    LIVE,  # nodes that are alive
    EDGES,  # links from a node to a child
    CHILD_END,  # places of the pool of children in use or left behind
    PARENT_END,  # the same of the pool of parents
    CHILD_WASTE,  # places left behind by lists that moved or went
    PARENT_WASTE,
    FREE,  # the first inner node that may be used again, or -1; FIRST leads on
    TOP,  # no node has a higher level
    TOMBSTONES,  # slots of the table that were given up
    TOKENS,  # leaves made so far: their ids are made of it
    ID_MASK,  # the bits of an id that count: all, unless a test wants collisions
    STAMP,  # the last stamp given; grows by 4
    INTERVALS,  # intervals in use or left behind
    STALE_LEAVES,  # leaves that went, whose numbers the postings still hold
    STEPS,  # what is left to spend on the search for covers of one node
) = range(16)
STATE_SIZE = 16

EMPTY = -1
TOMBSTONE = -2

MOST_FLAT = 1024
"""A nest of the same operator is read as one list of operands up to this many; a longer one keeps its nodes."""

OFF, BOUNDED, UNBOUNDED = range(3)
"""How far reorganisation and self-adjustment look: not at all, as far as what follows lets them, or at everything."""

MOST_WALKED = 8
"""Parents of an operand that are looked at in the search for covers: a leaf may have a million.

Those that came first are looked at, and in bulk the smallest come first, which are the likeliest parts of others. In
100,000 ads, where one link in a hundred can be saved, 8 save 6,800 links, 16 save 8,100 and take 1.7 times as long, 32
save 8,900.
"""

MOST_ASKED = 64
"""Parents of a child of a new node that are asked whether they would take the node in."""

MOST_CANDIDATES = 32
"""Covers that are weighed against each other for one node."""

MOST_STEPS = 1 << 16
"""Links followed at most in the search for the covers of one node, and again for what may adopt it."""

MOST_HANDED = 1 << 16
"""Links that handing over a node's children may make at most; a node beyond that stays as it is."""
