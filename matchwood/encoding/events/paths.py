"""Where the attributes that rules name may stand in an event: a trie of keys.

`a.b` is field b of a, or the key `a.b`, and for longer paths any mixture (`a` holding the key `b.c`), which is
what flattening nested events with dots means. The trie has one edge for each key that can occur on
the way to an attribute, so an event is read by following the keys it really has; whatever is not in
the trie is never looked at. A quoted key stands only for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from matchwood.language import split_path

MAX_JOINED_PATH = 16
"""Paths of more keys are found nested all the way or as one top-level key; every mixture would be n² edges."""


class Edge:
    """One key on the way.

    `here`   the attributes, by position, whose value stands here
    `below`  the nodes that lead on: mostly one; a quoted key with dots has its own
    `sole`   whether no attribute that is found by way of this key can also stand elsewhere
    """

    __slots__ = ("below", "here", "sole")

    def __init__(self) -> None:
        self.here: tuple[int, ...] = ()
        self.below: tuple[Node, ...] = ()
        self.sole = True


Node: TypeAlias = dict[str, Edge]


def key_trie(names: Sequence[str]) -> Node:
    """The trie of all ways to reach these attributes; position i in `here` stands for names[i].

    >>> trie = key_trie(["age", "a.b", "`a.b`"])
    >>> sorted(trie), trie["a.b"].here, trie["a"].below[0]["b"].here
    (['a', 'a.b', 'age'], (1, 2), (1,))
    """
    root: Node = {}
    nodes: dict[tuple[int, str], Node] = {}
    for position, name in enumerate(names):
        _add_path(root, nodes, position, split_path(name))
    return root


def _add_path(root: Node, nodes: dict[tuple[int, str], Node], position: int, keys: tuple[str, ...]) -> None:
    """The node after a prefix of the path is one and the same, whichever keys led there."""
    levels = [root]
    for key in keys[:-1]:
        levels.append(nodes.setdefault((id(levels[-1]), key), {}))
    for start, stop in _spans(keys):
        edge = levels[start].setdefault(".".join(keys[start:stop]), Edge())
        edge.sole &= len(keys) == 1
        if stop == len(keys):
            edge.here += (position,)
        elif not any(node is levels[stop] for node in edge.below):
            edge.below += (levels[stop],)


def _spans(keys: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """The stretches of a path that may stand as one key: single keys, and joined ones without quoted parts."""
    count = len(keys)
    for start in range(count):
        yield start, start + 1
    dotted = ["." in key for key in keys]
    if count > MAX_JOINED_PATH:
        if not any(dotted):
            yield 0, count
        return
    for start in range(count):
        for stop in range(start + 2, count + 1):
            if not any(dotted[start:stop]):
                yield start, stop


def positions_below(node: Node) -> set[int]:
    """All attributes that can be reached from this node."""
    found: set[int] = set()
    stack, seen = [node], {id(node)}
    while stack:
        for edge in stack.pop().values():
            found.update(edge.here)
            deeper = [below for below in edge.below if id(below) not in seen]
            seen.update(map(id, deeper))
            stack += deeper
    return found
