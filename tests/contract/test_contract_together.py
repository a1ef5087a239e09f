"""Each rule alone, and then all of them in one index: merging is where bugs live."""

from __future__ import annotations

import functools
import random
from collections import Counter
from typing import Any

import pytest

from tests.cases import PAIRS, Workload, duckdb_cases, event, predicate_of
from tests.conftest import SOAK
from tests.contract.engines import ENGINES
from tests.contract.twin import SCHEMA, Twin, check_workload, oracle_answers
from tests.pools import ATTRIBUTES, palettes

pytestmark = pytest.mark.few

RULES = """
    true
    false
    x = 1
    x = 1.0
    x != 1
    not x = 1
    x < 1
    x <= 1
    x > 1
    x >= 1
    not x > 1
    x < 1.5
    x > 9007199254740992
    x >= 9007199254740993.0
    x = 9007199254740993
    x < 9223372036854775808
    x > -100000000000000000000000000000000
    x between 1 and 3
    x not between 1 and 3
    x between 3 and 1
    x in (1, 2, 3)
    x not in (1, 2, 3)
    x is null
    x is not null
    x is null or x not in (1, 2)
    x = cast('NaN' as double)
    x > cast('Infinity' as double)
    x >= cast('-Infinity' as double)
    x = 1 and x = 2
    x = 1 or x = 2 or x = 3
    not (x = 1 and x != 1)
    (x = 1) is not true
    (x = 1) is unknown
    x = 1 xor y = 'a'
    x = 1 xnor y = 'a'
    x = 1 xor x = 2 xor x = 3
    y = 'a'
    y = ''
    y < 'b'
    y >= 'é'
    y like 'a%'
    y like '%a'
    y like '%a%'
    y like 'a'
    y like '_'
    y like '%'
    y like 'a_c'
    y like '\\%'
    y not like 'a%'
    y ilike 'A%'
    y rlike 'a|c$'
    y not rlike '^$'
    y between 'a' and 'b'
    x = 1 and y = 'a'
    x = 1 or y = 'a'
    (x = 1 or y = 'a') and (x = 2 or y = 'b')
    not (x = 1 and y = 'a')
    not (x = 1 or y = 'a')
    z one of ('a', 'b')
    z all of ('a', 'b')
    z none of ('a', 'b')
    'a' in z
    'a' not in z
    z is null
    flag
    not flag
    flag = false
    flag is null or not flag
    day = date '2026-01-01'
    day < timestamp '2026-01-01 00:00:00.000001'
    day in (date '2026-01-01', timestamp '2026-01-02 01:00:00+01:00')
"""
LINES = [line.strip().replace("\\\\", "\\") for line in RULES.strip().splitlines()]

EVENTS = [
    {},
    *({"x": x} for x in (0, 1, 1.0, 1.5, 2, 3, -0.0, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63))),
    *({"x": float(x)} for x in ("nan", "inf", "-inf")),
    *({"y": y} for y in ("", "a", "b", "abc", "A", "%", "é", "e\u0301", "😀", "cba")),
    *({"x": x, "y": y} for x in (1, 2, None) for y in ("a", "b", None)),
    *({"z": z, "flag": flag} for z in ([], ["a"], ["a", None, "b"], [None], ["c"], None) for flag in (True, False)),
    *({"day": day} for day in ("2026-01-01", "2026-01-02", "2025-12-31T23:59:59.999999", "2026-01-01T00:00:00Z")),
]


@pytest.mark.long(4)
def test_each_rule_alone(engine: str) -> None:
    """In the short form an engine has a third of them, and the next engine another."""
    for line in LINES[slice(None) if SOAK else slice(ENGINES.index(engine) % 3, None, 3)]:
        twin = Twin(engine)
        twin.put(line, line)
        twin.check(EVENTS)


def test_all_rules_together(engine: str) -> None:
    twin = Twin(engine)
    for line in LINES:
        twin.put(line, line)
    assert twin.check(EVENTS) > 700
    for line in LINES[::2]:
        twin.remove(line)
    twin.check(EVENTS)
    twin.index.compact()
    twin.check(EVENTS)
    for line in LINES[::2]:
        twin.put(line, line)
    twin.check(EVENTS)
    assert twin.index.audit() == []


@pytest.mark.parametrize("kind", sorted(set(ATTRIBUTES.values())))
def test_every_operator_of_a_type(engine: str, kind: str) -> None:
    """Predicates of every operator over one attribute, alone and negated, on events that have its constants."""
    rng = random.Random(f"operators of {kind}")
    shared = palettes(rng, size=8)
    name = next(each for each, its in ATTRIBUTES.items() if its == kind)
    twin = Twin(engine)
    operators = [operator for operator, its in PAIRS if its == kind]
    events = 40 if SOAK else 20
    for number, operator in enumerate(operators * (4 if SOAK else 2)):
        made = predicate_of(rng, name, kind, operator, shared[name])
        twin.put(2 * number, made)
        twin.put(2 * number + 1, f"not ({made})")
    seen = twin.check([event(rng, shared, {name: kind}) for _ in range(events)])
    assert seen > events * len(operators) // 2


@pytest.mark.long(4)
def test_the_cases_that_duckdb_agrees_on(engine: str) -> None:
    """The seeded cases of `tests/oracle/test_duckdb.py`: more than 20,000 pairs, every operator × type in 200.

    In the short form an engine has a tenth of them, and the next engine another.
    """
    cases = answered_cases()[slice(None) if SOAK else slice(ENGINES.index(engine), None, len(ENGINES))]
    seen = sum(check_workload(engine, *case) for case in cases)
    pairs = sum(len(work.rules) * len(work.events) for work, _, _ in cases)
    assert pairs > (20_000 if SOAK else 1_600)
    assert seen > 0.3 * pairs


def test_the_cases_have_every_operator_and_type() -> None:
    cover: Counter[tuple[str, str]] = Counter()
    for work, _, _ in answered_cases():
        cover.update(work.cover())
    assert [pair for pair in PAIRS if cover[pair] < 200] == []


@functools.cache
def answered_cases() -> list[tuple[Workload, dict[str, str] | None, list[list[Any]]]]:
    """With the types that are declared, and the oracle's answers, which all engines share."""
    typed = [(work, SCHEMA if number % 3 == 0 else None) for number, work in enumerate(duckdb_cases())]
    return [(work, types, oracle_answers(work, types)) for work, types in typed]
