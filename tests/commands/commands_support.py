"""Rules, events and their hits, which the tests of commands share."""

from __future__ import annotations

from typing import Any, NamedTuple

RULES = [
    ("adults", "age >= 18 and country in ('US', 'CA')"),
    ("sporty", "tags one of ('sport', 'outdoor') and not plan like 'free%'"),
    ("unknown age", "age is null"),
    ("recent", "seen >= timestamp '2026-01-01 00:00:00'"),
]
EVENTS: list[dict[str, Any]] = [
    {"who": "ann", "age": 20, "country": "US", "tags": ["sport"], "plan": "gold", "seen": "2026-02-01 10:00:00"},
    {"who": "bob", "age": None, "country": "NA", "tags": None, "plan": None, "seen": None},
    {"who": "cy", "age": 3, "country": "CA", "tags": [], "plan": "free", "seen": "2025-02-01"},
    {"who": "dee", "age": 18, "country": "CA", "tags": ["outdoor", "news"], "plan": "free-trial", "seen": None},
]
HITS = [("ann", "adults"), ("ann", "sporty"), ("ann", "recent"), ("bob", "unknown age"), ("dee", "adults")]


class Done(NamedTuple):
    """What a command left behind: its exit status, standard output, standard error."""

    status: int
    out: str
    err: str
