"""Campaigns and page views that read like real ones: rules with ranges, sets, lists, patterns and negation."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

COUNTRIES = ("US", "CA", "GB", "DE", "FR", "ES", "IT", "NL", "SE", "PL", "BR", "MX", "IN", "JP", "AU", "ZA")
DEVICES = ("phone", "tablet", "desktop", "tv", "console")
PLANS = ("free", "free-trial", "basic", "plus", "premium", "family", "student")
INTERESTS = (
    "sport", "travel", "news", "food", "music", "film", "games", "books", "garden", "cars",
    "fashion", "science", "finance", "health", "pets", "art", "history", "diy", "outdoor", "family",
)  # fmt: skip
SITES = ("sport.example", "news.example", "shop.example", "video.example", "forum.example", "mail.example")


def campaigns(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """(id, rule) for `count` campaigns; each narrows its audience by two to five conditions."""
    draw = random.Random(seed)
    return [(f"campaign-{number:06d}", _campaign(draw)) for number in range(count)]


def _campaign(draw: random.Random) -> str:
    conditions = [_ages(draw), *draw.sample((_countries, _interests, _hours, _plan, _spend, _site, _device), draw.randint(2, 4))]
    return " and ".join(condition if isinstance(condition, str) else condition(draw) for condition in conditions)


def _ages(draw: random.Random) -> str:
    low = draw.randint(13, 70)
    return f"age between {low} and {low + draw.randint(1, 12)}"


def _countries(draw: random.Random) -> str:
    chosen = draw.sample(COUNTRIES, draw.randint(1, 3))
    return f"country in ({', '.join(map(repr, chosen))})"


def _interests(draw: random.Random) -> str:
    chosen = ", ".join(map(repr, draw.sample(INTERESTS, draw.randint(1, 2))))
    return f"interests {draw.choice(('one of', 'one of', 'all of'))} ({chosen})"


def _hours(draw: random.Random) -> str:
    start = draw.randint(0, 21)
    return f"hour between {start} and {start + draw.randint(1, 3)}"


def _plan(draw: random.Random) -> str:
    return draw.choice(("plan like 'free%'", "not plan like 'free%'", f"plan = {draw.choice(PLANS)!r}", "(plan = 'premium') is not true"))


def _spend(draw: random.Random) -> str:
    return f"spend {draw.choice(('>', '>=', '<'))} {draw.randint(1, 50_000) / 100}"


def _site(draw: random.Random) -> str:
    return f"site = {draw.choice(SITES)!r}"


def _device(draw: random.Random) -> str:
    one, two = draw.sample(DEVICES, 2)
    return f"(device = {one!r} xor device = {two!r})"


def page_views(count: int, seed: int = 2) -> pa.Table:
    """`count` events as a table; some values are missing, as in life."""
    draw = np.random.default_rng(seed)
    chosen = lambda values: np.array(values)[draw.integers(0, len(values), count)]  # noqa: E731
    lengths = draw.integers(0, 5, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    interests = np.array(INTERESTS)[draw.integers(0, len(INTERESTS), offsets[-1])]
    absent = lambda share: draw.random(count) < share  # noqa: E731
    return pa.table(
        {
            "view": np.arange(count),
            "age": pa.array(draw.integers(13, 90, count), mask=absent(0.1)),
            "country": pa.array(chosen(COUNTRIES)),
            "device": pa.array(chosen(DEVICES)),
            "hour": pa.array(draw.integers(0, 24, count)),
            "interests": pa.ListArray.from_arrays(offsets, interests),
            "plan": pa.array(chosen(PLANS), mask=absent(0.3)),
            "site": pa.array(chosen(SITES)),
            "spend": pa.array(np.round(draw.lognormal(3, 1.5, count), 2), mask=absent(0.2)),
        }
    )
