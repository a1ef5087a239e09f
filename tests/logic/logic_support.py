"""What the tests of the logic room share: a binding, a second opinion on truth, and a way to print results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from matchwood.language.tree import And, Constant, Expression, Not, Or, Predicate, Truth, Xnor, Xor, postorder
from matchwood.logic import AND, LEAF, TRUE, Bound, Conjunction, Form, Leaf
from matchwood.logic import cuts as sets

Event = Mapping[str, Any]

_TRUE_SETS = {
    "=": sets.exactly,
    "<": sets.below,
    "<=": sets.at_most,
    ">": sets.above,
    ">=": sets.at_least,
    "in": sets.one_of,
    "between": lambda pair: sets.between(*pair),
}
_NEGATED = {"!=": "=", "not in": "in", "not between": "between"}


def bind(predicate: Predicate) -> Bound:
    """What the encoding's binding does, for the operators on scalars."""
    if predicate.op == "is null":
        return Bound(predicate.attr, sets.EMPTY, True)
    if predicate.op == "is not null":
        return Bound(predicate.attr, sets.FULL, False)
    positive = _NEGATED.get(predicate.op)
    if positive is not None:
        return Bound(predicate.attr, sets.complement(_TRUE_SETS[positive](predicate.value)), None)
    return Bound(predicate.attr, _TRUE_SETS[predicate.op](predicate.value), None)


def verdict(expression: Expression, event: Event) -> bool | None:
    """SQL's three-valued truth, straight from its tables; shares nothing with the code under test."""
    verdicts: list[bool | None] = []
    for node in postorder(expression):
        count = len(node.operands)
        below = verdicts[len(verdicts) - count :]
        del verdicts[len(verdicts) - count :]
        verdicts.append(_node_verdict(node, below, event))
    return verdicts[0]


def _node_verdict(node: Expression, below: list[bool | None], event: Event) -> bool | None:
    match node:
        case Predicate():
            return _predicate_verdict(node, event.get(node.attr))
        case Constant():
            return node.value
        case Not():
            return None if below[0] is None else not below[0]
        case And():
            return False if False in below else None if None in below else True
        case Or():
            return True if True in below else None if None in below else False
        case Xor() | Xnor():
            return _parity_verdict(below, isinstance(node, Xnor))
        case Truth():
            wanted = {"true": True, "false": False, "unknown": None}[node.test]
            return (below[0] is wanted) is not node.negated
    raise AssertionError(node)


def _parity_verdict(below: list[bool | None], negated: bool) -> bool | None:
    so_far = below[0]
    for each in below[1:]:
        if so_far is None or each is None:
            return None
        so_far = (so_far != each) != negated
    return so_far


def _predicate_verdict(node: Predicate, value: Any) -> bool | None:
    if node.op in ("is null", "is not null"):
        return (value is None) == (node.op == "is null")
    if value is None:
        return None
    constant = node.value
    comparisons = {
        "=": lambda: value == constant,
        "!=": lambda: value != constant,
        "<": lambda: value < constant,
        "<=": lambda: value <= constant,
        ">": lambda: value > constant,
        ">=": lambda: value >= constant,
        "in": lambda: value in constant,
        "not in": lambda: value not in constant,
        "between": lambda: constant[0] <= value <= constant[1],
        "not between": lambda: not constant[0] <= value <= constant[1],
    }
    return comparisons[node.op]()


def events_for(*expressions: Expression) -> Iterator[dict[str, Any]]:
    """One event for every combination of cells that the expressions' constants cut, NULL among them."""
    constants: dict[str, set[Any]] = {}
    for expression in expressions:
        for node in postorder(expression):
            if isinstance(node, Predicate):
                constants.setdefault(node.attr, set()).update(_constants(node))
    names = sorted(constants)
    for values in itertools.product(*(_cells(sorted(constants[name])) for name in names)):
        yield dict(zip(names, values, strict=True))


def _constants(node: Predicate) -> tuple[Any, ...]:
    if node.value is None:
        return ()
    return node.value if isinstance(node.value, tuple) else (node.value,)


def _cells(constants: list[Any]) -> list[Any]:
    """A value of every cell: each constant, between each two, below and above all; and NULL."""
    if not constants:
        return [None, 0]
    if isinstance(constants[0], str):
        return [None, "", *constants, *(each + "\0" for each in constants)]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(constants)]
    return [None, constants[0] - 1, *constants, *middles, constants[-1] + 1]


