"""Texts that a query names one by one (`=`, `in`), and what patterns make of them.

A pattern with inner wildcards is an attribute of its own, derived from a text. Where the text is named the pattern's
verdict on it is known: so a query `name = 'abc'` meets the rule `name like '%b%'`, as the event does.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import lru_cache
from itertools import product
from math import prod

from matchwood.encoding import FALSE, PATTERNS, STRING, TRUE, DerivedTest, compare, is_derived, read_key
from matchwood.errors import LimitExceeded
from matchwood.language import Predicate
from matchwood.logic import EMPTY, Conjunction, CutSet, Leaf, contains, union
from matchwood.semantics import evaluate_predicate

NEIGHBOURS = 16
"""Texts that differ by trailing NULs alone are named one by one up to that many."""


def points_of(cuts: CutSet) -> list[str] | None:
    """The texts of a set that holds just a few single ones, None of any other set.

    >>> from matchwood.encoding.spaces.domains import STRING, compare
    >>> points_of(compare(STRING, "in", ("b", "", "bc"))), points_of(compare(STRING, "<", "b"))
    (['', 'b', 'bc'], None)
    """
    found: list[str] = []
    if len(cuts) & 1:
        return None
    for low, high in zip(cuts[::2], cuts[1::2], strict=True):
        first, end = low[0] if low else "", high[0]
        if not isinstance(first, str) or not isinstance(end, str) or len(end) - len(first) > NEIGHBOURS:
            return None
        if not end.startswith(first) or end[len(first) :].strip("\0"):
            return None
        # After a text comes the same one with a NUL behind it.
        found.extend(first + "\0" * more for more in range(len(end) - len(first)))
    return found


def pattern_of(key: str) -> DerivedTest | None:
    """The test of a derived attribute that looks at one text."""
    if not is_derived(key):
        return None
    test = read_key(key)
    return test if test.op in PATTERNS else None


@lru_cache(maxsize=4_096)
def fits(test: DerivedTest, text: str) -> bool:
    """Whether a text fits a pattern."""
    return evaluate_predicate(Predicate("text", test.op, test.operand), {"text": text}) is True


def named_texts(row: Conjunction) -> dict[str, tuple[list[str], bool]]:
    """Attributes whose texts a conjunction names one by one, with them, and whether NULL is accepted too."""
    found = {}
    for leaf in row:
        texts = None if is_derived(leaf.attribute) else points_of(leaf.cuts)
        if texts is not None:
            found[leaf.attribute] = texts, leaf.null
    return found


def verdicts(row: Conjunction, keys: Iterable[str]) -> list[Leaf]:
    """What a conjunction says of patterns that it does not mention, where it names the texts; ordered by key."""
    named, own = named_texts(row), {leaf.attribute for leaf in row}
    found = []
    for key in sorted(set(keys) - own):
        test = pattern_of(key)
        if test is not None and test.source in named:
            texts, null = named[test.source]
            outcomes = {fits(test, text) for text in texts}
            cuts = union(TRUE if True in outcomes else EMPTY, FALSE if False in outcomes else EMPTY)
            found.append(Leaf(key, cuts, null))
    return found


def settled(rows: Iterable[Conjunction]) -> list[Conjunction]:
    """The conjunctions without patterns on texts that they name: texts that do not fit are left out instead."""
    return [made for row in rows if (made := _settled(row)) is not None]


def _settled(row: Conjunction) -> Conjunction | None:
    named = named_texts(row)
    tests = [(leaf, test) for leaf in row if (test := pattern_of(leaf.attribute)) and test.source in named]
    if not tests:
        return row
    leaves = {leaf.attribute: leaf for leaf in row}
    for leaf, test in tests:
        texts, null = named[test.source]
        kept = [text for text in texts if contains(leaf.cuts, int(fits(test, text)))]
        named[test.source] = kept, null and leaf.null
        del leaves[leaf.attribute]
    for source, (texts, null) in named.items():
        if not texts and not null:
            return None
        leaves[source] = Leaf(source, compare(STRING, "in", texts), null)
    return tuple(sorted(leaves.values()))


def apart(rows: Iterable[Conjunction], sources: Container[str], limit: int) -> list[Conjunction]:
    """The conjunctions with one text each, where they name several of an attribute that patterns look at.

    Which patterns fit depends on the text: no single one fits all that some text fits. LimitExceeded beyond a number.
    """
    found: list[Conjunction] = []
    for row in rows:
        named = named_texts(row)
        sides = [_sides(leaf, named) if leaf.attribute in sources else [leaf] for leaf in row]
        if len(found) + prod(map(len, sides)) > limit:
            raise LimitExceeded(
                f"the query names more than {limit:,} combinations of texts: ask for some of them at a time"
            )
        found.extend(product(*sides))
    return found


def _sides(leaf: Leaf, named: dict[str, tuple[list[str], bool]]) -> list[Leaf]:
    if leaf.attribute not in named:
        return [leaf]
    texts, null = named[leaf.attribute]
    single = [Leaf(leaf.attribute, compare(STRING, "=", text), False) for text in texts]
    return [*single, Leaf(leaf.attribute, EMPTY, True)] if null else single


def sources_of(keys: Iterable[str]) -> set[str]:
    """The texts that derived attributes look at."""
    return {test.source for key in keys if (test := pattern_of(key))}
