"""Rule engines that users might pick instead, from the `bench` extra: each event is held against every rule.

They read nearly the same language. None knows SQL's NULL, so a comparison that could meet a missing attribute is
guarded; in two of them equality and `in` need no guard. The plain use is one call for each rule and event. Writing all
rules into one array, with one call an event, makes zen-engine three to ten times faster (two runs on a busy machine),
as an event then crosses into Rust once, so it has a row of its own; rule-engine gained about a tenth (2,000 rules), and
has none. Of CEL it is the event that is costly to hand over: in a `Context`, made once an event, 0.65 µs a rule instead
of 16 in a dict (4,000 rules); arrays gained nothing there.
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


def cel_matcher(texts: Sequence[str]) -> Matcher:
    """The `common-expression-language` package: rules are compiled once, in Rust; the event crosses over once."""
    import cel

    rules = [cel.compile(in_cel(text)) for text in texts]

    def match(event: dict[str, Any]) -> list[int]:
        context = cel.Context({"e": event})
        return [number for number, rule in enumerate(rules) if rule.execute(context)]

    return match


PEERS: dict[str, Build] = {
    "rule-engine": rule_engine_matcher,
    "zen-engine": zen_engine_matcher,
    "zen-engine, one array": zen_engine_array_matcher,
    "common-expression-language": cel_matcher,
}


def guarded(text: str) -> str:
    """A conjunction of simple predicates in the peers' language.

    >>> guarded("a = 1 and b between 2 and 5 and c not in (1, 2)")
    'a == 1 and b != null and b >= 2 and b <= 5 and c != null and not (c in [1, 2])'
    """
    return " and ".join(map(_guarded, _predicates(text)))


def in_cel(text: str) -> str:
    """A conjunction of simple predicates on the fields of `e`, in CEL.

    >>> in_cel("a = 1 and b between 2 and 5 and c not in (1, 2)")
    'has(e.a) && e.a == 1 && has(e.b) && e.b >= 2 && e.b <= 5 && has(e.c) && !(e.c in [1, 2])'
    """
    return " && ".join(f"has(e.{predicate.attr}) && {_in_cel(predicate)}" for predicate in _predicates(text))


def _predicates(text: str) -> list[Predicate]:
    return [node for node in postorder(parse(text)) if isinstance(node, Predicate)]


def _in_cel(predicate: Predicate) -> str:
    name, value = f"e.{predicate.attr}", predicate.value
    if predicate.op == "between":
        return f"{name} >= {value[0]} && {name} <= {value[1]}"
    if predicate.op in ("in", "not in"):
        listed = f"{name} in {list(value)}"
        return listed if predicate.op == "in" else f"!({listed})"
    return f"{name} {'==' if predicate.op == '=' else predicate.op} {value}"


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
