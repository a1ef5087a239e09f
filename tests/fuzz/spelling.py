"""Trees as text, in any of the spellings that the language has for them."""

from __future__ import annotations

import datetime
import math
import random
import re
from decimal import Decimal
from typing import Any

from tests.fuzz.trees import Constant, Join, Leaf, Not, Tree

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class Writer:
    """Spells trees; the same style always gives the same text."""

    def __init__(self, style: int) -> None:
        self._rng = random.Random(style)
        self._plain = style % 2 == 0

    def text(self, tree: Tree) -> str:
        if isinstance(tree, Leaf):
            return self._leaf(tree)
        if isinstance(tree, Constant):
            return self._word("true" if tree.value else "false")
        if isinstance(tree, Join):
            return f" {self._word(tree.kind)} ".join(self._inner(part) for part in tree.parts)
        if isinstance(tree, Not):
            return f"{self._word('not')} {self._inner(tree.part)}"
        negated = "not " if tree.negated else ""
        return f"({self.text(tree.part)}) is {self._word(negated + tree.test)}"

    def _inner(self, tree: Tree) -> str:
        """A part of a larger tree: nests of one operator are kept apart, for scores depend on them."""
        if isinstance(tree, Leaf | Constant) and self._maybe(0.9):
            return self.text(tree)
        return f"(({self.text(tree)}))" if self._maybe(0.03) else f"({self.text(tree)})"

    def _leaf(self, leaf: Leaf) -> str:
        name, operator, value = _name(leaf.attribute), leaf.operator, leaf.value
        if operator in ("is null", "is not null"):
            return f"{name} {self._word(operator)}"
        if operator in ("contains", "not contains"):
            return f"{literal(value)} {self._word('in' if operator == 'contains' else 'not in')} {name}"
        if operator.endswith("between"):
            return f"{name} {self._word(operator)} {literal(value[0])} {self._word('and')} {literal(value[1])}"
        if isinstance(value, tuple):
            return f"{name} {self._word(operator)} ({', '.join(map(literal, value))})"
        if operator == "=" and value is True and self._maybe(0.5):
            return name
        if operator in _MIRRORED and self._maybe(0.15):
            return f"{literal(value)} {self._sign(_MIRRORED[operator])} {name}"
        escape = f" escape {literal(leaf.escape)}" if leaf.escape else ""
        return f"{name} {self._sign(operator)} {literal(value)}{escape}"

    def _sign(self, operator: str) -> str:
        if operator in ("=", "!=") and self._maybe(0.2):
            return "==" if operator == "=" else "<>"
        return self._word(operator)

    def _word(self, word: str) -> str:
        return word.upper() if self._maybe(0.1) else word

    def _maybe(self, chance: float) -> bool:
        """Plain styles draw nothing: what is bulk-loaded as columns has to be plain."""
        return chance >= 0.5 if self._plain else self._rng.random() < chance


def _name(name: str) -> str:
    return name if name.startswith("`") or _PLAIN.fullmatch(name) else f"`{name}`"


def literal(value: Any) -> str:
    """A constant of the language."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"timestamp '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, float) and not math.isfinite(value):
        named = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"cast('{named}' as double)"
    return digits(value) if isinstance(value, Decimal) else repr(value)


def weight_key(value: Any) -> str:
    """A value as the keys of weights spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return digits(value)
    return value if isinstance(value, str) else repr(value)


def digits(value: Decimal) -> str:
    """A decimal with a point and no exponent, which would make a double of it."""
    text = f"{value:f}"
    return text if "." in text else f"{text}.0"
