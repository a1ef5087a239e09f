"""The nodes of an A-Tree with names: attributes, constraints in words, and the rules that they are."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from matchwood.encoding import (
    AND,
    BOTTOM_LABEL,
    LEAF,
    PREDICATE,
    TOP_LABEL,
    TRUE_LABEL,
    Encoder,
    is_derived,
    leaf_name,
    leaf_text,
)
from matchwood.engines import KIND_NAMES, BareNode, NodeView, bare_nodes
from matchwood.errors import InvalidArgument
from matchwood.language import parse
from matchwood.logic import Form, Leaf
from matchwood.matching import EngineMatcher, Matcher, TreePart
from matchwood.rules import RuleTable

_Said: TypeAlias = tuple[int, bool, tuple[int, ...]]
"""A constraint in integers: attribute, whether NULL is accepted, lower and upper labels in turn."""


def tree_nodes(table: RuleTable, encoder: Encoder, matcher: Matcher) -> list[NodeView]:
    """All nodes by number; InvalidArgument unless the engine is `atree` and the tree is small."""
    if not isinstance(matcher, EngineMatcher) or not isinstance(matcher.parts[0], TreePart):
        raise InvalidArgument(f"only the engine 'atree' has nodes to list (this index has {matcher.name!r})")
    tree = matcher.parts[0].store
    nodes = bare_nodes(tree)
    texts = _texts(table, encoder, matcher, nodes)
    uses = tree.uses.tolist()
    found = []
    for node in nodes:
        attribute, constraint = texts.get(node.number, (None, ""))
        ids = table.id_list(table.rows_of_unit(node.unit, "forms")) if node.unit >= 0 else []
        access = node.children[0] if node.kind == AND and tree.settings["on_demand"] else None
        used = node.parents + (uses[node.unit] if node.unit >= 0 else 0)
        found.append(
            NodeView(
                node.number, KIND_NAMES[node.kind], node.level, used, node.children, access,
                attribute, constraint, tuple(sorted(ids)),
            )
        )  # fmt: skip
    return found


def _texts(
    table: RuleTable, encoder: Encoder, matcher: EngineMatcher, nodes: list[BareNode]
) -> dict[int, tuple[str, str]]:
    """Attribute and constraint of each leaf. Labels do not tell their values, so the rules are read again."""
    leaves = [node.number for node in nodes if node.kind in (LEAF, PREDICATE)]
    numbers: dict[_Said, list[int]] = {}
    for number, said in zip(leaves, _said(matcher, leaves), strict=True):
        numbers.setdefault(said, []).append(number)
    types, texts = encoder.schema.types(), {}
    for row in table.live_rows().tolist():
        normal = matcher.normal(parse(table.text(row)))
        for leaf in normal.leaves if isinstance(normal, Form) else ():
            told = (leaf_name(leaf), leaf_text(leaf, types.get(leaf.attribute, "any")))
            texts.update(dict.fromkeys(numbers.get(located(encoder, leaf), []), told))
    return texts


def _said(matcher: EngineMatcher, leaves: list[int]) -> list[_Said]:
    encoded = matcher.parts[0].store.nodes.encoded(np.array(leaves, np.int32))
    pieces = encoded.pieces.tolist()
    said = []
    for place, attribute in enumerate(encoded.attributes.tolist()):
        low, high = encoded.low[pieces[place] : pieces[place + 1]], encoded.high[pieces[place] : pieces[place + 1]]
        ends = [end for pair in zip(low.tolist(), high.tolist(), strict=True) for end in pair]
        said.append((attribute, bool(encoded.accepts_null[place]), tuple(ends)))
    return said


def located(encoder: Encoder, leaf: Leaf) -> _Said:
    """A leaf of a live rule in integers: its boundaries are there."""
    vocabulary = encoder.vocabulary
    number = vocabulary.table.number(leaf.attribute)
    spaces = None if is_derived(leaf.attribute) else vocabulary.spaces.get(number)
    ends = [_label(spaces, cut) if cut else BOTTOM_LABEL for cut in leaf.cuts]
    return number, leaf.null, tuple([*ends, TOP_LABEL] if len(ends) & 1 else ends)


def _label(spaces: Any, cut: tuple[Any, ...]) -> int:
    if spaces is None:
        return TRUE_LABEL
    return int(spaces.place(cut if cut[1] else cut[0])[0])
