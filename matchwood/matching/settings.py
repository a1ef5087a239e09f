"""The settings of an index, checked when it is made and when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from matchwood.encoding import Strictness
from matchwood.engines import AS_PUBLISHED, asked, published_spaces
from matchwood.errors import InvalidArgument, kind_in_words

MOST_RANKED = 2**31 - 1
"""No index has more rules."""


def checked_limit(dnf_limit: Any) -> int:
    """How many conjunctions a rule may have before the fall-back takes it."""
    if isinstance(dnf_limit, bool) or not isinstance(dnf_limit, int) or dnf_limit < 1:
        raise InvalidArgument(f"dnf_limit must be an integer of at least 1 (got {dnf_limit!r:.80})")
    return dnf_limit


def not_one_event(event: Any) -> InvalidArgument:
    """The error for what `match` is given and is no dict."""
    return InvalidArgument(
        f"match takes one event as a dict (got {type(event).__name__}); match_many takes lists and tables"
    )


def checked_rank(n: Any, name: str = "n") -> int:
    """How many of an event's best rules are wanted."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidArgument(f"{name} must be an integer of at least 1 (got {n!r:.80})")
    return min(int(n), MOST_RANKED)


def checked_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of the engine, and `spaces`, by name."""
    if options is not None and not isinstance(options, Mapping):
        raise InvalidArgument(f"options must be a dict (got {options!r:.80})")
    return dict(options or {})


def taken_spaces(engine: str, options: dict[str, Any]) -> str:
    """The predicate spaces that options ask for, taken out of them; as published, those of the engine's paper."""
    published = published_spaces(engine) if asked(options, engine) else None
    given = options.pop("spaces", published or "sorted")
    spaces = checked_text("spaces", given)
    if published not in (None, spaces):
        raise InvalidArgument(
            f"option 'spaces' of engine {engine!r} is {published!r} as published (got {spaces!r:.80}): "
            f"leave out {AS_PUBLISHED!r} or 'spaces'"
        )
    return spaces


def strictness_of_one(missing: Any, on_error: Any) -> Strictness:
    """How strict a call with one event is: there is no table that could tell of errors."""
    strictness = Strictness.of(missing, on_error)
    if strictness.on_error == "report":
        raise InvalidArgument(
            "on_error='report' adds a column to tables: give the event to match_many or top_many, or take 'raise' or "
            "'null' (index.stats()['misfits'] counts what did not fit)"
        )
    return strictness


def checked_text(name: str, value: Any) -> str:
    """A setting that is a name."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a string (got {value!r:.80}, {kind_in_words(value)})")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """A setting that is on or off."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} must be True or False (got {value!r:.80}, {kind_in_words(value)})")
    return value
