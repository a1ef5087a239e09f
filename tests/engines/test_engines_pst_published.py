"""PSTBloom and PSTHash as published: what `as_published` switches, and the ranking of 3.3."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines_support import Constraint, encode_events, expected, found, random_conjunctions, random_events, stored
from test_engines_pst import ENGINES, access_of, built, dense_rules, work_of

import matchwood as mw
from matchwood.encoding.codes import TOP_LABEL
from matchwood.engines import engine_class
from matchwood.engines.base import Work
from matchwood.errors import CorruptSnapshot, InvalidArgument

RULES = {
    n: f"a{n % 7} = {n % 5} and b{n % 3} between {n % 40} and {n % 40 + n % 6} and c in ({n % 4}, {n % 9 + 10})"
    for n in range(300)
}


def events(count: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    names = [*(f"a{n}" for n in range(7)), *(f"b{n}" for n in range(3)), "c"]
    return [{name: rng.randrange(20) for name in names if rng.random() < 0.8} for _ in range(count)]


def filled(name: str, **options: Any) -> mw.Index:
    index = mw.Index(name, options=options)
    index.insert_many(RULES)
    return index


def access_names(index: mw.Index) -> list[list[str]]:
    """The attributes that give access to each rule."""
    matcher: Any = index._matcher
    table = matcher.encoder.vocabulary.table
    return [[table.key(each) for each in access_of(matcher.engine, unit)] for unit in range(len(index))]


# ------------------------------------------------------------------ the option


@pytest.mark.parametrize("name", ENGINES)
def test_it_brings_the_spaces_of_the_paper_along(name: str, tmp_path: Path) -> None:
    index = filled(name, as_published=True)
    index.save(tmp_path / "saved")
    for each in (index, mw.open(tmp_path / "saved")):
        assert each._encoder.vocabulary.spaces.name == "pstree"
        assert each.stats()["options"]["as_published"] is True
    assert filled(name)._encoder.vocabulary.spaces.name == "sorted"


@pytest.mark.parametrize("name", ENGINES)
def test_other_spaces_contradict_it(name: str) -> None:
    with pytest.raises(InvalidArgument, match=f"'spaces' of engine '{name}' is 'pstree' as published .got 'sorted'"):
        mw.Index(name, options={"as_published": True, "spaces": "sorted"})
    mw.Index(name, options={"as_published": True, "spaces": "pstree"})
    mw.Index("scan", options={"as_published": True, "spaces": "sorted"})


@pytest.mark.parametrize("name", ENGINES)
def test_nothing_lies_side_by_side(name: str) -> None:
    """Lists of units, four bytes each, without a test."""
    for options, width in (({}, 2), ({"as_published": True}, 1)):
        candidates = filled(name, **options)._matcher.engine._candidates  # type: ignore[attr-defined]
        assert len(candidates.tests) == width * candidates.room > 0


def test_pstbloom_asks_signatures() -> None:
    ours, published = filled("pstbloom"), filled("pstbloom", as_published=True)
    assert ours.stats()["bytes_signatures"] == 0 < published.stats()["bytes_signatures"]
    asked = events(200, seed=1)
    assert ours.match_many(asked) == published.match_many(asked)
    work = published.stats()["matching"]
    assert work["candidates"] > work["verified"] >= work["matched"] > 0


def test_psthash_always_combines() -> None:
    store, contents = stored(dense_rules(np.random.default_rng(5), 100))
    ours, published = built("psthash", store.copy()), built("psthash", store, as_published=True)
    assert published.stats()["lists"] > ours.stats()["lists"]
    event = dict.fromkeys(range(4), 5 * 2**27)
    assert work_of(published, event).candidates < work_of(ours, event).candidates
    assert found(published, encode_events([event])) == expected(contents, [event])
    assert {len(access_of(published, unit)) for unit in range(store.live)} == {2}


def test_psthash_combines_any_two_ranges() -> None:
    """Ours passes over what would make many combinations, or what most events pass; the paper takes it."""
    wide = (Constraint(0, ((1, 2**20),)), Constraint(1, ((1, 2**30 + 2**29 + 1),)))
    store, contents = stored([wide])
    assert access_of(built("psthash", store, dense=0), 0) == [0]
    engine = built("psthash", store, as_published=True)
    assert access_of(engine, 0) == [0, 1]
    asked = [{0: 5, 1: 7}, {0: 5, 1: 0}, {0: 5}]
    assert found(engine, encode_events(asked)) == expected(contents, asked) == [{0}, set(), set()]


@pytest.mark.parametrize("name", ENGINES)
def test_access_is_chosen_once(name: str) -> None:
    for options, times in (({"as_published": True}, 0), ({"reconsider": False}, 0), ({}, 1)):
        engine: Any = filled(name, **options)._matcher.engine
        engine.reconsider()
        assert engine.stats()["reconsidered"] == times


@pytest.mark.parametrize("name", ENGINES)
def test_a_list_of_units_that_are_not_there_is_refused(name: str) -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(2), 60))
    engine = built(name, store, as_published=True)
    arrays = {**engine.arrays(), "tests": engine.arrays()["tests"] + np.uint32(60)}
    damaged = engine_class(name)(store, {"as_published": True})
    damaged.restore(arrays, engine.header())
    with pytest.raises(CorruptSnapshot, match="a list names a unit"):
        damaged.check()


@pytest.mark.parametrize("name", ENGINES)
def test_an_audit_sees_a_list_with_another_unit(name: str) -> None:
    store, _ = stored(random_conjunctions(np.random.default_rng(2), 60))
    engine: Any = built(name, store, as_published=True)
    assert engine.audit() == []
    listed = engine._candidates.tests.writable()
    listed[0] = (listed[0] + 1) % 60
    assert "differ" in " ".join(engine.audit())


def test_the_three_subscriptions_of_5_1_as_published() -> None:
    index = mw.Index("pstbloom", options={"as_published": True})
    index["s1"] = "x < -5 and y between 1 and 5"
    index["s2"] = "x between -5 and -1 and y < 1"
    index["s3"] = "x between -5 and -1 and y > 5"
    assert access_names(index) == [["y"], ["x"], ["x"]]
    assert [index.match(event) for event in ({"x": -9, "y": 3}, {"x": -3, "y": 0})] == [["s1"], ["s2"]]
    matcher: Any = index._matcher
    nobody = matcher.encoder.encode_event({"x": -3, "y": 3})
    assert matcher.engine.match(nobody, 0, matcher.workspace).work == Work(candidates=3, verified=0, matched=0)


def test_the_four_subscriptions_of_6_1_as_published() -> None:
    index = mw.Index("psthash", options={"as_published": True})
    index.insert_many(
        {
            "s1": "x = 1 and y = -1 and z < 0",
            "s2": "x = 1 and y = -1 and z > 0",
            "s3": "x = 1 and y < -1 and z = 0",
            "s4": "x < 1 and y = -1 and z = 0",
        }
    )
    assert list(map(sorted, access_names(index))) == [["x", "y"], ["x", "y"], ["x", "z"], ["y", "z"]]
    assert index.match({"x": 1, "y": -1, "z": 2}) == ["s2"]
    assert index.stats()["matching"]["candidates"] == 2


# ------------------------------------------------------------------ the ranking

OPERATORS = [
    "{0} = 5",
    "{0} in (1, 7, 9)",
    "{0} between 2 and 4",
    "{0} >= 3",
    "{0} not in (4, 9)",
    "{0} != 5",
]
"""3.3, the most selective first."""


@pytest.mark.parametrize("kind", ["int", "double", "number", "date"])
@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
def test_operators_rank_as_in_the_paper(kind: str, spaces: str) -> None:
    """Whatever the widths: 1,000 constants make the other attributes' ranges narrow, and those of the best wide."""
    names = [f"x{n}" for n in range(6)]
    schema = {} if kind == "number" else dict.fromkeys(names, kind)
    index = mw.Index("pstbloom", schema=schema, options={"ranking": "operators", "spaces": spaces})
    written = [OPERATORS[n].format(names[n]) for n in range(6)]
    if kind == "date":
        written = [
            "x0 = date '2026-01-05'",
            "x1 in (date '2026-01-01', date '2026-01-07')",
            "x2 between date '2026-01-02' and date '2026-01-04'",
            "x3 >= date '2026-01-03'",
            "x4 not in (date '2026-01-04', date '2026-01-09')",
            "x5 != date '2026-01-05'",
        ]
    else:
        index.insert_many({1_000 + n: f"x4 = {n} and x5 = {n} and x3 = {n} and x2 = {n}" for n in range(200)})
    first = len(index)
    for better in range(6):
        index[better] = " and ".join(random.Random(better).sample(written[better:], 6 - better))
    assert [access_names(index)[first + n] for n in range(6)] == [[f"x{n}"] for n in range(6)]


