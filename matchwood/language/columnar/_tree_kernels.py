"""The Boolean structure of many rules, as `parser.py` reads it, into trees in columns; nothing recurses."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.language.columnar._plain_kernels import follows_and, plain_test
from matchwood.language.columnar._predicate_kernels import CONSTANT, REFUSED, read_predicate
from matchwood.language.columnar._token_kernels import (
    AND,
    CLOSE,
    END,
    FALSE,
    IS,
    NAME,
    NOT,
    OPEN,
    OR,
    TRUE,
    UNKNOWN,
    XNOR,
    XOR,
    read_token,
)

PREDICATE_NODE, CONSTANT_NODE, NOT_NODE, AND_NODE, OR_NODE, XOR_NODE, XNOR_NODE, TRUTH_NODE = range(8)
"""Kinds of nodes."""

TEST_TRUE, TEST_FALSE, TEST_UNKNOWN = range(3)
"""What a truth test asks; the argument of its node is twice that, and one more if it is negated."""

MOST_OPEN = 64
"""Parentheses that may be open; what nests deeper is left to the parser."""

SPARE = 6
"""Room for nodes, or predicates, beside one for every two bytes of a text: two predicates need five, `a or b`."""

GROUP = 9
_NOTS, _OPERAND, _CONJUNCTS, _AND_START, _CHAIN, _CHAIN_START, _CHAIN_WORD, _DISJUNCTS, _OR_START = range(GROUP)
"""What is known of an open parenthesis: how many `not` stand before the operand, the node with which that begins, and
of each kind of junction how many operands are complete and where the first began."""


@bare_kernel
def _put(nodes: Any, count: int, kind: int, argument: int, first: int) -> Any:
    """Add a node above all nodes from `first` on."""
    nodes.kinds[count] = kind
    nodes.arguments[count] = argument
    nodes.sizes[count] = count - first + 1
    return count + 1


@bare_kernel
def _negated(nodes: Any, count: int, group: Any) -> Any:
    for _ in range(group[_NOTS]):
        count = _put(nodes, count, NOT_NODE, 1, group[_OPERAND])
    group[_NOTS] = 0
    return count


@bare_kernel
def _joined(nodes: Any, count: int, group: Any, kind: int, number: int, start: int) -> Any:
    """Close a junction, if one is open: its operands are one from now on."""
    if group[number]:
        count = _put(nodes, count, kind, group[number] + 1, group[start])
        group[_OPERAND] = group[start]
        group[number] = 0
    return count


@bare_kernel
def _more(group: Any, number: int, start: int) -> None:
    """One more operand of a junction is complete."""
    if group[number] == 0:
        group[start] = group[_OPERAND]
    group[number] += 1


@bare_kernel
def _connect(nodes: Any, count: int, group: Any, word: int) -> Any:
    """The operand is complete, and a connective follows it."""
    count = _negated(nodes, count, group)
    if word == AND:
        _more(group, _CONJUNCTS, _AND_START)
        return count
    count = _joined(nodes, count, group, AND_NODE, _CONJUNCTS, _AND_START)
    if word == OR:
        count = _joined(nodes, count, group, group[_CHAIN_WORD], _CHAIN, _CHAIN_START)
        _more(group, _DISJUNCTS, _OR_START)
        return count
    kind = XOR_NODE if word == XOR else XNOR_NODE
    if group[_CHAIN_WORD] != kind:
        count = _joined(nodes, count, group, group[_CHAIN_WORD], _CHAIN, _CHAIN_START)
    group[_CHAIN_WORD] = kind
    _more(group, _CHAIN, _CHAIN_START)
    return count


@bare_kernel
def _close(nodes: Any, count: int, group: Any) -> Any:
    """The operand is complete, and so is the group."""
    count = _negated(nodes, count, group)
    count = _joined(nodes, count, group, AND_NODE, _CONJUNCTS, _AND_START)
    count = _joined(nodes, count, group, group[_CHAIN_WORD], _CHAIN, _CHAIN_START)
    return _joined(nodes, count, group, OR_NODE, _DISJUNCTS, _OR_START)


@bare_kernel
def _truth(data: Any, position: int, end: int) -> Any:
    """The argument of the truth test behind `is`, and where it ends; -1 if there is none."""
    kind, _, position = read_token(data, position, end)
    negated = kind == NOT
    if negated:
        kind, _, position = read_token(data, position, end)
    if kind == TRUE:
        return 2 * TEST_TRUE + negated, position
    if kind == FALSE:
        return 2 * TEST_FALSE + negated, position
    return (2 * TEST_UNKNOWN + negated if kind == UNKNOWN else -1), position


@bare_kernel
def _read_rule(
    data: Any, position: int, end: int, nodes: Any, count: int, found: Any, known: int, before: int, groups: Any
) -> Any:
    """Read one rule behind `count` nodes and `known` predicates; how many there are then, or -1 and what there was.

    The predicates are numbered behind `before` others.
    """
    depth, waiting, first_node, first_known = 0, True, count, known
    groups[0, :] = 0
    groups[0, _OPERAND] = count
    while True:
        group = groups[depth]
        kind, start, stop = read_token(data, position, end)
        position = stop
        if waiting and kind == OPEN:
            group[_OPERAND] = count
            depth += 1
            if depth == MOST_OPEN:
                return -1, first_node, first_known
            groups[depth, :] = 0
            groups[depth, _OPERAND] = count
        elif waiting and kind == NOT:
            group[_NOTS] += 1
        elif waiting:
            group[_OPERAND] = count
            name, name_stop, test, backward = start, stop, stop + 1, False
            position = plain_test(data, stop, end) if kind == NAME else -1
            test_stop = position
            if position < 0:
                position, name, name_stop, test, test_stop, backward = read_predicate(data, kind, start, stop, end)
            if position == REFUSED:
                return -1, first_node, first_known
            if position == CONSTANT:
                count = _put(nodes, count, CONSTANT_NODE, kind == TRUE, count)
                position = stop
            else:
                count = _put(nodes, count, PREDICATE_NODE, before + known, count)
                found.starts[known], found.lengths[known] = start, position - start
                found.names[known], found.name_lengths[known] = name, name_stop - name
                found.tests[known], found.test_lengths[known] = test, test_stop - test
                found.reversed_[known] = backward
                known += 1
            waiting = follows_and(data, position, end)
            if waiting:
                count = _connect(nodes, count, group, AND)
                position += 5
        elif AND <= kind <= XNOR:
            count = _connect(nodes, count, group, kind)
            waiting = True
        elif kind == IS:
            argument, position = _truth(data, position, end)
            if argument < 0:
                return -1, first_node, first_known
            count = _put(nodes, count, TRUTH_NODE, argument, group[_OPERAND])
        elif kind == CLOSE and depth > 0:
            count = _close(nodes, count, group)
            depth -= 1
        elif kind == END and depth == 0:
            return 0, _close(nodes, count, group), known
        else:
            return -1, first_node, first_known


@bare_kernel
def read_rules(
    texts: Any, longest: int, first: int, last: int, nodes: Any, count: int, found: Any, before: int,
    node_ends: Any, predicate_ends: Any, groups: Any,
) -> Any:  # fmt: skip
    """Read those of the rules first : last that are given and not too long, behind `count` nodes, until there may be no
    room for one: the next rule, how many nodes there are then, and how many predicates were found. These are numbered
    behind `before` others.

    `node_ends` and `predicate_ends` get where those of each end; a rule that is left to the parser has none.
    """
    data, starts, lengths, known = texts.data, texts.starts, texts.lengths, 0
    for rule in range(first, last):
        if texts.given[rule] and lengths[rule] <= longest:
            room = lengths[rule] // 2 + SPARE
            if count + room > len(nodes.kinds) or known + room > len(found.starts):
                return rule, count, known
            stop = starts[rule] + lengths[rule]
            _, count, known = _read_rule(data, starts[rule], stop, nodes, count, found, known, before, groups)
        node_ends[rule], predicate_ends[rule] = count, before + known
    return last, count, known
