"""`find` on rules with too many conjunctions: what a few of them tell is what all of them say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import matchwood as mw
from matchwood.encoding import Schema
from matchwood.encoding.rules.binding import Binder
from matchwood.encoding.schema.timezones import Zone
from matchwood.errors import LimitExceeded
from matchwood.insight.find.forms import decided_form
from matchwood.insight.find.logic import is_found
from matchwood.insight.find.query import SEMANTICS, Query, query_of
from matchwood.logic import Form, dnf_of, normalise
from tests.conftest import SOAK
from tests.index.find_support import TYPES, conjunction, constraint, written

PAGE = Path(__file__).parent.parent.parent / "docs" / "find.md"
SINGLE = [each for each in SEMANTICS if each not in ("symmetric", "exact")]


def nested(rng: random.Random) -> str:
    """ANDs of ORs, and parities: forms that are no OR of conjunctions as they stand."""
    made = [constraint(rng, rng.choice(list(TYPES))) for _ in range(rng.randint(3, 6))]
    parts = [f"({' or '.join(rng.sample(made, 2))})" for _ in range(rng.randint(1, 3))]
    parts.append(f"({made[0]} xor {made[1]})" if rng.random() < 0.5 else f"not ({made[-1]} and {made[-2]})")
    return rng.choice((" and ", " and ", " or ")).join(parts)


@pytest.mark.parametrize("semantics", SINGLE)
def test_a_form_decides_like_its_conjunctions_or_not_at_all(semantics: str) -> None:
    rng = random.Random(f"forms {semantics}")
    binder = Binder(Schema(TYPES), Zone("UTC"))
    decided = {True: 0, False: 0, None: 0}
    for _ in range(4_000 if SOAK else 300):
        tree, query = mw.parse(nested(rng)), _query(rng, semantics)
        form, rows = normalise(tree, binder.bind), dnf_of(tree, binder.bind, 4_096)
        assert not isinstance(rows, Form)
        if not form.leaves:
            continue
        try:
            found = decided_form(form, query)
        except LimitExceeded:
            decided[None] += 1
            continue
        assert found is is_found(rows, query), (semantics, str(tree), query.rows)
        decided[found] += 1
    assert decided[True] > 1
    assert decided[False] > 30
    assert decided[None] < 150


def _query(rng: random.Random, semantics: str) -> Query:
    while True:
        try:
            return query_of(written([conjunction(rng, 2)]), semantics, Schema(TYPES), "UTC")
        except mw.InvalidArgument:
            continue


PARITY = " xor ".join(f"a{number} = 1" for number in range(24))
"""2**23 conjunctions of 24 predicates each."""

EVERY = " and ".join(f"a{number} = {int(number == 3)}" for number in range(24))


def test_a_rule_beyond_all_limits(engine: str) -> None:
    index = mw.Index(engine=engine)
    index.insert_many({"small": "a0 = 1", "large": PARITY})
    assert index.find("a0 = 1 and a1 = 0", "stabbing_subscription") == ["small"]
    assert index.find(EVERY) == index.find(EVERY, "implied_by") == ["large"]
    assert index.find(" and ".join(f"a{number} is not null" for number in range(24)), "implies") == ["large"]
    assert index.find("a0 = 1", "implied_by") == ["small"]
    assert index.find("a0 = 1", "stabbing_event") == index.find("a0 = 1", "enclosure") == ["small", "large"]
    assert index.find("a0 = 1", "containment") == index.find("a0 = 1", "exact") == ["small"]


def test_what_cannot_be_told_is_refused_by_name(engine: str) -> None:
    index = mw.Index(engine=engine)
    index["parity"] = f"({PARITY}) and (b = 1 and c = 1 or b = 1 and c != 1 or b = 1 and c is null)"
    with pytest.raises(mw.LimitExceeded, match="rule 'parity' cannot be compared with the query: it has more than"):
        index.find(" and ".join(f"a{number} is not null" for number in range(24)) + " and b = 1", "containment")
    assert index.find("b = 2", "containment") == []


def test_a_query_beyond_the_limit_is_refused() -> None:
    index = mw.Index()
    index["r"] = "a0 = 1"
    with pytest.raises(mw.LimitExceeded, match="the query has more than 4,096 conjunctions"):
        index.find(PARITY)


def test_the_truth_table_of_the_page(engine: str) -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.endswith(("| yes |", "| no |"))]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 10
    index = mw.Index(engine=engine)
    index.insert_many({number: row[0] for number, row in enumerate(rows)})
    for place, semantics in enumerate(SEMANTICS, 1):
        wanted = [number for number, row in enumerate(rows) if row[place] == "yes"]
        assert index.find("age between 20 and 30 and country = 'US'", semantics) == wanted, semantics
