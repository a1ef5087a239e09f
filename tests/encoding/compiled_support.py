"""Random rules over few attributes and values, nested in every way of the language."""

from __future__ import annotations

import random

SMALL = ("a", "b", "c", "d", "e", "f")


def predicate(rng: random.Random) -> str:
    name, draw = rng.choice(SMALL), rng.random()
    if draw < 0.5:
        return f"{name} {rng.choice(('<', '<=', '>', '>=', '=', '!='))} {rng.randrange(6)}"
    if draw < 0.65:
        return f"{name} {rng.choice(('', 'not '))}between {rng.randrange(4)} and {rng.randrange(6)}"
    if draw < 0.8:
        constants = ", ".join(str(rng.randrange(7)) for _ in range(rng.randint(1, 4)))
        return f"{name} {rng.choice(('in', 'not in'))} ({constants})"
    if draw < 0.9:
        return f"{name} is {rng.choice(('', 'not '))}null"
    if draw < 0.95:
        return rng.choice(("true", "false"))
    return f"s{name} {rng.choice(('like', 'ilike', 'not like'))} '{rng.choice(('a%', '%b%', 'c', '%'))}'"


def nested(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return predicate(rng)
    draw = rng.random()
    if draw < 0.15:
        return f"not ({nested(rng, depth - 1)})"
    if draw < 0.25:
        return f"({nested(rng, depth - 1)}) is {rng.choice(('', 'not '))}{rng.choice(('true', 'false', 'unknown'))}"
    joint = rng.choice((" and ", " or ", " and ", " or ", " xor ", " xnor "))
    return joint.join(
        f"({nested(rng, depth - 1)})" if rng.random() < 0.7 else predicate(rng) for _ in range(rng.randint(2, 4))
    )
