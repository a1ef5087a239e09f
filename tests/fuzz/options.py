"""Values for every option of every engine, derived from the engines; and configurations that cover pairs of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import matchwood as mw
from matchwood.engines import engine_class, engine_names

VALUES: dict[tuple[str, str], list[Any]] = {
    ("betree", "max_cap"): [0, 1, 2, 3, 5, 20],
    ("betree", "min_size"): [1, 2, 3, 10],
    ("betree", "alpha"): [0.0, 0.5, 1.0],
    ("betree", "beta"): [0.0, 0.5, 1.0],
    ("betree", "window"): [0, 1, 3, 10, 100],
    ("betree", "node_window"): [0.0, 0.1, 1.0, 50.0],
    ("betree", "theta"): [-1e12, -1.0, 0.0, 0.5, 1e12],
    ("betree", "reinsertion"): [0.0, 0.1, 0.5],
    ("betree", "exploit"): [0.0, 0.5, 1.0],
    ("betree", "seed"): [0, 1, 2**63 - 1],
    ("betree", "bloom_bits"): [0, 1, 8, 64],
    ("hem", "grid"): [1, 2, 3, 80, 1000],
    ("hem", "direct_cost"): [1, 60, 1000],
    ("kindex", "bounds"): [{}, "tight", "loose"],
    ("pstbloom", "signature_bits"): [1, 8, 64],
    ("psthash", "access"): [1, 2, 3, 4],
    ("psthash", "most_spaces"): [1, 2, 16, 1024],
    ("psthash", "dense"): [0, 1, 4, 4096],
    ("psthash", "useless"): [0.0, 0.5, 1.0],
}
"""Numbers and mappings, small ones so that few rules reach what they limit; flags and names are derived.

`tight` and `loose` are bounds of the weights of the rules at hand.
"""
SPACES = ["sorted", "pstree"]
ENGINES = ["oracle", "auto", *engine_names()]


PUBLISHED = "as_published"
"""An option of every engine that stands for values of others."""


def options_of(engine: str) -> list[str]:
    """The names of all options of an engine, as the engine has them."""
    made = engine_class(engine)
    return list(made.option_names() if hasattr(made, "option_names") else made.options)


class NoValues(LookupError):
    """An option for which nobody has said what to try."""


def values_of(engine: str, option: str) -> list[Any]:
    """The values of an option that are tried."""
    made = engine_class(engine)
    if (engine, option) in VALUES:
        return VALUES[engine, option]
    if option == PUBLISHED or isinstance(made.options[option], bool):
        return [False, True]
    if option in made.choices:
        return list(made.choices[option])
    raise NoValues(f"option {option!r} of engine {engine!r} has no values to try: add them to VALUES")


def tried(engine: str) -> dict[str, list[Any]]:
    """All options of an engine, each with the values that are tried; `spaces` is one of every engine."""
    if engine == "oracle":
        return {}
    return {"spaces": SPACES, **{option: values_of(engine, option) for option in options_of(engine)}}


def configurations(engine: str, seed: int | str) -> Iterator[dict[str, Any]]:
    """Endless options of an engine: the default ones, then such that pairs of values are covered soon."""
    if engine == "auto":
        yield from _borrowed(seed)
        return
    rng, lists = random.Random(f"{seed} {engine}"), tried(engine)
    seen: set[Any] = set()
    yield {}
    if PUBLISHED in lists:
        yield {PUBLISHED: True}
    while True:
        drawn = [agreeing(engine, _draw(rng, lists)) for _ in range(12 if lists else 1)]
        best = max(drawn, key=lambda options: len(pairs(options) - seen))
        if not pairs(best) - seen:
            best = _fewer(rng, best)
        seen |= pairs(best)
        yield agreeing(engine, best)


def _borrowed(seed: int | str) -> Iterator[dict[str, Any]]:
    """Options for `auto`, which has those of all engines: none, or some of one of them."""
    rng = random.Random(f"{seed} auto")
    streams = {name: configurations(name, seed) for name in engine_names()}
    while True:
        yield {}
        engine = rng.choice(list(streams))
        options = agreeing(engine, _fewer(rng, next(streams[engine])))
        if options.get(PUBLISHED):
            # Of all engines that it may choose, some are published over other spaces than the one it was drawn for.
            options.pop("spaces", None)
        yield options


def _draw(rng: random.Random, lists: Mapping[str, list[Any]]) -> dict[str, Any]:
    options = {name: rng.choice(values) for name, values in lists.items()}
    if options.get(PUBLISHED) and rng.random() < 0.5:
        return {PUBLISHED: True}
    if rng.random() < 0.9:
        options.pop(PUBLISHED, None)
    return options


def _fewer(rng: random.Random, options: Mapping[str, Any]) -> dict[str, Any]:
    """Some of them: what is not given has its default."""
    kept = rng.randint(0, len(options))
    return {name: options[name] for name in rng.sample(list(options), kept)}


def pairs(options: Mapping[str, Any]) -> set[Any]:
    """What a configuration covers: values, and pairs of values."""
    each = [(name, repr(value)) for name, value in sorted(options.items())]
    return {*each, *itertools.combinations(each, 2)}


def agreeing(engine: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options without those that contradict others."""
    lists = options.get("compressed") or not options.get("shortcuts", True)
    if lists and not options.get(PUBLISHED):
        # Both are about posting lists, which clusters take the place of.
        options = {**options, "direct": False}
    if not options.get(PUBLISHED):
        return options
    kept: dict[str, Any] = {PUBLISHED: True}
    for name, value in options.items():
        if _is_taken(engine, {**kept, name: {} if name == "bounds" else value}):
            kept[name] = value
    return kept


def _is_taken(engine: str, options: dict[str, Any]) -> bool:
    try:
        mw.Index(engine, options=options)
    except mw.MatchwoodError:
        return False
    return True
