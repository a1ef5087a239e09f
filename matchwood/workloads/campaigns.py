"""Campaigns that read like real ones: rules with ranges, sets, lists, patterns and negation."""

from __future__ import annotations

import random
from collections.abc import Sequence

COUNTRIES = ("US", "CA", "GB", "DE", "FR", "ES", "IT", "NL", "SE", "PL", "BR", "MX", "IN", "JP", "AU", "ZA")
DEVICES = ("phone", "tablet", "desktop", "tv", "console")
PLANS = ("free", "free-trial", "basic", "plus", "premium", "family", "student")
INTERESTS = (
    "sport", "travel", "news", "food", "music", "film", "games", "books", "garden", "cars",
    "fashion", "science", "finance", "health", "pets", "art", "history", "diy", "outdoor", "family",
)  # fmt: skip
SITES = ("sport.example", "news.example", "shop.example", "video.example", "forum.example", "mail.example")


def campaigns(count: int, seed: int | str = 1, first: int = 0) -> list[tuple[str, str]]:
    """(id, rule) for `count` campaigns from number `first` on; each narrows its audience by four to six conditions.

    >>> campaigns(1)[0][0], campaigns(1)[0][1].split(" and ")[0]
    ('campaign-000000', 'age between 20')
    """
    draw = random.Random(seed)
    return [(f"campaign-{number:06d}", _campaign(draw)) for number in range(first, first + count)]


def _campaign(draw: random.Random) -> str:
    others = draw.sample((_countries, _interests, _hours, _plan, _spend, _site, _device), draw.randint(3, 5))
    return " and ".join(condition(draw) for condition in (_ages, *others))


def _ages(draw: random.Random) -> str:
    low = draw.randint(13, 70)
    return f"age between {low} and {low + draw.randint(1, 12)}"


def _countries(draw: random.Random) -> str:
    chosen = draw.sample(COUNTRIES, draw.randint(1, 3))
    return f"country in ({_quoted(chosen)})"


def _interests(draw: random.Random) -> str:
    chosen = draw.sample(INTERESTS, draw.randint(1, 2))
    return f"interests {draw.choice(('one of', 'one of', 'all of'))} ({_quoted(chosen)})"


def _quoted(values: Sequence[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)


def _hours(draw: random.Random) -> str:
    start = draw.randint(0, 21)
    return f"hour between {start} and {start + draw.randint(1, 3)}"


def _plan(draw: random.Random) -> str:
    forms = ("plan like 'free%'", "not plan like 'free%'", "plan = '{}'", "(plan = '{}') is not true")
    return draw.choice(forms).format(draw.choice(PLANS))


def _spend(draw: random.Random) -> str:
    return f"spend {draw.choice(('>', '>=', '<'))} {draw.randint(1, 50_000) / 100}"


def _site(draw: random.Random) -> str:
    return f"site = '{draw.choice(SITES)}'"


def _device(draw: random.Random) -> str:
    one, two = draw.sample(DEVICES, 2)
    return f"(device = '{one}' xor device = '{two}')"