def test_an_equality_comes_before_a_narrow_range() -> None:
    """`flag = true` is half of what an event can say, and yet an equality."""
    rules = {n: f"flag = true and age between {3 * n} and {3 * n + 1}" for n in range(200)}
    found = {}
    for ranking in ("shares", "operators"):
        index = mw.Index("pstbloom", options={"ranking": ranking})
        index.insert_many(rules)
        index.match({"flag": False, "age": 22})
        found[ranking] = index.stats()["matching"]["candidates"], access_names(index)[7]
    assert found == {"shares": (1, ["age"]), "operators": (0, ["flag"])}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("a between 1 and 5", "b between 1 and 10"),
        ("a in (1, 5)", "b in (1, 5, 9)"),
        ("a not in (1, 5, 9)", "b not in (1, 5)"),
        ("a > 7", "b > 5"),
        ("a between 1 and 10", "b > 5"),
        ("a not between 1 and 7", "b != 5"),
        ("a != 5", "b is not null"),
        ("a != 5", "(b is null or b = 1)"),
    ],
)
@pytest.mark.parametrize("kind", ["int", "double"])
@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
def test_wider_predicates_are_less_selective(better: str, worse: str, kind: str, spaces: str) -> None:
    """Both attributes have the same constants, and so the same labels."""
    index = mw.Index("pstbloom", schema={"a": kind, "b": kind}, options={"ranking": "operators", "spaces": spaces})
    index.insert_many({n: f"a = {n} and b = {n}" for n in range(12)})
    index[12] = f"{worse} and {better}"
    assert access_names(index)[12] == ["a"]


