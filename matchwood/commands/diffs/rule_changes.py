"""Which rules differ between two indexes, and in what way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from matchwood.errors import InvalidArgument
from matchwood.index import Index
from matchwood.language import Predicate, parse, postorder

ADDED, REMOVED, CHANGED, RETYPED, REWORDED, REWEIGHTED = (
    "added",
    "removed",
    "changed",
    "retyped",
    "reworded",
    "reweighted",
)
KINDS = {
    ADDED: "new rules",
    REMOVED: "removed rules",
    CHANGED: "rules with another expression",
    RETYPED: "the same expression with other types, because other rules or settings changed",
    REWORDED: "the same expression, written differently",
    REWEIGHTED: "the same expression with other weights",
}
MATCHED = (ADDED, REMOVED, CHANGED, RETYPED)
"""The kinds that may change hits."""


class RuleChange(NamedTuple):
    """One rule that differs, with its text on each side."""

    rule: Any
    kind: str
    old: str | None
    new: str | None


def rule_changes(old: Index, new: Index) -> list[RuleChange]:
    """All rules that differ: those of `new` in rule order, then those that only `old` has."""
    _check_ids(old, new)
    before, after = dict(old.items()), dict(new.items())
    same = {rule: text for rule, text in after.items() if rule in before and _says_the_same(before[rule], text)}
    retyped, reweighted = set(_retyped(old, new, same)), set(_reweighted(old, new, list(same)))
    changes = []
    for rule, text in after.items():
        was = before.get(rule)
        if was != text or rule in retyped or rule in reweighted:
            kind = ADDED if was is None else CHANGED if rule not in same else RETYPED if rule in retyped else None
            changes.append(RuleChange(rule, kind or (REWORDED if was != text else REWEIGHTED), was, text))
    return changes + [RuleChange(rule, REMOVED, text, None) for rule, text in before.items() if rule not in after]


def _check_ids(old: Index, new: Index) -> None:
    if old.id_kind and new.id_kind and old.id_kind is not new.id_kind:
        words = [_ID_KINDS[index.id_kind] for index in (old, new) if index.id_kind]
        told = f"the ids of the old rules are {words[0]}, those of the new ones {words[1]}"
        raise InvalidArgument(f"{told}: use --id-type string, or save both with the same kind of ids")


_ID_KINDS: dict[type[int] | type[str], str] = {int: "integers", str: "text"}


def _says_the_same(old: str, new: str) -> bool:
    return old == new or parse(old) == parse(new)


def _retyped(old: Index, new: Index, texts: dict[Any, str]) -> list[Any]:
    """The rules of these texts that compare values of another type than before."""
    if _settings(old) != _settings(new):
        return list(texts)
    was, now = old.types(), new.types()
    differing = {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
    return [rule for rule, text in texts.items() if differing and not differing.isdisjoint(_attributes(text))]


def _settings(index: Index) -> tuple[Any, ...]:
    return index._encoder.timezone, index._encoder.event_settings


def _attributes(text: str) -> Iterator[str]:
    return (node.attr for node in postorder(parse(text)) if isinstance(node, Predicate))


def _reweighted(old: Index, new: Index, rules: list[Any]) -> list[Any]:
    if not rules:
        return []
    sides = [(index._table, index._table.rows_of(rules)) for index in (old, new)]
    constant = [table.weights()[rows] for table, rows in sides]
    by_value = [[table.weights_json(row) for row in rows.tolist()] for table, rows in sides]
    told = zip(rules, constant[0] != constant[1], *by_value, strict=True)
    return [rule for rule, differs, was, now in told if differs or was != now]
