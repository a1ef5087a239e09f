"""Many forms as one DAG of integers, in which each distinct leaf stands once, or once a form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.encoding import codes
from matchwood.logic import TRUE, Form, Leaf
from matchwood.logic import form as forms_of_logic

_CODES = {
    forms_of_logic.LEAF: codes.LEAF,
    forms_of_logic.AND: codes.AND,
    forms_of_logic.OR: codes.OR,
    forms_of_logic.NOT: codes.NOT,
    forms_of_logic.XOR: codes.XOR,
    forms_of_logic.XNOR: codes.XNOR,
    forms_of_logic.PREDICATE: codes.PREDICATE,
}


class Joined(NamedTuple):
    """The fields of `EncodedForms`, with leaves in the place of their constraints."""

    leaves: list[Leaf]
    leaf_kinds: NDArray[np.int8]
    kinds: NDArray[np.int8]
    child_offsets: NDArray[np.int64]
    children: NDArray[np.int32]
    roots: NDArray[np.int32]


def joined(forms: Sequence[Form], shared: bool = True) -> Joined:
    """Number the leaves of all forms together, and behind them the other nodes, form by form.

    Equal leaves of different forms are one leaf if they are to be `shared`.
    """
    leaves: list[tuple[int, Leaf]] = []
    known: dict[tuple[int, Leaf], int] = {}
    kinds: list[int] = []
    sizes: list[int] = []
    children: list[int] = []
    roots: list[int] = []
    objects: dict[int, int] = {}
    # Inner nodes are numbered from -2 down until all leaves are known.
    for form in forms:
        if not shared:
            leaves += known
            known.clear()
            objects.clear()
        places: list[Any] = list(map(objects.get, map(id, form.leaves)))
        if None in places:
            _number_leaves(form, places, known, objects, len(leaves))
        if form.kinds[-1] == TRUE:
            roots.append(codes.ALWAYS_TRUE)
            continue
        for position in range(len(places), len(form.kinds)):
            places.append(-2 - len(kinds))
            kinds.append(_CODES[form.kinds[position]])
            sizes.append(len(form.children[position]))
            children.extend([places[child] for child in form.children[position]])
        roots.append(places[-1])
    leaves += known
    return Joined(
        [leaf for _, leaf in leaves],
        np.array([_CODES[kind] for kind, _ in leaves], np.int8),
        np.array(kinds, np.int8),
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        _numbered(children, len(leaves)),
        _numbered(roots, len(leaves)),
    )


def _number_leaves(
    form: Form, places: list[Any], known: dict[tuple[int, Leaf], int], objects: dict[int, int], before: int
) -> None:
    """Fill in the places of leaves that are new objects, not always new leaves; rules share most of the objects."""
    for position, each in enumerate(zip(form.kinds, form.leaves, strict=False)):
        if places[position] is None:
            place = places[position] = known.setdefault(each, before + len(known))
            if each[0] == forms_of_logic.LEAF:
                objects[id(each[1])] = place


def _numbered(places: list[int], leaves: int) -> NDArray[np.int32]:
    numbers = np.array(places, np.int32)
    return np.where(numbers < codes.ALWAYS_TRUE, leaves - 2 - numbers, numbers).astype(np.int32)