@pytest.mark.parametrize(
    "single",
    [
        "a = 1", "a = -9223372036854775808", "a = 9223372036854775807", "a = 9007199254740992", "a = 9007199254740993",
        "a = 0.1", "a = cast('NaN' as double)", "a = cast('-Infinity' as double)", "a = cast('Infinity' as double)",
        "a = 'x'", "a = ''", "a = 'x\0'", "a = 'longer than eight bytes'", "a", "not a", "a = date '2026-01-01'",
        "a between 3 and 3", "a in ('x')",
    ],
)  # fmt: skip
@pytest.mark.parametrize("spaces", ["sorted", "pstree"])
def test_a_single_value_of_any_kind_is_an_equality(single: str, spaces: str) -> None:
    index = mw.Index("pstbloom", options={"ranking": "operators", "spaces": spaces})
    index["rule"] = f"{single} and b in (1, 5)"
    assert access_names(index) == [["a"]]


def test_a_derived_attribute_is_true_or_false() -> None:
    index = mw.Index("pstbloom", options={"ranking": "operators"})
    index["rule"] = "b in (1, 5) and a like 'x%y'"
    assert access_names(index)[0][0].startswith("\0a")


def test_observed_events_decide_alone() -> None:
    """As published, no estimate is weighed against what was seen, however few events that were."""
    index = mw.Index("pstbloom", options={"ranking": "operators"})
    index["first"] = "a = 1 and b > 5"
    for _ in range(3):
        index.match({"a": 1, "b": 2})
    index["second"] = "a = 1 and b > 6"
    assert access_names(index) == [["a"], ["b"]]


def test_without_values_a_bounded_interval_is_a_range() -> None:
    narrow, half = Constraint(0, ((10, 11),)), Constraint(1, ((2**30, TOP_LABEL),))
    store, contents = stored([(narrow, half)])
    engine = built("pstbloom", store, ranking="operators")
    assert access_of(engine, 0) == [0]
    asked = random_events(np.random.default_rng(3), 5)
    assert found(engine, encode_events(asked)) == expected(contents, asked)


def test_auto_gives_it_to_what_it_chooses() -> None:
    """More rules than it takes to choose by them: whichever engine it is, it is as published."""
    index = mw.Index("auto", options={"as_published": True})
    rules = {n: f"a{n % 7} = {n % 5} and b{n % 3} between {n} and {n + n % 6}" for n in range(2_500)}
    index.insert_many(rules)
    matcher: Any = index._matcher
    assert index._encoder.vocabulary.spaces.name == "pstree"
    assert matcher.engine.as_published is True
    assert index.stats()["options"]["as_published"] is True
    plain = mw.Index("scan")
    plain.insert_many(rules)
    asked = events(60, seed=2)
    assert index.match_many(asked) == plain.match_many(asked)
    assert plain.stats()["matching"]["matched"] > 0