def rows_text(rows: Iterable[Conjunction], outer: str = "or") -> str:
    """Conjunctions (or, with `outer` "and", clauses) as a rule's text."""
    inner = "and" if outer == "or" else "or"
    rows = list(rows)
    if not rows:
        return "false" if outer == "or" else "true"
    texts = [_joined(inner, [leaf_text(leaf) for leaf in row]) for row in rows]
    if () in rows:
        return "true" if outer == "or" else "false"
    bracketed = [f"({text})" if len(row) > 1 else text for text, row in zip(texts, rows, strict=True)]
    return texts[0] if len(rows) == 1 else _joined(outer, bracketed)


def _joined(word: str, texts: list[str]) -> str:
    return f" {word} ".join(texts)


def form_text(form: Form) -> str:
    """A form as a rule's text; shared nodes are written out each time."""
    texts: list[str] = []
    for number, kind in enumerate(form.kinds):
        children = [
            f"({texts[child]})" if form.kinds[child] != LEAF else texts[child] for child in form.children[number]
        ]
        if kind == LEAF:
            texts.append(leaf_text(form.leaves[number]))
        elif children:
            texts.append(_joined("and" if kind == AND else "or", children))
        else:
            texts.append("true" if kind == TRUE else "false")
    return texts[-1]


def leaf_text(leaf: Leaf) -> str:
    """A leaf as a predicate of the language, in parentheses when it takes several."""
    parts = _set_texts(leaf.attribute, leaf.cuts)
    if leaf.null:
        parts.insert(0, f"{leaf.attribute} is null")
    return parts[0] if len(parts) == 1 else f"({_joined('or', parts)})"


def _set_texts(name: str, cuts: sets.CutSet) -> list[str]:
    if cuts == sets.FULL:
        return [f"{name} is not null"]
    points, outside = _points(cuts), _points(sets.complement(cuts))
    if points:
        return [f"{name} = {points[0]!r}" if len(points) == 1 else f"{name} in {points!r}"]
    if outside:
        return [f"{name} != {outside[0]!r}" if len(outside) == 1 else f"{name} not in {outside!r}"]
    return [_interval_text(name, low, high) for low, high in itertools.zip_longest(cuts[::2], cuts[1::2])]


def _points(cuts: sets.CutSet) -> tuple[Any, ...]:
    """The values of a set of single values; nothing for other sets."""
    lows, highs = cuts[::2], cuts[1::2]
    single = len(lows) == len(highs) and all(low[:1] == high[:1] for low, high in zip(lows, highs, strict=True))
    return tuple(low[0] for low in lows) if single else ()


def _interval_text(name: str, low: sets.Cut, high: sets.Cut | None) -> str:
    bounds = []
    if low:
        bounds.append(f"{name} {'>' if low[1] else '>='} {low[0]!r}")
    if high is not None:
        bounds.append(f"{name} {'<=' if high[1] else '<'} {high[0]!r}")
    return _joined("and", bounds)


NAMES = ("x", "y", "z")
_CONSTANT = st.integers(0, 1)
_SCALAR = st.tuples(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), _CONSTANT)
_SET = st.tuples(st.sampled_from(("in", "not in")), st.lists(_CONSTANT, min_size=1, max_size=2).map(tuple))
_RANGE = st.tuples(st.sampled_from(("between", "not between")), st.tuples(_CONSTANT, _CONSTANT))
_NULL = st.tuples(st.sampled_from(("is null", "is not null")), st.none())

predicates = st.builds(
    lambda name, test: Predicate(name, *test), st.sampled_from(NAMES), st.one_of(_SCALAR, _SCALAR, _SET, _RANGE, _NULL)
)


def _operators(*kinds: Any) -> Any:
    def extended(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        operands = st.lists(below, min_size=2, max_size=3)
        return st.one_of(
            st.builds(lambda kind, nodes: kind(*nodes), st.sampled_from(kinds), operands),
            st.builds(Not, below),
            st.builds(Truth, below, st.sampled_from(("true", "false", "unknown")), st.booleans()),
        )

    return extended


_ATOMS = st.one_of(predicates, predicates, predicates, st.builds(Constant, st.booleans()))
trees = st.recursive(_ATOMS, _operators(And, Or, Xor, Xnor), max_leaves=10)
"""Trees of every kind of node over three attributes with the constants 0 and 1."""

plain_trees = st.recursive(
    predicates,
    lambda below: st.one_of(
        st.builds(
            lambda kind, nodes: kind(*nodes), st.sampled_from((And, Or)), st.lists(below, min_size=2, max_size=3)
        ),
        st.builds(Not, below),
    ),
    max_leaves=10,
)
"""Trees of and, or, not: what the direct way to conjunctions takes, and what it just refuses."""
