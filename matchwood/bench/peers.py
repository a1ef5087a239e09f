"""Rule engines that users might pick instead, from the `bench` extra: each event is held against every rule.

Both read nearly the same language. Neither knows SQL's NULL, so a comparison that could meet a missing attribute is
guarded; equality and `in` need no guard. The plain use is one call for each rule and event. Writing all rules into one
array, with one call an event, makes zen-engine three to ten times faster (two runs on a busy machine), as an event then
crosses into Rust once, so it has a row of its own; rule-engine gained about a tenth (2,000 rules), and has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from matchwood.language import Predicate, parse, postorder

Matcher: TypeAlias = Callable[[dict[str, Any]], list[int]]
"""One event to the positions of the rules that match it."""

Build: TypeAlias = Callable[[Sequence[str]], Matcher]


def rule_engine_matcher(texts: Sequence[str]) -> Matcher:
    """The `rule-engine` package: rules are parsed once, in Python."""
    import rule_engine

    context = rule_engine.Context(default_value=None)
    rules = [rule_engine.Rule(guarded(text), context=context) for text in texts]
    return lambda event: [number for number, rule in enumerate(rules) if rule.matches(event)]


def zen_engine_matcher(texts: Sequence[str]) -> Matcher:
    """The `zen-engine` package: rules are compiled once, to a virtual machine in Rust."""
    import zen

    rules = [zen.compile_expression(guarded(text)) for text in texts]
    return lambda event: [number for number, rule in enumerate(rules) if rule.evaluate(event)]


def zen_engine_array_matcher(texts: Sequence[str]) -> Matcher:
    """The `zen-engine` package, with all rules as the elements of one expression."""
    import zen

    rules = zen.compile_expression(f"[{', '.join(guarded(text) for text in texts)}]")
    return lambda event: [number for number, matches in enumerate(rules.evaluate(event)) if matches]


PEERS: dict[str, Build] = {
    "rule-engine": rule_engine_matcher,
    "zen-engine": zen_engine_matcher,
    "zen-engine, one array": zen_engine_array_matcher,
}


def guarded(text: str) -> str:
    """A conjunction of simple predicates in the peers' language.

    >>> guarded("a = 1 and b between 2 and 5 and c not in (1, 2)")
    'a == 1 and b != null and b >= 2 and b <= 5 and c != null and not (c in [1, 2])'
    """
    predicates = [node for node in postorder(parse(text)) if isinstance(node, Predicate)]
    return " and ".join(_guarded(predicate) for predicate in predicates)


def _guarded(predicate: Predicate) -> str:
    name, value = predicate.attr, predicate.value
    if predicate.op == "=":
        return f"{name} == {value}"
    if predicate.op == "in":
        return f"{name} in {list(value)}"
    if predicate.op == "between":
        return f"{name} != null and {name} >= {value[0]} and {name} <= {value[1]}"
    if predicate.op == "not in":
        return f"{name} != null and not ({name} in {list(value)})"
    return f"{name} != null and {name} {predicate.op} {value}"
