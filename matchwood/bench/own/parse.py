"""How fast rules are read: Matchwood's parser beside parser libraries, on the same rules and into the same trees.

Every rule has eight predicates, every constant occurs once in the whole run, no rule occurs twice, and every predicate
keeps its position. `seconds` are those on the wall, `core_seconds` the process's own, which other processes on the
machine do not lengthen: where the two differ, the machine was busy. Each parser's trees are checked after the clock
has stopped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from matchwood.bench.own.parse_rivals import RIVALS, Reader
from matchwood.errors import InvalidArgument
from matchwood.language import Expression, Predicate, parse, parse_text, postorder

PREDICATES = 8
SCALES = {"quick": (20_000, 1_000), "full": (200_000, 2_000), "paper": (1_000_000, 5_000)}
"""Rules that Matchwood reads, and rules that a library reads, which would take minutes for as many."""

SEED = 20260131
_WARM = 50


def run(scale: str = "quick") -> dict[str, Any]:
    """The rows of the experiment, JSON-able."""
    if scale not in SCALES:
        raise InvalidArgument(f"unknown scale {scale!r} (the scales: {', '.join(SCALES)})")
    ours, theirs = SCALES[scale]
    rules = generate(ours + _WARM)
    rows = [_row("matchwood", parse, rules)]
    rows.append(_row("matchwood, token by token", _token_by_token, rules[: ours // 4 + _WARM]))
    for name, build in RIVALS.items():
        try:
            reader = build()
        except ImportError:
            continue
        rows.append(_row(name, reader, rules[: theirs + _WARM]))
    return {"experiment": "parse", "scale": scale, "rows": rows}


def _token_by_token(rule: str) -> Expression:
    return parse_text(rule, simple=False)


def _row(name: str, reader: Reader, rules: list[str]) -> dict[str, Any]:
    for rule in rules[:_WARM]:
        reader(rule)
    measured = rules[_WARM:]
    wall, core = time.perf_counter(), time.process_time()
    for rule in measured:
        reader(rule)
    seconds, core_seconds = time.perf_counter() - wall, time.process_time() - core
    return {
        "parser": name,
        "rules": len(measured),
        "predicates_per_rule": PREDICATES,
        "seconds": round(seconds, 4),
        "core_seconds": round(core_seconds, 4),
        "rules_per_second": round(len(measured) / seconds),
        "checked": check(name, reader, measured[:2_000]),
    }


def check(name: str, reader: Reader, rules: list[str]) -> bool:
    """Whether the trees are right; an error names the first rule that is not. Generated rules are canonical text."""
    for rule in rules:
        tree = reader(rule)
        leaves = [node for node in postorder(tree) if isinstance(node, Predicate)]
        placed = all(rule.startswith(f"{leaf.attr} ", leaf.position or 0) for leaf in leaves)
        if str(tree) != rule or len(leaves) != PREDICATES or not placed:
            raise RuntimeError(f"{name} read {rule!r} as {str(tree)!r}")
    return True


def generate(count: int, seed: int = SEED) -> list[str]:
    """Rules in canonical text, the same for the same seed."""
    rng = random.Random(seed)
    constants = _distinct()
    rules = [_structure(rng, [_predicate(rng, constants) for _ in range(PREDICATES)]) for _ in range(count)]
    if len(set(rules)) != count:
        raise RuntimeError("a generated rule occurs twice")
    return rules


def _distinct() -> Iterator[int]:
    """Integers below 2**32 that look random, none of them twice: multiplication by an odd number is a bijection."""
    for number in range(2**32):
        yield number * 2_654_435_761 % 2**32


def _predicate(rng: random.Random, constants: Iterator[int]) -> str:
    """Half comparisons of integers, the rest of every other common form."""
    name = f"attribute_{rng.randrange(1_000)}"
    form = rng.randrange(12)
    if form < 6:
        return f"{name} {rng.choice(('=', '=', '!=', '<', '<=', '>', '>='))} {next(constants)}"
    if form < 8:
        return f"{name} {rng.choice(('=', '!='))} 'v{next(constants)}'"
    if form == 8:
        return f"{name} {rng.choice(('<', '>='))} {next(constants) + 0.5}"
    if form == 9:
        return f"{name} {rng.choice(('in', 'not in'))} ({next(constants)}, {next(constants)}, {next(constants)})"
    if form == 10:
        return f"{name} between {next(constants)} and {next(constants)}"
    return f"{name} {rng.choice(('like', 'not like'))} 'v{next(constants)}%'"


def _structure(rng: random.Random, parts: list[str]) -> str:
    """A conjunction in half of the rules; in the others also disjunctions, negations and an exclusive or."""
    a, b, c, d, e, f, g, h = parts
    form = rng.randrange(8)
    if form < 4:
        return " and ".join(parts)
    if form == 4:
        return f"({a} or {b}) and ({c} or {d}) and {e} and {f} and {g} and {h}"
    if form == 5:
        return f"{a} and {b} and not ({c} or {d} and {e}) and {f} and not {g} and {h}"
    if form == 6:
        return f"{a} and {b} and {c} or {d} and {e} and ({f} or {g}) or {h}"
    return f"{a} and {b} and ({c} xor {d}) and ({e} or not ({f} and {g}) or {h})"
