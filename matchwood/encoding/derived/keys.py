"""The keys of derived attributes: they say in full what is tested, so that equal tests share an attribute.

A key is a NUL character, then source, operator and operand, separated by NUL (which no name contains). The
operators are `like`, `ilike`, `rlike` (the operand is the canonical pattern), `one of` and `all of`
(the operand is a JSON list, distinct elements in order); everything else is written with these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from matchwood.logic import START, CutSet

MARK = "\0"

TRUE: CutSet = ((1, 0),)
FALSE: CutSet = (START, (1, 0))
"""The two values of a derived attribute, as cuts."""

PATTERNS = ("like", "ilike", "rlike")


class DerivedTest(NamedTuple):
    """What a derived attribute tests."""

    source: str
    op: str
    operand: str

    @property
    def key(self) -> str:
        return f"{MARK}{self.source}{MARK}{self.op}{MARK}{self.operand}"

    @property
    def kind(self) -> str:
        """The kind of its source."""
        if self.op in PATTERNS:
            return "string"
        return "list<string>" if self.operand[1] == '"' else "list<int>"


def is_derived(key: str) -> bool:
    """Whether an attribute's key is that of a derived one."""
    return key[0] == MARK


def read_key(key: str) -> DerivedTest:
    """The test that a key spells.

    >>> read_key(list_test("tags", "one of", ["b", "a", "b"]).key)
    DerivedTest(source='tags', op='one of', operand='["a", "b"]')
    """
    return DerivedTest(*key[1:].split(MARK, 2))


def list_test(source: str, op: str, elements: Iterable[int | str]) -> DerivedTest:
    """The test of a list for elements; that all of one element are there is that one of them is."""
    distinct = sorted(set(elements))
    return DerivedTest(source, op if len(distinct) > 1 else "one of", json.dumps(distinct))
