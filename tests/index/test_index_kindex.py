"""The engine `kindex` behind the façade: forms, the paper's assignments, merges while others match, ranges."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest

import matchwood as mw
from matchwood.engines.kindex import engine as kindex
from matchwood.engines.kindex.engine import KIndex
from tests.cases import workloads
from tests.conftest import SOAK
from tests.contract.twin import Twin, script

FIGURE_1 = {
    "c1": "age = 3 and state = 'NY'",
    "c2": "age = 3 and gender = 'F'",
    "c3": "age = 3 and gender = 'M' and (state is null or state not in ('CA'))",
    "c4": "state = 'CA' and gender = 'M'",
    "c5": "age in (3, 4)",
    "c6": "state is null or state not in ('CA', 'NY')",
}
FIGURE_7 = {
    "c1": "(A = 1 or B = 1) and (C = 1 or D = 1)",
    "c2": "(A = 1 or C = 2) and (B = 1 or D = 1)",
    "c3": "(A = 1 or B = 1) and (C = 2 or D = 1)",
    "c4": "(A = 1 or B = 1) and (A in (1, 2) or D = 1)",
    "c5": "(A = 1 or B = 1) and (C is null or C not in (1, 2) or D is null or D not in (1) or E = 1)",
    "c6": "A is null or A not in (1) or B = 1",
}


def units_by_form(index: mw.Index) -> dict[str, int]:
    return {form: sum(sizes.values()) for form, sizes in index.stats()["units_by_size"].items()}


@pytest.mark.parametrize("form", ["auto", "dnf", "cnf"])
def test_the_assignments_of_the_paper(form: str) -> None:
    index = mw.Index("kindex", options={"form": form})
    index.insert_many(FIGURE_1)
    assert index.match({"age": 3, "state": "CA", "gender": "M"}) == ["c4", "c5"]
    index = mw.Index("kindex", options={"form": form})
    index.insert_many(FIGURE_7)
    assert index.match({"A": 1, "C": 2}) == ["c3", "c4", "c5"]
    assert (units_by_form(index)["cnf"] > 0) == (form != "dnf")


def test_strong_not_in_is_a_positive_entry_and_weak_a_negative_one() -> None:
    index = mw.Index("kindex")
    index["strong"] = "x not in (1, 2)"
    assert (index.stats()["z_list"], index.stats()["units_by_size"]["dnf"]) == (0, {"1": 1})
    index["weak"] = "x is null or x not in (1, 2)"
    assert (index.stats()["z_list"], index.stats()["units_by_size"]["dnf"]) == (1, {"0": 1, "1": 1})
    assert [index.match(event) for event in ({}, {"x": 1}, {"x": 3})] == [["weak"], [], ["strong", "weak"]]


@pytest.mark.parametrize(
    ("rule", "form"),
    [
        ("a = 1 and b = 2", "dnf"),
        ("a = 1 and b = 2 or c = 3", "dnf"),
        ("a = 1 or b = 2", "dnf"),
        ("(a = 1 or b = 2) and (c = 3 or d = 4)", "cnf"),
        ("a = 1 and (b = 2 or c = 3 and d = 4)", "dnf"),
        ("not (a = 1 and b = 2 or c = 3 and d = 4)", "cnf"),
    ],
)
def test_auto_takes_the_smaller_form(rule: str, form: str) -> None:
    index = mw.Index("kindex")
    index[1] = rule
    assert [name for name, count in units_by_form(index).items() if count] == [form]


def test_clauses_take_rules_that_have_too_many_conjunctions() -> None:
    index = mw.Index("kindex", dnf_limit=16)
    index["clauses"] = " and ".join(f"(a{number} = 1 or b{number} = 1)" for number in range(10))
    index["neither"] = index["clauses"] + " or " + " or ".join(f"(a{n} = 2 and b{n} = 2)" for n in range(10))
    assert units_by_form(index) == {"dnf": 0, "cnf": 1}
    assert index.stats()["fallback_rules"] == 1
    assert index.match({f"a{number}": 1 for number in range(10)}) == ["clauses", "neither"]
    assert index.match({"a3": 2, "b3": 2}) == ["neither"]


def test_constants_have_no_clauses() -> None:
    index = mw.Index("kindex", options={"form": "cnf"})
    index.insert_many(
        {"always": "x = 1 or x is null or x != 1", "never": "x = 1 and x = 2", "plain": "x = 1 and y = 1"}
    )
    assert index.match({"x": 1}) == ["always"]
    assert units_by_form(index) == {"dnf": 2, "cnf": 0}


@pytest.mark.long(1)
@pytest.mark.parametrize(
    "options", [{"form": "cnf"}, {"form": "dnf", "compressed": True, "direct": False}, {"direct": False}]
)
def test_a_random_life_under_every_option(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kindex, "SMALL", 5)
    twin = Twin("kindex", options=options)
    assert script(twin, random.Random(31), 60, tmp_path / "index") > 0


@pytest.mark.parametrize("form", ["auto", "cnf"])
def test_a_random_workload_as_clauses(form: str) -> None:
    for work in workloads(seed=32, count=3, rules=80, events=25):
        twin = Twin("kindex", options={"form": form})
        twin.put_many(list(enumerate(work.rules)))
        twin.check(work.events)
        assert twin.index.audit() == []


def test_lint_sees_rules_that_are_kept_as_clauses() -> None:
    index = mw.Index("kindex", options={"form": "cnf"})
    index.insert_many({"a": "(x = 1 or y = 1) and (z = 1 or w = 1)", "b": "(y = 1 or x = 1) and (w = 1 or z = 1)"})
    assert units_by_form(index) == {"dnf": 0, "cnf": 1}
    assert [(row["id"], row["problem"], row["other"]) for row in index.lint().to_pylist()] == [("b", "duplicate", "a")]


def test_a_merge_does_not_hold_up_those_who_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """The merge waits until somebody has matched in the middle of it; if matching had to wait, neither would end."""
    monkeypatch.setattr(kindex, "SMALL", 5)
    index = mw.Index("kindex")
    index.insert_many({number: f"x = 1 or y = {number}" for number in range(20)})
    merging, matched = threading.Event(), threading.Event()
    build = KIndex.merged

    def slow(engine: KIndex) -> Any:
        if engine.store is not index._matcher.engine.store:  # type: ignore[attr-defined]
            return build(engine)  # what is compiled for readers is on an index of its own
        merging.set()
        assert matched.wait(30)
        return build(engine)

    monkeypatch.setattr(KIndex, "merged", slow)
    answers: list[list[int]] = []

    def read() -> None:
        assert merging.wait(30)
        answers.append(index.match({"x": 1}))
        matched.set()

    reader = threading.Thread(target=read)
    reader.start()
    index.insert_many({number: f"x = 1 or y = {number}" for number in range(20, 80)})
    reader.join()
    assert answers == [list(range(80))]
    assert index.stats()["runs"] == {"dnf": 1, "cnf": 0}
    assert index.audit() == []


def test_readers_see_every_update_whole_while_merges_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step replaces rules of every kind and inserts one, then deletes one; small runs make merges frequent."""
    monkeypatch.setattr(kindex, "SMALL", 3)
    index, steps, size, merges = mw.Index("kindex"), 60 if SOAK else 24, 30, []
    adopt = KIndex.adopt
    monkeypatch.setattr(KIndex, "adopt", lambda engine, built: (merges.append(1), adopt(engine, built))[1])

    def rules(step: int) -> dict[int, str]:
        """A window of rules, each as conjunctions or as clauses; all of step `step` are true of x = step."""
        forms = (
            "x = {0} and y = 1",
            "(x = {0} or z = -{1}) and (y = 1 or w = -{1})",
            "x = {0} and (z is null or z != 5)",
        )
        return {number: forms[number % 3].format(step, number) for number in range(step, step + size)}

    index.insert_many(rules(0))
    broken: list[Any] = []
    done = threading.Event()

    def read() -> None:
        last = 0
        while not done.is_set():
            table = index.match_many([{"x": step, "y": 1} for step in range(steps)])
            seen = sorted(set(table["event"].to_pylist()))
            if len(seen) != 1 or table["rule"].to_pylist() != list(range(seen[0], seen[0] + size)) or seen[0] < last:
                broken.append(table.to_pydict())
                return
            last = seen[0]

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for step in range(1, steps):
        # One stroke: the rule that leaves the window is true of nothing from then on, and deleted after.
        index.insert_many({**rules(step), step - 1: f"x = -{step}"}, on_duplicate="replace")
        del index[step - 1]
    done.set()
    for reader in readers:
        reader.join(60)
    assert broken == []
    assert len(merges) > 5
    assert index.audit() == []


def test_one_sided_ranges_have_few_postings_and_one_candidate_each() -> None:
    count = 3_000
    index = mw.Index("kindex")
    index.insert_many((number, f"x {'>' if number % 2 else '<='} {number}") for number in range(count))
    stats = index.stats()
    assert stats["postings"] < 20 * count
    found = index.match({"x": 1500.5})
    assert found == [n for n in range(count) if (n < 1500.5) == (n % 2 == 1)]
    work = index.stats()["matching"]
    assert work["candidates"] == work["matched"] == len(found)
