"""What stands above the leaves of many forms, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.logic.form import Form


class FormShapes(NamedTuple):
    """The inner nodes of forms, one form after the other, as `Form` numbers them.

    `node_counts`   inner nodes of each form
    `kinds`         of each of these: AND or OR
    `child_counts`  children of each
    `children`      their numbers within the form, in which leaves come first
    """

    node_counts: NDArray[np.int32]
    kinds: NDArray[np.int8]
    child_counts: NDArray[np.int32]
    children: NDArray[np.int32]

    @classmethod
    def of(cls, forms: Sequence[Form]) -> FormShapes:
        """Those of forms that were made one by one."""
        inner = [(each.kinds[len(each.leaves) :], each.children[len(each.leaves) :]) for each in forms]
        shown = [part if each.leaves else ((), ()) for each, part in zip(forms, inner, strict=True)]
        children = list(chain.from_iterable(below for _, below in shown))
        return cls(
            np.array([len(kinds) for kinds, _ in shown], np.int32),
            np.array(list(chain.from_iterable(kinds for kinds, _ in shown)), np.int8),
            np.array([len(below) for below in children], np.int32),
            np.array(list(chain.from_iterable(children)), np.int32),
        )

    def only(self, forms: NDArray[np.bool_]) -> FormShapes:
        """Those of some forms."""
        nodes = np.repeat(forms, self.node_counts)
        children = self.children[np.repeat(nodes, self.child_counts)]
        return FormShapes(self.node_counts[forms], self.kinds[nodes], self.child_counts[nodes], children)

    def joined(self, other: FormShapes, order: NDArray[np.int64]) -> FormShapes:
        """Those of both in the given order, in which the forms of the other one are numbered behind these."""
        pairs: Any = zip(self, other, strict=True)
        both = FormShapes(*map(np.concatenate, pairs))
        nodes = _in_order(both.node_counts, order)
        children = both.children[_in_order(both.child_counts, nodes)]
        return FormShapes(both.node_counts[order], both.kinds[nodes], both.child_counts[nodes], children)


def _in_order(counts: NDArray[Any], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of all elements of some parts, of which each has so many, if the parts are put in another order."""
    ends, taken = np.cumsum(counts, dtype=np.int64), counts[order].astype(np.int64)
    begins = (ends - counts)[order]
    before = np.cumsum(taken) - taken
    places: NDArray[np.int64] = np.arange(int(taken.sum())) + np.repeat(begins - before, taken)
    return places
