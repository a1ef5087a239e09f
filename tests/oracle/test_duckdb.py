"""The oracle and DuckDB agree on more than 20,000 generated rule-event pairs, and a planted bug is found."""

from __future__ import annotations

import math
import operator
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings

import matchwood.semantics.evaluation as oracle
import matchwood.semantics.patterns as patterns
import matchwood.semantics.values as values
from matchwood.language import parse
from tests import strategies
from tests.cases import PAIRS, Workload, duckdb_cases, workloads
from tests.conftest import SOAK
from tests.sql import verdicts


def our_verdicts(work: Workload, timezone: str = "UTC") -> list[tuple[bool | None, ...]]:
    return [tuple(oracle.evaluate(rule, event, None, timezone) for rule in work.rules) for event in work.events]


def disagreements(work: Workload, timezone: str = "UTC") -> list[str]:
    """Every pair that the two see differently, in words."""
    found = []
    for event, ours, theirs in zip(work.events, our_verdicts(work, timezone), verdicts(work, timezone), strict=True):
        for rule, our, their in zip(work.rules, ours, theirs, strict=True):
            if our is not their:
                found.append(f"{rule} of {event}: the oracle says {our}, DuckDB {their}")
    return found


def test_agreement_on_seeded_cases() -> None:
    """Each operator × type in at least 200 pairs; at least 30% of all pairs TRUE, 15% NULL."""
    cover: Counter[tuple[str, str]] = Counter()
    seen: Counter[bool | None] = Counter()
    for work in duckdb_cases():
        assert disagreements(work) == []
        cover.update(work.cover())
        seen.update(verdict for row in our_verdicts(work) for verdict in row)
    assert seen.total() > 20_000
    assert seen[True] >= 0.30 * seen.total()
    assert seen[None] >= 0.15 * seen.total()
    assert [pair for pair in PAIRS if cover[pair] < 200] == []


@pytest.mark.parametrize("timezone", ["America/New_York", "Asia/Kathmandu"])
def test_agreement_in_other_zones(timezone: str) -> None:
    times = {"born": "date", "seen_at": "timestamp", "vip": "bool"}
    for work in workloads(seed=2, count=5, rules=60, events=12, attributes=times):
        assert disagreements(work, timezone) == []


def test_agreement_on_any_case() -> None:
    """More than 10,000 pairs from hypothesis, in the short form a third."""
    pairs = 0

    @settings(max_examples=240 if SOAK else 80, deadline=None)
    @given(strategies.workloads())
    def agree(work: Workload) -> None:
        nonlocal pairs
        assert disagreements(work) == []
        pairs += len(work.rules) * len(work.events)

    agree()
    assert pairs > (10_000 if SOAK else 3_000)


EVENTS_BY_HAND = [
    {},
    *(
        {"mixed": value}
        for value in (0, -0.0, 1, 1.5, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, float("nan"), float("inf"))
    ),
    *({"country": value} for value in ("", "a", "A", "a%b", "a_b", "é", "e\u0301", "😀", "a\nb")),
    *({"tags": value} for value in ([], [None], ["a"], ["a", None, "b"], None)),
]
EVENTS_BY_HAND += [
    {"mixed": Decimal(text)}
    for text in ("10.05", "0.1", "0.100000000000000005", "0.100000000000000006", "1", "9007199254740993", "1E-18")
] + [{"mixed": value} for value in (10.05, 0.1, math.nextafter(0.1, 1), 1.0)]
RULES_BY_HAND = [
    *("mixed = 10.05", "mixed > 10.05", "mixed >= 10.05", "mixed != 0.1", "mixed = 0.1000000000000000055"),
    *("mixed < 0.1000000000000000055", "mixed <= 0.1000000000000000055", "mixed > 0.1000000000000000055"),
    *("mixed = 0.99999999999999999999", "mixed >= 0.99999999999999999999", "mixed between 0.1 and 10.05"),
    *("mixed not between 0.1000000000000000055 and 9007199254740993.0", "mixed in (0.1, 9007199254740993.0)"),
    *("mixed = 9007199254740993", "mixed > 9007199254740992.0", "mixed < 9223372036854775808", "mixed >= 1.5"),
    *("mixed = cast('NaN' as double)", "mixed = 0", "mixed not in (0.0, 1)", "mixed between 2 and 1", "mixed is null"),
    *("country like 'a\\%b'", "country like '_'", "country ilike 'A%'", "country rlike '^.$'", "country < 'é'"),
    *("tags none of ('a')", "tags all of ('a', 'b')", "'a' in tags", "'a' not in tags", "tags one of ('b')"),
    *("(mixed = 1) is not true", "mixed = 1 xor 'a' in tags", "not (mixed = 1 and mixed != 1)"),
]


def test_agreement_by_hand() -> None:
    work = Workload(list(map(parse, RULES_BY_HAND)), EVENTS_BY_HAND)
    assert disagreements(work) == []
    assert {verdict for row in our_verdicts(work) for verdict in row} == {True, False, None}


BUGS = {
    "an open bound is closed": lambda patch: patch.setitem(oracle._TESTS, "<", operator.le),
    "between forgets its upper end": lambda patch: patch.setitem(
        oracle._TESTS, "between", lambda v, ends: ends[0] <= v
    ),
    "all of is one of": lambda patch: patch.setitem(oracle._TESTS, "all of", oracle._TESTS["one of"]),
    "NaN is below": lambda patch: patch.setattr(values, "number_key", lambda n: (n == n, n if n == n else 0)),
    "numbers as doubles": lambda patch: patch.setattr(values, "number_key", lambda n: (n != n, _rounded(n))),
    "ilike minds case": lambda patch: patch.setattr(patterns, "_lower", lambda character: character),
    "decimals as doubles": lambda patch: patch.setattr(values, "_beside", lambda literal, number: literal),
    "xor of a NULL": lambda patch: patch.setattr(oracle, "reduce", lambda function, items: True),
}


def _rounded(number: float) -> float:
    return 0.0 if number != number else float(max(min(number, 10**308), -(10**308)))


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[bug](monkeypatch)
    assert any(disagreements(work) for work in duckdb_cases())
